"""Interned traces on disk, so that the next run skips reading, tokenising and interning.

One Parquet file per trace, a row per request: dense block ids, lengths, times and line numbers. No text,
no token ids and no hashes: nothing of a prompt can be read from them. The store only saves time:
what cannot be read is read from the trace again, what cannot be written is not kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from keepwarm._errors import InputError
from keepwarm._resources import cache_folder
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.options import TraceOptions
from keepwarm.trace.encode import chosen_template
from keepwarm.trace.hub import tokenizer_folder
from keepwarm.trace.open import Trace
from keepwarm.trace.records import EncodingInfo, Request
from keepwarm.trace.tokens import is_server

_Number = TypeVar("_Number", bound=np.generic)
_SCHEMA = "keepwarm.interned/1"
_ABOUT, _DIGEST = b"keepwarm", b"keepwarm.digest"  # keys of the file's metadata
_MOST_BYTES = 4 << 30  # of all stored traces; those not used for longest go first
# What can be wrong with a file that something else wrote, cut short or changed.
_UNUSABLE = (OSError, ValueError, KeyError, TypeError, pa.ArrowException, msgspec.MsgspecError)
_PACKAGE = Path(__file__).resolve().parents[1]
_READING = tuple(f"cache/{name}.py" for name in ("opened", "load", "numbering", "parts", "replay"))
_TOKENIZER_FILES = ("*.json", "*.jinja", "additional_chat_templates/*.jinja")


class StoredTrace(NamedTuple):
    """What is kept of a trace; see ``LoadedTrace``."""

    encoding: EncodingInfo
    models: int
    lines: npt.NDArray[np.int64]
    dense: DenseTrace


class _About(msgspec.Struct, frozen=True, kw_only=True):
    """What a stored file says about itself beside its rows."""

    key: str
    encoding: EncodingInfo
    models: int
    block_size: int
    distinct_blocks: int


def store_folder() -> Path | None:
    """``interned`` in the folder of what keepwarm keeps; None where there can be none."""
    return cache_folder("interned")


def trace_key(trace: Trace, first: Request, options: TraceOptions, block_size: int) -> str | None:
    """A digest of the file and of all that decides its ids; None where a server does, out of our sight.

    Raises:
        InputError: the trace, the template or the tokenizer is not there.
    """
    parts = [
        _SCHEMA,
        code_digest("trace/**/*", *_READING),
        trace.sha256,
        trace.format,
        str(options.format == "auto"),
        str(block_size),
    ]
    if first.hashed is None:
        if options.tokenizer is not None and is_server(options.tokenizer):
            return None
        parts += [version("tokenizers"), version("jinja2"), *_encoder_parts(trace, first, options)]
    return digest_of(part.encode("utf-8", "surrogatepass") for part in parts)


def spilled_key(
    trace: Trace, first: Request | None, options: TraceOptions, block_size: int, *asked: bytes, code: str
) -> str:
    """Names the folder of a run within a budget: of the trace, what decides the answer, and our code.

    ``asked``: what else decides it; ``code``: the files beside the cache's.

    Raises:
        InputError: a server tokenises, and what it did before cannot be told from what it does now; or as
            ``trace_key``.
    """
    key = trace.sha256 if first is None else trace_key(trace, first, options, block_size)
    if key is None:
        raise InputError(
            f"tokenizer {options.tokenizer!r} is a server, whose tokens may change while parts of the trace "
            "are kept; give a folder or a name, or leave --memory out"
        )
    return digest_of((key.encode(), *asked, code_digest("cache/**/*", code).encode()))


def _encoder_parts(trace: Trace, first: Request, options: TraceOptions) -> Iterator[str]:
    """Name and content of tokenizer and template: a file of the same name may change."""
    yield options.tokenizer or ""
    if options.tokenizer is not None:
        yield content_digest(tokenizer_folder(options.tokenizer))
    template = chosen_template(trace.path, first, options.chat_template)
    yield str(template or "")
    if template is not None:
        yield content_digest(template)


def content_digest(path: Path) -> str:
    """Of a template, or of the files of a tokenizer that lie in a folder."""
    if path.is_file() and path.name != "tokenizer.json":
        return digest_of([path.read_bytes()])
    folder = path.parent if path.is_file() else path
    files = sorted(file for pattern in _TOKENIZER_FILES for file in folder.glob(pattern) if file.is_file())
    return digest_of(part for file in files for part in (file.name.encode(), file.read_bytes()))


def code_digest(*patterns: str) -> str:
    """Of code of ours: another version of it must not use what this one left."""
    files = {file for pattern in patterns for file in _PACKAGE.glob(pattern)}
    kept = sorted(file for file in files if file.suffix in (".py", ".jinja", ".json"))
    return digest_of(part for file in kept for part in (file.name.encode(), file.read_bytes()))


def digest_of(parts: Iterable[bytes | memoryview]) -> str:
    """Hex digest of parts whose ends count."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.hexdigest()


