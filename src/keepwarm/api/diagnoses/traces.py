"""Whether the requests of a diagnosis can be simulated again, told without a simulation."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from keepwarm._errors import InputError
from keepwarm.api.diagnoses.shelf import Opened
from keepwarm.api.jobs.recorded import recorded_of
from keepwarm.api.library.library import Stamp, plain_stamp

_HASHED_BYTES = 64 << 20  # a larger trace is hashed by the simulation alone


def why_not_again(opened: Opened) -> str | None:
    """Why not, None: it can be, as far as is known. Whether a large trace is the same is told later."""
    told = opened.saved.diagnosis.input
    if not told.prompt_texts_known:
        return "the trace records hashes and no texts, so nothing in it can be moved"
    try:
        trace = recorded_of(opened.found).trace
    except InputError as error:
        return str(error)
    stamp = plain_stamp(trace)
    if stamp is None or (stamp.size_bytes <= _HASHED_BYTES and _sha256(trace, stamp) != told.sha256):
        return f"{told.path!r} is no longer the trace that was diagnosed; diagnose it again"
    return None


@functools.lru_cache(256)
def _sha256(path: str, _stamp: Stamp) -> str | None:
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
