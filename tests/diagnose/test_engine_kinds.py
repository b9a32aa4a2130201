"""Kinds of engine figures that look like something else: hand-sized traffic, one per kind."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec

from keepwarm.diagnose import Options, diagnose
from keepwarm.diagnose.measured import measure
from keepwarm.trace.records import Request
from tests.diagnose.building import LONG, chat, request, traffic_of, used

START_S = 1_930_000_000.0
HEAD = " ".join(f"{word}{n}" for n in range(24) for word in LONG.split()[:20])


def conversation(gaps_s: list[float], session: str = "s", first: int = 0) -> list[Request]:
    times = itertools.accumulate([START_S, *gaps_s])
    texts = [f"turn {session} {n} {LONG}" for n in range(2 * len(gaps_s) + 1)]
    return [
        request(first + n, chat(*texts[: 2 * n + 1], system=HEAD), time_s=time_s, session=session)
        for n, time_s in enumerate(times)
    ]


def test_a_prefix_that_others_keep_warm_hides_no_time_to_live() -> None:
    """Only the conversation expires: less is missing than tokenizers differ by, at the same turns."""
    slow = conversation([400.0, 50.0, 400.0, 50.0, 400.0, 50.0, 400.0, 50.0, 400.0])
    warm = [
        request(100 + n, chat(f"other {n}", system=HEAD), time_s=START_S + 90 * n, session=f"w{n}")
        for n in range(26)
    ]
    items = sorted(slow + warm, key=lambda item: item.time_s or 0)
    plain = measure(traffic_of(items))
    shared = plain.hit[1]
    late = {n for n, item in enumerate(items) if item.session == "s" and item.line % 2 == 0 and item.line > 1}
    reported = [
        msgspec.structs.replace(item, usage=used(plain.prompt[n], shared if n in late else plain.hit[n]))
        for n, item in enumerate(items)
    ]
    found = measure(traffic_of(reported))
    assert found.expired == late
    assert found.ttl_s is not None
    assert 90 <= found.ttl_s < 400
    assert all(found.shortfall[n] == plain.hit[n] - shared for n in late)


def test_one_short_hit_is_no_routing(tmp_path: Path) -> None:
    assert _causes_with_misses(tmp_path, 1) == []
    assert _causes_with_misses(tmp_path, 4) == ["routing"]


def _causes_with_misses(folder: Path, misses: int) -> list[str]:
    items = conversation([5.0] * 9)
    plain = measure(traffic_of(items))
    path = folder / "trace.jsonl"
    records = []
    for n, item in enumerate(items):
        cached = 0 if 1 < n <= misses + 1 else plain.hit[n]
        usage = {"prompt_tokens": plain.prompt[n], "prompt_tokens_details": {"cached_tokens": cached}}
        body = {"model": "m", "messages": item.messages}
        head = {"id": item.id, "timestamp": item.time_s, "session_id": "s"}
        records.append({**head, "body": body, "response": {"usage": usage}})
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    return [finding.cause for finding in diagnose(str(path)).findings]


def test_a_question_asked_twice_leaves_short_prompts_short(tmp_path: Path) -> None:
    """One repeated prompt hits; what the others share still fills no block."""
    words = LONG.split()
    questions = ["Why " + " ".join(words[n : n + 24]) for n in range(14)]
    path = tmp_path / "trace.jsonl"
    records = [
        {"id": f"r{n}", "timestamp": START_S + n, "body": {"model": "m", "messages": chat(question)}}
        for n, question in enumerate([*questions, questions[-1]])
    ]
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    found = diagnose(str(path), Options(block_size=16))
    assert [finding.cause for finding in found.findings] == ["below-block"]


def test_stock_openings_that_fill_a_block_leave_short_prompts_short(tmp_path: Path) -> None:
    """Several prompts open with one of two phrases by chance, a block long: a sliver of their tokens."""
    bodies = [
        " ".join(f"{word}{at * at % (97 + n)}" for at, word in enumerate(LONG.split() * 8)) for n in range(14)
    ]
    opening = (
        "Why does the boat that came in last night with the tide lie at the wrong pier now, and who says so? "
    )
    records = [
        {
            "id": f"r{n}",
            "timestamp": START_S + n,
            "body": {"model": "m", "messages": chat(f"Why {n} {body}" if n % 4 else f"{opening}{n} {body}")},
        }
        for n, body in enumerate(bodies)
    ]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    found = diagnose(str(path), Options(block_size=16))
    assert 0 < found.hit_rate < 0.03
    assert [finding.cause for finding in found.findings] == ["below-block"]


def test_a_session_that_began_on_the_spare_model_is_held_to_the_usual_one(tmp_path: Path) -> None:
    """Sessions share what the usual model has cached; the spare one would compute it once more."""
    path = tmp_path / "trace.jsonl"
    items = conversation([5.0] * 3, "a") + [
        msgspec.structs.replace(item, model="spare" if n % 2 == 0 else "m")
        for n, item in enumerate(conversation([5.0] * 3, "b", first=4))
    ]
    records = [
        {
            "id": item.id,
            "timestamp": item.time_s,
            "session_id": item.session,
            "body": {"model": item.model, "messages": item.messages},
        }
        for item in items
    ]
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    found = diagnose(str(path), Options(block_size=16))
    assert [finding.cause for finding in found.findings] == ["model-switch"]
    head_tokens = measure(traffic_of(items)).hit[5]
    assert found.findings[0].recoverable_tokens > head_tokens > 0


def test_echo_skips_reads_as_well(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    messages = [chat(f"question {n}", system=HEAD) for n in range(6)]
    path.write_bytes(
        b"\n".join(
            msgspec.json.encode({"body": {"model": "m", "messages": each, "echo": True}}) for each in messages
        )
    )
    diagnosis = diagnose(str(path), Options())
    (finding,) = diagnosis.findings
    assert (finding.cause, finding.path, finding.requests) == ("skip-reads", "echo", 6)
    assert diagnosis.hit_rate == 0
    assert finding.recoverable_tokens > 0
