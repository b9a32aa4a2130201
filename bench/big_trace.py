"""Peak GiB of `keepwarm simulate cache --memory 4GiB` over 100 million blocks, on two cores.

The trace is block ids alone, as the Mooncake project publishes them: sessions of several turns, each sending
all of its history, some of them about a document that others ask about, too. A tenth of it is replayed with
and without a budget, and has to give the same bytes.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec
import numpy as np

from bench.harness import Cost, Result, run_keepwarm

TARGET = "≤ 4"
BLOCKS = 100_000_000
MEMORY = "4GiB"
CORES = 2
POLICIES = "lru,computecache,belady"
CAPACITIES = "1000000,8000000,64000000"
BLOCK_TOKENS = 512

_SESSIONS = 20_000  # of one stretch of time; turns of different stretches do not mix
_MOST_TURNS = 3
_SYSTEMS, _SYSTEM_BLOCKS = 64, 4
_DOCUMENTS, _DOCUMENT_BLOCKS = 200_000, 24
_DOCUMENT_SHARE = 0.1  # of sessions
_STRETCH_MS = 600_000


class TraceShape(msgspec.Struct, frozen=True):
    """What was written."""

    requests: int
    blocks: int
    distinct_blocks: int


def run() -> Result:
    """Write the traces, replay them in processes of their own, read their peaks."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = folder / "trace.jsonl"
        tenth = write_trace(trace, BLOCKS // 10)
        budget = ("--memory", MEMORY, "--spill", str(folder / "spill"))
        same = _answer(trace, folder) == _answer(trace, folder, *budget)
        shape = write_trace(trace, BLOCKS)
        cost = _simulate(trace, folder / "answer.json", *budget)
    detail: dict[str, object] = {
        "blocks": shape.blocks,
        "distinct blocks": shape.distinct_blocks,
        "requests": shape.requests,
        "rows": len(POLICIES.split(",")) * len(CAPACITIES.split(",")),
        "budget": MEMORY + ", pages of mapped files counted",
        "cores": CORES,
        "wall s": round(cost.wall_s),
        "blocks per s": round(shape.blocks / cost.wall_s),
        f"same bytes as without a budget at {tenth.blocks} blocks": "yes" if same else "NO",
    }
    return Result("big-trace", round(cost.peak_gib, 2), "GiB", detail)


def _answer(trace: Path, folder: Path, *options: str) -> bytes:
    out = folder / "answer.json"
    _simulate(trace, out, *options)
    return out.read_bytes()


def _simulate(trace: Path, out: Path, *options: str) -> Cost:
    table = ("--policy", POLICIES, "--capacity-blocks", CAPACITIES, "--no-store", "--json")
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:CORES])
    try:
        return run_keepwarm("simulate", "cache", str(trace), *table, *options, out=out)
    finally:
        os.sched_setaffinity(0, cores)


def write_trace(path: Path, blocks: int) -> TraceShape:
    """Whole stretches of time until ``blocks`` is reached; the same bytes every time."""
    rng = np.random.default_rng(8)
    encode = msgspec.json.Encoder().encode
    requests = written = start_ms = 0
    own = _SYSTEMS * _SYSTEM_BLOCKS + _DOCUMENTS * _DOCUMENT_BLOCKS  # ids from here on are of one session
    shared: set[int] = set()
    with path.open("wb") as file:
        while written < blocks:
            turns, sessions, own_after = _stretch(rng, own)
            for time_ms, session, own_blocks in turns:
                head, first = sessions[session]
                ids = [*head, *range(first, first + own_blocks)]
                record = {"timestamp": start_ms + time_ms, "input_length": len(ids) * BLOCK_TOKENS + 7}
                file.write(encode(record | {"output_length": 300, "hash_ids": ids}) + b"\n")
                written += len(ids)
            shared.update(*(head for head, _ in sessions))
            requests += len(turns)
            start_ms += _STRETCH_MS
            own = own_after
    first_own = _SYSTEMS * _SYSTEM_BLOCKS + _DOCUMENTS * _DOCUMENT_BLOCKS
    return TraceShape(requests, written, own - first_own + len(shared))


Turn = tuple[int, int, int]  # milliseconds, session, its own blocks so far
Head = tuple[int, ...]  # ids that sessions share


def _stretch(rng: np.random.Generator, own: int) -> tuple[list[Turn], list[tuple[Head, int]], int]:
    """Turns in order of time, what each session begins with, and the first id that nobody has."""
    turns = rng.integers(1, _MOST_TURNS + 1, _SESSIONS)
    more = rng.integers(4, 17, (_SESSIONS, _MOST_TURNS))
    more[:, 0] = rng.integers(8, 41, _SESSIONS)
    lengths = more.cumsum(axis=1)
    times = rng.integers(0, _STRETCH_MS // 2, (_SESSIONS, 1)) + rng.exponential(
        20_000, (_SESSIONS, _MOST_TURNS)
    ).cumsum(axis=1).astype(np.int64)
    firsts = own + np.concatenate([[0], lengths[np.arange(_SESSIONS), turns - 1].cumsum()])
    document = (_DOCUMENTS * rng.random(_SESSIONS) ** 3).astype(np.int64)  # some are far more popular
    document[rng.random(_SESSIONS) >= _DOCUMENT_SHARE] = -1
    system = np.where(document >= 0, document, rng.integers(0, _SYSTEMS, _SESSIONS)) % _SYSTEMS
    heads = [_head(*pair) for pair in zip(system.tolist(), document.tolist(), strict=True)]
    session, turn = np.nonzero(np.arange(_MOST_TURNS) < turns[:, np.newaxis])
    order = np.argsort(times[session, turn], kind="stable")
    columns = (times[session, turn][order], session[order], lengths[session, turn][order])
    listed = list(zip(*(column.tolist() for column in columns), strict=True))
    return listed, list(zip(heads, firsts[:-1].tolist(), strict=True)), int(firsts[-1])


def _head(system: int, document: int) -> Head:
    head = range(system * _SYSTEM_BLOCKS, (system + 1) * _SYSTEM_BLOCKS)
    if document < 0:
        return tuple(head)
    first = _SYSTEMS * _SYSTEM_BLOCKS + document * _DOCUMENT_BLOCKS
    return (*head, *range(first, first + _DOCUMENT_BLOCKS))
