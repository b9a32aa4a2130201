"""Peak GiB of `keepwarm diagnose --json` over 1 GB of recorded requests, the worse of two kinds."""

from __future__ import annotations

import itertools
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.harness import Result

TARGET = "≤ 2"
SIZE_BYTES = 1_000_000_000
# Plain words of unlike length; frequencies fall off as in real text.
STARTS = ("ba", "co", "di", "fe", "gu", "ha", "lo", "mi", "ne", "pra", "sti", "tur")
ENDS = (
    *("", "ble", "cht", "dan", "el", "fin", "ger", "ing"),
    *("kor", "lan", "mer", "nos", "per", "ri", "son", "ten"),
)
WORDS = [start + end for start in STARTS for end in ENDS]

Message = dict[str, str]


class Peak(NamedTuple):
    """What one diagnosis took."""

    gib: float
    wall_s: float


def run() -> Result:
    """Write each trace to a temporary file, diagnose it in a process of its own, read its peak."""
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, records in KINDS.items():
            trace = Path(folder) / f"{kind}.jsonl"
            write_trace(trace, records, SIZE_BYTES)
            peaks[kind] = diagnose_peak(trace)
            trace.unlink()
    detail: dict[str, object] = {"GB": SIZE_BYTES / 1e9}
    for kind, peak in peaks.items():
        detail[f"{kind} GiB"] = round(peak.gib, 2)
        detail[f"{kind} wall s"] = round(peak.wall_s)
    return Result("diagnose-memory", round(max(peak.gib for peak in peaks.values()), 2), "GiB", detail)


def write_trace(path: Path, records: Callable[[random.Random], Iterator[bytes]], size_bytes: int) -> int:
    """Write records until ``size_bytes`` is reached; the same bytes every time. Returns their number."""
    written = count = 0
    with path.open("wb") as file:
        for record in records(random.Random(20)):
            written += file.write(record + b"\n")
            count += 1
            if written >= size_bytes:
                break
    return count


def growing_conversations(rng: random.Random) -> Iterator[bytes]:
    """Sessions of a dozen at a time, each sending its whole history with every turn."""
    system = _text(rng, 1500)
    number = 0
    while True:
        sessions: list[tuple[str, list[Message]]] = [
            (f"s{number + i}", [{"role": "system", "content": system}]) for i in range(12)
        ]
        for _ in range(30):
            for session, messages in sessions:
                messages.append({"role": "user", "content": _text(rng, 120)})
                answer = {"role": "assistant", "content": _text(rng, 80)}
                yield _record(number, session, messages, answer)
                messages.append(answer)
                number += 1


def unique_prompts(rng: random.Random) -> Iterator[bytes]:
    """Single calls that share a short instruction and nothing else: nothing can be dropped early."""
    system = _text(rng, 60)
    for number in itertools.count():
        user = {"role": "user", "content": _text(rng, 900)}
        answer = {"role": "assistant", "content": _text(rng, 60)}
        yield _record(number, None, [{"role": "system", "content": system}, user], answer)


KINDS = {"conversations": growing_conversations, "unique": unique_prompts}


def _text(rng: random.Random, words: int) -> str:
    return " ".join(WORDS[min(int(rng.expovariate(0.02)), len(WORDS) - 1)] for _ in range(words))


def _record(number: int, session: str | None, messages: list[Message], answer: Message) -> bytes:
    record: dict[str, object] = {"id": f"r{number}", "timestamp": 1_750_000_000 + number}
    if session is not None:
        record["session_id"] = session
    record["body"] = {"model": "m", "messages": messages}
    record["response"] = {"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    return msgspec.json.encode(record)


def diagnose_peak(trace: Path) -> Peak:
    """Peak resident memory and wall time of one diagnosis; ``OSError`` when it fails."""
    command = [str(Path(sys.executable).parent / "keepwarm"), "diagnose", str(trace), "--json"]
    started_s = time.monotonic()
    with Path(os.devnull).open("wb") as sink:
        actions = [(os.POSIX_SPAWN_DUP2, sink.fileno(), 1), (os.POSIX_SPAWN_DUP2, sink.fileno(), 2)]
        child = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    if status != 0:
        raise OSError(f"keepwarm diagnose {trace.name!r} ended with {os.waitstatus_to_exitcode(status)}")
    return Peak(usage.ru_maxrss / 2**20, time.monotonic() - started_s)  # Linux counts KiB