class TraceStore:
    """Interned traces in ``folder``, by key. No method raises for what is on the disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, key: str) -> StoredTrace | None:
        """The trace stored under ``key``; None if there is none or its file is damaged."""
        path = self._path(key)
        try:
            table = pq.read_table(path, use_threads=False)
            found = _from_table(table, key)
        except _UNUSABLE:
            return None
        with contextlib.suppress(OSError):  # a store that may only be read
            os.utime(path)  # keeps it from being the next to go
        return found

    def save(self, key: str, stored: StoredTrace) -> None:
        """Store a trace, whole or not at all; where that is impossible nothing happens."""
        with contextlib.suppress(*_UNUSABLE):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(suffix=".tmp", dir=self.folder)
            temporary = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    pq.write_table(_to_table(key, stored), file, compression="zstd")
                temporary.replace(self._path(key))
            finally:
                temporary.unlink(missing_ok=True)
            self._prune()

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.parquet"

    def _prune(self) -> None:
        files = [(file, file.stat()) for file in self.folder.glob("*.parquet")]
        left_bytes = sum(info.st_size for _, info in files)
        for file, info in sorted(files, key=lambda item: item[1].st_mtime_ns):
            if left_bytes <= _MOST_BYTES:
                return
            file.unlink(missing_ok=True)
            left_bytes -= info.st_size


def _to_table(key: str, stored: StoredTrace) -> pa.Table:
    dense = stored.dense
    about = msgspec.json.encode(
        _About(
            key=key,
            encoding=stored.encoding,
            models=stored.models,
            block_size=dense.block_size,
            distinct_blocks=dense.distinct_blocks,
        )
    )
    columns = {
        "line": stored.lines,
        "prompt_tokens": dense.prompt_tokens,
        "output_tokens": dense.output_tokens,
        "skip_reads": dense.skip_reads,
        "time_s": dense.time_s,
        "cached_tokens": dense.cached_tokens,
        "blocks": pa.LargeListArray.from_arrays(pa.array(dense.starts), pa.array(dense.ids)),
    }
    digest = _stored_digest(about, stored).encode()
    return pa.table(columns).replace_schema_metadata({_ABOUT: about, _DIGEST: digest})


def _from_table(table: pa.Table, key: str) -> StoredTrace:
    """The trace in a table of ours. Raises one of ``_UNUSABLE`` if it is not quite that."""
    metadata = table.schema.metadata
    about = msgspec.json.decode(metadata[_ABOUT], type=_About)
    blocks = table["blocks"].combine_chunks()
    dense = DenseTrace(
        block_size=about.block_size,
        distinct_blocks=about.distinct_blocks,
        starts=_array(blocks.offsets, np.int64),
        ids=_array(blocks.values, np.int32),
        prompt_tokens=_array(table["prompt_tokens"], np.int64),
        output_tokens=_array(table["output_tokens"], np.int64),
        skip_reads=_array(table["skip_reads"], np.bool_),
        time_s=_array(table["time_s"], np.float64),
        cached_tokens=_array(table["cached_tokens"], np.int64),
    )
    stored = StoredTrace(about.encoding, about.models, _array(table["line"], np.int64), dense)
    if about.key != key or metadata[_DIGEST] != _stored_digest(metadata[_ABOUT], stored).encode():
        raise ValueError("another trace, or not as it was written")
    return stored


def _stored_digest(about: bytes, stored: StoredTrace) -> str:
    """Of all that is stored: Parquet itself guards neither metadata nor, always, its pages."""
    arrays = [stored.lines, *(part for part in stored.dense if isinstance(part, np.ndarray))]
    return digest_of([about, *(np.ascontiguousarray(array).view(np.uint8).data for array in arrays)])


def _array(column: pa.Array, kind: type[_Number]) -> npt.NDArray[_Number]:
    values = np.asarray(column)
    if values.dtype != kind:
        raise TypeError(f"a column of {values.dtype}")
    values = np.ascontiguousarray(values)
    values.setflags(write=False)
    return values
