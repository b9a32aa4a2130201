"""Keys of cells: equal where the figures must be, however the spec is written and wherever it lies."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec

from keepwarm._errors import InputError
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.store import content_digest
from keepwarm.serving.options import ServingOptions
from keepwarm.sweep.cells import CacheRun, CellKey
from keepwarm.trace.encode import chosen_template
from keepwarm.trace.hub import tokenizer_folder
from keepwarm.trace.open import Trace
from keepwarm.trace.tokens import is_server

_PACKAGE = Path(__file__).resolve().parents[1]
_MODEL = ("trace", "policies", "cache", "reuse", "scheduling", "workload", "serving")
_CODE = (".py", ".jinja", ".json")


@cache
def model_version() -> str:
    """A digest of the code that computes figures: what another version left is not taken for ours."""
    files = [path for part in _MODEL for path in (_PACKAGE / part).rglob("*") if path.suffix in _CODE]
    named = sorted((path.relative_to(_PACKAGE).as_posix(), path) for path in files)
    return digest(*(part for name, path in named for part in (name.encode(), path.read_bytes())))


def trace_key(trace: Trace, options: TraceOptions) -> str:
    """Of the file and of all that decides its tokens and blocks; reads the file once.

    Raises:
        InputError: the trace, the template or the tokenizer is not there, or a server is to tokenise.
    """
    first = next(trace.requests())
    parts = [trace.sha256, trace.format, str(options.block_size)]
    if first.hashed is None:
        if options.tokenizer is not None and is_server(options.tokenizer):
            raise InputError(
                f"tokenizer {options.tokenizer!r} is a server, whose tokens may change while finished cells "
                "are kept; give a folder or a name"
            )
        template = chosen_template(trace.path, first, options.chat_template)
        folder = None if options.tokenizer is None else tokenizer_folder(options.tokenizer)
        parts += [version("tokenizers"), version("jinja2")]
        parts += ["" if path is None else content_digest(path) for path in (folder, template)]
    return digest(*(part.encode("utf-8", "surrogatepass") for part in parts))


def cache_key(source: str, run: CacheRun) -> CellKey:
    """``source`` is the trace's key."""
    return _key("cache", source, run)


def serving_key(source: str, run: ServingOptions, *, reuse_model: str) -> CellKey:
    """``reuse_model`` is a digest of its file."""
    profile = run.profile
    decided = (
        (run.scheduling, run.eviction, run.sessions, run.seed, run.gap_scale, run.population.value),
        (run.capacity_tokens or profile.capacity_tokens, run.step_tokens or profile.step_tokens),
        (profile.max_running_requests, profile.costs, reuse_model),
    )
    return _key("serving", source, decided)


def _key(kind: str, source: str, decided: object) -> CellKey:
    parts = (model_version(), kind, source)
    return CellKey(digest(*(part.encode() for part in parts), msgspec.json.encode(decided, order="sorted")))


def digest(*parts: bytes) -> str:
    """Hex digest of parts whose ends count."""
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(b"%d:" % len(part))
        whole.update(part)
    return whole.hexdigest()
