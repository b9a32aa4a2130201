"""Whether a folder of evidence is as it was written; every mismatch by name."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.evidence.manifest import NAME, Entry, Manifest, manifest_from


class Mismatch(NamedTuple):
    """A file, and what is wrong with it."""

    name: str
    what: str


class Verified(NamedTuple):
    """``manifest`` is None where it is missing or was changed; ``files`` are those that are as written."""

    manifest: Manifest | None
    mismatches: tuple[Mismatch, ...]
    files: dict[str, bytes]


def verify_folder(directory: Path, chain_sha256: str | None = None) -> Verified:
    """Look at every file. ``chain_sha256`` is the digest that somebody wrote down when it was made.

    Raises InputError: it is no folder that can be read.
    """
    present = _present(directory)
    try:
        manifest = manifest_from(_content(directory / NAME))
    except FileNotFoundError:
        return Verified(None, (Mismatch(NAME, "is missing, so nothing here counts as evidence"),), {})
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Verified(None, (Mismatch(NAME, reason),), {})
    mismatches = []
    if chain_sha256 is not None and manifest.chain_sha256 != chain_sha256:
        mismatches.append(
            Mismatch(
                NAME, f"has the chain digest {manifest.chain_sha256}, not the {chain_sha256!r} asked for"
            )
        )
    files: dict[str, bytes] = {}
    for entry in manifest.files:
        try:
            content = _content(directory / entry.name)
        except FileNotFoundError:
            mismatches.append(Mismatch(entry.name, "is missing"))
            continue
        except OSError as error:
            mismatches.append(Mismatch(entry.name, f"cannot be read: {error.strerror or error}"))
            continue
        what = _difference(entry, content)
        if what is None:
            files[entry.name] = content
        else:
            mismatches.append(Mismatch(entry.name, what))
    listed = {NAME, *(entry.name for entry in manifest.files)}
    mismatches += [Mismatch(name, "is not in the manifest") for name in sorted(present - listed)]
    return Verified(manifest, tuple(mismatches), files)


def _present(directory: Path) -> set[str]:
    try:
        return {path.name for path in directory.iterdir()}
    except OSError as error:
        raise InputError(
            f"cannot read {str(directory)!r}: {error.strerror or error}; name a folder of evidence"
        ) from None


def _content(path: Path) -> bytes:
    """Of a plain file; a link could be pointed elsewhere later."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(0, "no plain file")
    return path.read_bytes()


def _difference(entry: Entry, content: bytes) -> str | None:
    if len(content) != entry.size_bytes:
        return f"was changed: {len(content)} bytes in place of {entry.size_bytes}"
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        return "was changed: other content of the same size"
    return None
