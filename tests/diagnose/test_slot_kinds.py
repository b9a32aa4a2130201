"""Kinds of slots that look like something else: hand-sized values and prompts, one per kind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from keepwarm.diagnose import diagnose
from keepwarm.diagnose.findings import Finding
from keepwarm.diagnose.same_things import json_around
from keepwarm.diagnose.slot_types import classify, is_release
from keepwarm.diagnose.values import Seen, SlotType

START_S = 1_930_000_000.0  # 27 February 2031, 23:06:40 UTC, a Thursday
DAY_S = 86_400.0
WEEKDAYS = ["jeudi", "vendredi", "samedi", "dimanche", "lundi", "mardi", "mercredi"]
WORDS = ["amber", "otter", "copper", "willow", "pebble", "anchor", "velvet", "maple", "cinder", "falcon"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
Row = tuple[str, float, str]


def seen(rows: Sequence[Row]) -> list[Seen]:
    return [Seen(value, f"- {value} -", session, START_S + at) for session, at, value in rows]


def single_calls(values: Sequence[str], step_s: float = 60) -> list[Row]:
    return [(f"s{n}", n * step_s, value) for n, value in enumerate(values)]


def sessions(per_session: Sequence[Sequence[str]]) -> list[Row]:
    return [
        (f"s{s}", 100.0 * s + 30 * turn, value)
        for s, values in enumerate(per_session)
        for turn, value in enumerate(values)
    ]


def by_day(values: Sequence[str], per_day: int = 3) -> list[Row]:
    """Single calls, some a day; the trace begins an hour before midnight UTC."""
    return [
        (f"d{day}-{n}", (day + n / (2 * per_day)) * DAY_S + 3600, value)
        for day, value in enumerate(values)
        for n in range(per_day)
    ]


CODES = ["".join(random.Random(n).choices(LETTERS, k=12)) for n in range(8)]
PHRASES = ["-".join(random.Random(n).sample(WORDS, 4)) for n in range(8)]
TENANTS = [
    f"{name} - call 04 75 20 11 {n}8 - colour #7a1f{n}b - two berths" for n, name in enumerate(WORDS[:3])
]


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (by_day(WEEKDAYS[1:]), SlotType.TIME),
        (by_day([f"{day}" for day in (28, 1, 2, 3, 4)]), SlotType.TIME),
        (by_day([f"2031\u5e743\u6708{day}\u65e5" for day in (1, 2, 3, 4)]), SlotType.TIME),
        (single_calls([f"\u5348\u524d8\u6642{7 + n:02d}\u5206" for n in range(8)]), SlotType.TIME),
        (single_calls([f"20310227T23{7 + n:02d}10Z" for n in range(8)]), SlotType.TIME),
        (sessions([["one", "two", "three", "four"], ["one", "two", "three"]]), SlotType.COUNTER),
        (sessions([["[#...] 25%", "[##..] 50%", "[###.] 75%"]] * 3), SlotType.COUNTER),
        (single_calls(CODES), SlotType.ID),
        (single_calls([f"{n:08x} / {n * 7919:08x}" for n in range(9, 17)]), SlotType.ID),
        (single_calls([f"id {code}7 of Kim" for code in CODES]), SlotType.ID),
        (sessions([PHRASES[:4], PHRASES[4:]]), SlotType.ID),
        (sessions([["opening-hours", "lost-key", "boat-in-ice"], ["fees", "tide-table"]]), SlotType.PASSAGE),
        (single_calls([TENANTS[n * n % 3] for n in range(12)]), SlotType.IDENTITY),
        (
            sessions([[f"Customer {name}, pays by invoice, two boats in the north dock, writes in French"] * 2
                      for name in ("Ada Brand", "Kim Sol", "Uwe Tann")]),
            SlotType.IDENTITY,
        ),
        (
            sessions([["\n".join([f"Chapter on {name} and its tides, for pilots of this harbour."] * 5)] * 2
                      for name in ("locks", "moles", "buoys")]),
            SlotType.PASSAGE,
        ),
        (single_calls([f"tide{n},{n}.42\nmole{n},{n}.15\nlock{n},7.{n}1" for n in range(8)]), None),
        (single_calls([f"2031-02-27 23:{n + 5:02d} Kim moved boat {n} out\n" * 3 for n in range(8)]), None),
    ],
    ids=[
        "weekdays-in-any-language", "day-of-the-month", "cjk-date", "cjk-time", "compact-stamp",
        "turns-in-words", "progress-bar", "codes-of-letters", "two-codes", "code-among-words",
        "words-drawn-at-random", "names-of-pages", "tenants-of-single-calls",
        "details-on-one-line", "document-per-session", "table-of-numbers-is-no-clock",
        "list-of-events-is-no-clock",
    ],
)  # fmt: skip
def test_a_slot_is_typed_by_what_its_values_do(rows: list[Row], wanted: SlotType | None) -> None:
    found, _ = classify(seen(rows))
    assert found is wanted if wanted is not None else found is not SlotType.TIME


def test_a_name_that_happens_to_change_daily_is_no_clock_without_other_witnesses() -> None:
    rows = [(f"u{day}", day * DAY_S, name) for day, name in enumerate(["Ada", "Kim", "Uwe", "Ada", "Eli"])]
    assert classify(seen([row for row in rows for _ in range(2)]))[0] is SlotType.IDENTITY


def test_a_new_version_for_all_is_a_release_and_two_customers_are_not() -> None:
    assert is_release(seen(sessions([["old"] * 2] * 4 + [["new"] * 2] * 4)))
    assert is_release(seen(sessions([["all"]] * 9 + [["trial"]])))
    assert not is_release(seen(sessions([["Ada"] * 2, ["Kim"] * 2] * 4)))
    assert not is_release(seen(sessions([["before", "after"]] * 8)))


def test_json_around_a_slot_is_the_widest_that_holds_it() -> None:
    text = 'Use [1] and {"a": {"b": 1.0}, "c": [2]} here'
    start = text.index("1.0")
    assert json_around(text, start, start + 3) == (12, 39, '{"a": {"b": 1}, "c": [2]}')
    assert json_around(text, 0, 3) is None


RULES = "\n".join(
    f"- Rule {n}: boats of class {n} lie at pier {n * 3} and pay {n * 17} crowns before they leave."
    for n in range(12)
)
CONFIG = {"name": "K\u00f6ge", "docks": [3, 4], "fees": {"day": 12.0, "week": 60}, "open": True, "lamp": None}


def written(n: int) -> str:
    """The configuration with its keys in one of many orders."""
    keys = random.Random(n).sample(list(CONFIG), len(CONFIG))
    return json.dumps({key: CONFIG[key] for key in keys}, ensure_ascii=bool(n % 2))


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def tool(n: int, state: list[str]) -> dict[str, Any]:
    properties = {
        "state": {"type": "string", "enum": state, "description": f"Which state of case {n} to use."}
    }
    return {
        "type": "function",
        "function": {"name": f"find_{n}", "parameters": {"type": "object", "properties": properties}},
    }


def shuffled(n: int) -> list[str]:
    return random.Random(n).sample(["open", "closed", "waiting", "gone", "lost"], 5)


BOOK = f"You keep the harbour book.\n{RULES}"
Body = Callable[[int, list[dict[str, Any]]], dict[str, Any]]


def with_system(content: Any, talk: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "system", "content": content}, *talk], **more}


def told(n: int, first: dict[str, Any]) -> dict[str, Any]:
    """The first message of a conversation behind what was fetched for request ``n``, and the rules."""
    fetched = " ".join(f"{code} lies where {CODES[n % 8]} lay before the storm." for code in shuffled(n))
    return {"role": "user", "content": f"{fetched}\n{RULES}\n{first['content']}"}


def record(n: int, first: dict[str, Any]) -> dict[str, Any]:
    """The first message behind a record fetched for request ``n``: a number, a name and passages."""
    notes = [" ".join(shuffled(n * 9 + i)) + f" near {CODES[(n + i) % 8]} since noon" for i in range(4)]
    fetched = json.dumps(
        {"case": f"KX-{n * 733 % 977 + 1000}", "owner": WORDS[n % 10], "notes": notes}, indent=1
    )
    return {"role": "user", "content": f"{fetched}\n{RULES}\n{first['content']}"}


BODIES: dict[str, tuple[Body, str, str]] = {
    "json-in-the-prompt": (
        lambda n, talk: with_system(f"Settings: {written(n)}\n{RULES}", talk),
        "schema-key-order",
        "messages[0].content",
    ),
    "part-that-varies-as-a-whole": (
        lambda n, talk: with_system(
            [part("You keep the book."), part(CODES[n % 8] + "9"), part(RULES)], talk
        ),
        "random-id",
        "messages[0].content[1].text",
    ),
    "enum-from-a-set": (
        lambda n, talk: with_system(BOOK, talk, tools=[tool(i, shuffled(n + i)) for i in range(4)]),
        "schema-key-order",
        "tools[0]",
    ),
    "no-tools-at-times": (
        lambda n, talk: with_system(BOOK, talk, tools=[tool(i, ["open"]) for i in range(3 * (n % 2))]),
        "tool-set",
        "tools[0]",
    ),
    "passage-in-the-first-user-message": (
        lambda n, talk: {"messages": [told(n, talk[0]), *talk[1:]]},
        "retrieved-context",
        "messages[0].content",
    ),
    "record-in-the-first-user-message": (
        lambda n, talk: {"messages": [record(n, talk[0]), *talk[1:]]},
        "retrieved-context",
        "messages[0].content",
    ),
    "adapter-by-turn": (
        lambda n, talk: with_system(BOOK, talk, **({"lora_name": "tone"} if n % 2 else {})),
        "model-switch",
        "lora_name",
    ),
}


def findings(tmp_path: Path, body: Body) -> list[Finding]:
    """Two sessions of six turns each, taking turns."""
    path = tmp_path / "trace.jsonl"
    talks: list[list[dict[str, Any]]] = [[], []]
    lines = []
    for n in range(12):
        talk = talks[n // 2 % 2]
        talk += [{"role": "user", "content": f"Where does boat {n} lie, and who pays for number {n * 31}?"}]
        record = {"id": f"r{n}", "timestamp": START_S + 50 * n, "session_id": f"s{n // 2 % 2}"}
        lines.append(
            json.dumps({**record, "body": {"model": "m", **body(n, list(talk))}}, ensure_ascii=False)
        )
        talk += [{"role": "assistant", "content": f"It lies at pier {n}; the owner pays {n * 17} crowns."}]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return list(diagnose(str(path)).findings)


@pytest.mark.parametrize("name", BODIES)
def test_the_first_finding_names_cause_and_place(tmp_path: Path, name: str) -> None:
    body, cause, path = BODIES[name]
    found = findings(tmp_path, body)
    assert found, "no finding"
    assert (found[0].cause, found[0].path) == (cause, path)


def test_tools_written_anew_are_lost_in_full(tmp_path: Path) -> None:
    """What a re-serialised definition says was carried before, so nearly all of it can be given back."""
    body, _, _ = BODIES["enum-from-a-set"]
    tool_tokens = 4 * 60
    assert findings(tmp_path, body)[0].recoverable_tokens > 8 * tool_tokens
