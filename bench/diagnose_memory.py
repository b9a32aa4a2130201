"""Peak GiB of `keepwarm diagnose --json` over 1 GB of recorded requests, the worse of two kinds."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from bench.harness import Result, run_keepwarm

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


def run() -> Result:
    """Write each trace to a temporary file, diagnose it in a process of its own, read its peak."""
    costs = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, records in KINDS.items():
            trace = Path(folder) / f"{kind}.jsonl"
            write_trace(trace, records, SIZE_BYTES)
            costs[kind] = run_keepwarm("diagnose", str(trace), "--json")
            trace.unlink()
    detail: dict[str, object] = {"GB": SIZE_BYTES / 1e9}
    for kind, cost in costs.items():
        detail[f"{kind} GiB"] = round(cost.peak_gib, 2)
        detail[f"{kind} wall s"] = round(cost.wall_s)
    return Result("diagnose-memory", round(max(cost.peak_gib for cost in costs.values()), 2), "GiB", detail)


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
