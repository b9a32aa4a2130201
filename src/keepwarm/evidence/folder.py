"""A folder of evidence: it appears when it is complete, and is read only if nothing in it was changed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.evidence.manifest import NAME, Manifest, manifest_bytes, manifest_of
from keepwarm.evidence.verify import verify_folder


class Folder(NamedTuple):
    """A folder read back."""

    manifest: Manifest
    files: dict[str, bytes]


def check_place(directory: Path) -> None:
    """Before the long work: that a folder can be made there. Creates nothing. Raises InputError."""
    if directory.exists() and not directory.is_dir():
        raise InputError(f"--out {str(directory)!r} is a file; name a folder that is not there yet")
    if directory.is_dir() and any(directory.iterdir()):
        raise InputError(f"--out {str(directory)!r} holds files already; name a folder that is not there yet")
    place = directory.absolute().parent
    while not place.exists() and place != place.parent:
        place = place.parent
    if not (place.is_dir() and os.access(place, os.W_OK | os.X_OK)):
        raise InputError(f"--out {str(directory)!r}: {str(place)!r} cannot be written; name another folder")


def write_folder(directory: Path, files: Mapping[str, bytes], redacted_from: str | None = None) -> str:
    """Make ``directory`` with ``files`` and their manifest, in one step; the chain digest.

    Raises InputError: it cannot be made, or something is there already; nothing is left behind.
    """
    directory = directory.absolute()
    check_place(directory)
    manifest = manifest_of(files, redacted_from)
    unfinished: str | None = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        unfinished = tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent)
        for name, content in sorted(files.items()):
            _write(Path(unfinished, name), content)
        _write(Path(unfinished, NAME), manifest_bytes(manifest))
        Path(unfinished).chmod(0o755 if redacted_from else 0o700)  # prompts are other people's data
        Path(unfinished).replace(directory)  # over an empty folder, too
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot make {str(directory)!r}: {reason}; name another folder") from error
    finally:
        if unfinished is not None:
            shutil.rmtree(unfinished, ignore_errors=True)
    return manifest.chain_sha256


def read_folder(directory: Path) -> Folder:
    """All files, checked. Raises InputError: the first mismatch by name, and how many there are."""
    verified = verify_folder(directory)
    if verified.manifest is None or verified.mismatches:
        first, more = verified.mismatches[0], len(verified.mismatches) - 1
        rest = f" and {more} more" if more else ""
        raise InputError(
            f"{str(directory)!r} is no evidence as it was written: {first.name!r} {first.what}{rest}; take "
            "an untouched copy"
        )
    return Folder(verified.manifest, verified.files)


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
