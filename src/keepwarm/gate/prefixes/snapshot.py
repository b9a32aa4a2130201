"""What is kept of a test's requests: the document ``keepwarm.prefixes/1``.

Hashes and lengths, no text: a chained hash for every block of the prefix, cut to 32 bits, and where in the
prompt which value stood. What a request begins with like an earlier one of the test is kept once.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import numpy as np

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm._json import decoded, plain, to_json
from keepwarm.gate.prefixes.examined import Examined, Recorded

SCHEMA = "keepwarm.prefixes/1"
_HASH_CHARS = 8
_MOST_BYTES = 64 << 20


class PartMark(msgspec.Struct, frozen=True, kw_only=True):
    """A value in the prompt: JSON path, first token, length."""

    path: str
    first_token: int
    chars: int


class RequestMark(msgspec.Struct, frozen=True, kw_only=True):
    """A request: its prefix is ``same_blocks`` of request ``same_as`` (from 1; 0: none), then ``blocks``.

    ``parts`` are the values behind those same blocks, up to the end of the prefix.
    """

    session: str
    scope: str
    prompt_tokens: int
    prefix_tokens: int
    reused_tokens: int
    same_as: int
    same_blocks: int
    blocks: str
    parts: tuple[PartMark, ...]


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All requests of a test, in order, and how their prompts became tokens."""

    schema: str = SCHEMA
    tokenizer: str
    chat_template: str
    block_size: int
    requests: tuple[RequestMark, ...]

    def chains(self) -> list[tuple[str, ...]]:
        """Per request, the hashes of all blocks of its prefix; the last may be of a part of a block."""
        chains: list[tuple[str, ...]] = []
        for mark in self.requests:
            same = chains[mark.same_as - 1][: mark.same_blocks] if mark.same_as else ()
            own = (mark.blocks[at : at + _HASH_CHARS] for at in range(0, len(mark.blocks), _HASH_CHARS))
            chains.append((*same, *own))
        return chains


def snapshot_of(recorded: Recorded) -> Snapshot:
    """What to keep of ``recorded``."""
    chains = [chain_of(request, recorded.block_size) for request in recorded.requests]
    encoding = recorded.diagnosis.encoding
    return Snapshot(
        tokenizer=Path(encoding.tokenizer).name if Path(encoding.tokenizer).exists() else encoding.tokenizer,
        chat_template=encoding.chat_template,
        block_size=recorded.block_size,
        requests=tuple(
            _mark(request, chains, index, recorded.block_size)
            for index, request in enumerate(recorded.requests)
        ),
    )


def chain_of(request: Examined, block_size: int) -> tuple[str, ...]:
    """A hash per block of the prefix, each of everything up to there; the last block may be a part of one."""
    ids = np.ascontiguousarray(request.prefix_ids, dtype="<i4")
    digest = hashlib.blake2b(digest_size=16)
    out = []
    for start in range(0, len(ids), block_size):
        digest.update(ids[start : start + block_size].tobytes())
        out.append(digest.copy().hexdigest()[:_HASH_CHARS])
    return tuple(out)


def scope_of(request: Examined) -> str:
    """A hash of what keeps the request's cache apart from others."""
    return hashlib.blake2b("\0".join(request.scope).encode(), digest_size=_HASH_CHARS // 2).hexdigest()


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write the file, making its folder, unless it says the same already. Raises InputError."""
    content = to_json(plain(snapshot))
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot write {str(path)!r}: {error.strerror or error}; make room for it there"
        ) from error
    write_whole(path, content)


def read_snapshot(path: Path) -> Snapshot | None:
    """The snapshot in ``path``, None if there is no such file. Raises InputError: it is something else."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
        snapshot = decoded(content, Snapshot, SCHEMA)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(
            f"cannot read {str(path)!r}: {error.strerror or error}; check that it is a file"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(f"{str(path)!r} is no snapshot of keepwarm: {error}; --keepwarm-update") from error
    if not _is_whole(snapshot):
        raise InputError(
            f"{str(path)!r} is no snapshot that this keepwarm wrote; --keepwarm-update writes it"
        )
    return snapshot


def _is_whole(snapshot: Snapshot) -> bool:
    return snapshot.block_size > 0 and all(
        0 <= mark.same_as <= index and len(mark.blocks) % _HASH_CHARS == 0 and mark.same_blocks >= 0
        for index, mark in enumerate(snapshot.requests)
    )


def _mark(request: Examined, chains: list[tuple[str, ...]], index: int, block_size: int) -> RequestMark:
    chain = chains[index]
    same_as, same_blocks = 0, 0
    for earlier in range(index):
        common = common_blocks(chains[earlier], chain)
        if common > same_blocks:
            same_as, same_blocks = earlier + 1, common
    new = same_blocks * block_size
    parts = [part for part in request.parts if part.first_token < request.prefix_tokens]
    ends = [part.first_token for part in parts[1:]] + [request.prefix_tokens]
    return RequestMark(
        session=request.session,
        scope=scope_of(request),
        prompt_tokens=len(request.prompt.ids),
        prefix_tokens=request.prefix_tokens,
        reused_tokens=request.reused_tokens,
        same_as=same_as,
        same_blocks=same_blocks,
        blocks="".join(chain[same_blocks:]),
        parts=tuple(
            PartMark(path=part.path, first_token=part.first_token, chars=part.chars)
            for part, end in zip(parts, ends, strict=True)
            if end > new
        ),
    )


def common_blocks(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Number of equal leading hashes."""
    for number, (first, second) in enumerate(zip(a, b, strict=False)):
        if first != second:
            return number
    return min(len(a), len(b))
