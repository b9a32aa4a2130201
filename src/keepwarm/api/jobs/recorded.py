"""The recorded requests of a diagnosis, and whether they can be simulated again."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

import msgspec

from keepwarm.api.problems import Conflict
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.reading import read_diagnosis
from keepwarm.trace.tokens.loading import is_server

if TYPE_CHECKING:
    from keepwarm._progress import Progress
    from keepwarm.api.library.library import Found
    from keepwarm.diagnose.reorder import Resimulator

_AGAIN = "diagnose it again with 'keepwarm diagnose --out'"


class Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker needs: the trace, how it was read, and what shows that it is the same.

    ``figures`` are the diagnosis's tokens and findings, as text; other options would give others.
    """

    trace: str
    sha256: str
    options: Options
    figures: str


def recorded_of(found: Found) -> Recorded:
    """Of a saved diagnosis. Raises Conflict: its trace cannot be simulated; InputError: it is none."""
    diagnosis, folder = read_diagnosis(found.path).diagnosis, found.path.parent
    if diagnosis.sample is not None:
        raise Conflict(
            "it is of a sample, whose errors hold for its own findings only; diagnose the trace, or a part "
            "of it, without --sample"
        )
    given = Path(diagnosis.input.path)
    served = found.path.parents[len(PurePosixPath(found.item.path).parts) - 1]
    trace = next((path for path in (given, served / given, folder / given.name) if _is_file(path)), None)
    if trace is None:
        raise Conflict(
            f"the trace {str(given)!r} is not there any more, so nothing can be simulated; put it back, or "
            "beside the diagnosis"
        )
    options = msgspec.structs.replace(
        diagnosis.options,  # what the trace itself decided then is held, too
        format=diagnosis.input.format,
        block_size=diagnosis.cache.block_size,
        capacity_blocks=diagnosis.cache.capacity_blocks,
    )
    if options.tokenizer is not None and is_server(options.tokenizer):
        raise Conflict(
            f"its tokens came from the server {options.tokenizer!r}, and this one sends nothing anywhere; "
            "diagnose with the tokenizer's folder"
        )
    return Recorded(
        trace=str(trace.resolve()),
        sha256=diagnosis.input.sha256,
        options=options,
        figures=_figures(diagnosis),
    )


def examined(recorded: Recorded, progress: Progress) -> Resimulator:
    """The trace, diagnosed again as it was. Raises Conflict: it is another; InputError: it cannot be read."""
    from keepwarm.diagnose.engine import examine
    from keepwarm.diagnose.reorder import Resimulator
    from keepwarm.trace.open import open_trace

    progress.stage("checking", None)
    if open_trace(recorded.trace, recorded.options.format).sha256 != recorded.sha256:
        raise Conflict(f"the trace {recorded.trace!r} was changed since it was diagnosed; {_AGAIN}")
    examination = examine(recorded.trace, recorded.options, progress)
    if _figures(examination.diagnosis) != recorded.figures:
        raise Conflict(
            f"the trace {recorded.trace!r} gives other figures than the saved diagnosis: another version, or "
            f"options that it does not name, made that; {_AGAIN}"
        )
    return Resimulator(examination)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def _figures(diagnosis: Diagnosis) -> str:
    findings = [(found.id, found.cause, found.call_site, found.path) for found in diagnosis.findings]
    return msgspec.json.encode([diagnosis.tokens, diagnosis.cache, findings]).decode()
