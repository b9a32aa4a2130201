"""What a run may take of the machine: a stated budget of memory, and a place on disk for the rest."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path

import msgspec

from keepwarm._errors import InputError

_UNITS = {"": 1, "B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
_UNITS |= {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_SIZE = re.compile(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([A-Za-z]{0,3})\s*", re.ASCII)

LEAST_MEMORY_BYTES = 512 << 20
"""Below it the interpreter and its libraries leave no room to work in."""


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of a run. They never change its answer: only whether, and how fast, it comes.

    ``memory_bytes`` bounds the peak of the process, the interpreter included; None: as much as it takes.
    ``spill`` is the folder for what does not fit and for the state of an interrupted run; None: ``spill`` in
    the user's cache folder.
    """

    memory_bytes: int | None = None
    spill: Path | None = None


def memory_bytes(text: str) -> int:
    """Bytes of a size such as ``4GiB``, ``1.5 GB`` or ``4294967296``.

    Raises InputError: it is no size, or below ``LEAST_MEMORY_BYTES``.
    """
    found = _SIZE.fullmatch(text)
    unit = _UNITS.get(found[2].upper()) if found else None
    if found is None or unit is None:
        raise InputError(f"{text[:80]!r} is not an amount of memory; write 4GiB")
    size = int(float(found[1]) * unit)
    if size < LEAST_MEMORY_BYTES:
        raise InputError(f"{text[:80]!r} of memory is too little to work in; give at least 512MiB")
    return size


def resident_bytes() -> int:
    """What this process holds of the memory now, pages of files included."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def memory_text(size_bytes: int) -> str:
    """A size as ``memory_bytes`` reads it, rounded up: what is said to do has to do."""
    return f"{math.ceil(size_bytes * 20 / 2**30) / 20:g}GiB"


def cache_folder(name: str) -> Path | None:
    """``name`` in ``KEEPWARM_CACHE_DIR``, else in ``keepwarm`` of the user's cache folder.

    None where that folder is in the home of a user who has none, as in some containers.
    """
    chosen = os.environ.get("KEEPWARM_CACHE_DIR")
    try:
        folder = Path(chosen or os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return folder / name if chosen else folder / "keepwarm" / name


def spill_folder(resources: Resources) -> Path:
    """Where to spill: the folder asked for, else ``spill`` beside the interned traces.

    Raises InputError: the user has no home to have a cache folder in, and named none.
    """
    folder = resources.spill or cache_folder("spill")
    if folder is None:
        raise InputError("no home folder to spill into; name a folder with --spill DIR")
    return folder
