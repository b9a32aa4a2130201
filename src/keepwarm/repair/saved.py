"""A saved ``diagnosis.json`` as the start of a task: which trace, which settings, which finding."""

from __future__ import annotations

from pathlib import Path

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded
from keepwarm.diagnose.findings import CacheInfo, Finding, InputInfo, SampleInfo

_MOST_BYTES = 256 << 20
_SCHEMA = "keepwarm.diagnosis/1"


class SavedDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What a task needs of a saved diagnosis; values in it may be masked."""

    schema: str
    input: InputInfo
    cache: CacheInfo
    findings: tuple[Finding, ...]
    sample: SampleInfo | None = None

    def finding(self, wanted: str) -> Finding:
        """The finding with that id. Raises InputError."""
        for finding in self.findings:
            if finding.id.casefold() == wanted.casefold():
                return finding
        there = ", ".join(finding.id for finding in self.findings[:10]) or "none"
        raise InputError(f"no finding {wanted!r} in the saved diagnosis; it has {there}")


def read_diagnosis(path: Path) -> SavedDiagnosis:
    """Read what ``keepwarm diagnose --out`` or ``--json`` wrote.

    Raises:
        InputError: it cannot be read or is no diagnosis.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"--diagnosis {str(path)!r} is larger than 256 MiB; name a diagnosis.json")
        saved = decoded(path.read_bytes(), SavedDiagnosis, _SCHEMA)
    except OSError as error:
        raise InputError(
            f"--diagnosis {str(path)!r}: {error.strerror or error}; name a readable file"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(
            f"--diagnosis {str(path)!r} is no {_SCHEMA}: {error}; write one with 'keepwarm diagnose --out'"
        ) from error
    if saved.sample is not None:
        raise InputError(
            f"--diagnosis {str(path)!r} is of a sample, and a task is held to exact figures; "
            "diagnose the trace, or a part of it, without --sample"
        )
    return saved
