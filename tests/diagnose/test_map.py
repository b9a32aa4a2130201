"""The runs of the break map: they add up to the fates, whatever the traffic, and come back from the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.prompt_map import FATES, SECTIONS
from keepwarm.diagnose.report.map_file import read_map, write_map
from keepwarm.diagnose.runs import MapRuns, RunColumn, RunGatherer, Runs, joined
from keepwarm.diagnose.sections import message_sections
from keepwarm.trace.records import HashedPrompt, Request
from tests.diagnose.building import LONG, accounts_of, chat, message, request, traffic_of
from tests.diagnose.judging import Case

HELPDESK = Path(__file__).parents[2] / "examples" / "helpdesk" / "traffic.jsonl.gz"


@pytest.fixture(scope="module")
def helpdesk() -> Examination:
    return examine(str(HELPDESK))


def check(runs: Runs, names: tuple[str, ...], prompt_tokens: int) -> dict[str, int]:
    """Tokens by name, of runs that are sorted, not empty, unlike the next one, and end with the prompt."""
    assert len(runs.code) == len(runs.end)
    assert (np.diff(runs.end, prepend=0) > 0).all()
    assert (runs.code[1:] != runs.code[:-1]).all()
    assert (runs.end[-1] if len(runs.end) else 0) == prompt_tokens
    return dict(zip(names, runs.counts(len(names)), strict=True))


def check_all(diagnosis: Diagnosis, runs: MapRuns) -> None:
    for row in diagnosis.rows:
        fates = check(runs.fate.of(row.index), FATES, row.tokens.prompt)
        assert fates == {name: getattr(row.tokens, name) for name in FATES}, row.id
        check(runs.section.of(row.index), SECTIONS, row.tokens.prompt)
    assert len(runs.fate.offsets) == len(runs.section.offsets) == len(diagnosis.rows) + 1


def test_runs_add_up_to_the_fates_of_every_case(cases: list[Case]) -> None:
    for case in cases:
        check_all(case.diagnosis, case.report.runs)


def test_runs_add_up_to_the_fates_of_the_helpdesk(helpdesk: Examination) -> None:
    check_all(helpdesk.diagnosis, helpdesk.accounts.runs)


def told(items: list[Request], **options: Any) -> MapRuns:
    return accounts_of(traffic_of(items, **options)).runs


def named(column: RunColumn, index: int, names: tuple[str, ...]) -> list[tuple[str, int]]:
    runs = column.of(index)
    return [(names[code], end) for code, end in zip(runs.code.tolist(), runs.end.tolist(), strict=True)]


TEXTS = st.sampled_from(["fog", "tide", "rope\n\nbell", LONG, LONG[::-1], "🐈 über", ""])
ROLES = st.sampled_from(["system", "user", "assistant", "tool", "developer"])
TOOL = {"type": "function", "function": {"name": "chart", "description": LONG, "parameters": {}}}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.lists(st.tuples(ROLES, TEXTS), min_size=1, max_size=6), st.booleans()),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([None, 3, 12]),
)
def test_runs_of_any_traffic_add_up(prompts: list[Any], capacity: int | None) -> None:
    items = [
        request(n, [message(role, text) for role, text in turns], tools=[TOOL] if has_tool else [])
        for n, (turns, has_tool) in enumerate(prompts)
    ]
    accounts = accounts_of(traffic_of(items, capacity_blocks=capacity))
    for index, tokens in enumerate(accounts.fates):
        fates = check(accounts.runs.fate.of(index), FATES, tokens.prompt)
        assert fates == {name: getattr(tokens, name) for name in FATES}
        check(accounts.runs.section.of(index), SECTIONS, tokens.prompt)


def test_fates_stand_in_their_order() -> None:
    items = [request(n, chat("x"), prompt_token_ids=[n % 2 * 1000 + i for i in range(70)]) for n in range(4)]
    bounded = told(items, capacity_blocks=5)
    assert named(bounded.fate, 2, FATES) == [("evicted", 64), ("partial", 70)]
    whole = request(0, chat("x"), prompt_token_ids=list(range(64)))
    assert named(told([whole, whole]).fate, 1, FATES) == [("hit", 48), ("forced", 64)]


def test_what_was_carried_is_diverged_where_it_stands() -> None:
    items = [
        request(n, chat("Ask?", system=f"{clock}\n{LONG * 3}")) for n, clock in enumerate(("8:12", "9:40"))
    ]
    column = told(items).fate
    kinds = [kind for kind, _ in named(column, 1, FATES)]
    assert kinds[0] == "cold"  # the clock
    longest = max(range(len(kinds)), key=lambda i: int(np.diff(column.of(1).end, prepend=0)[i]))
    assert kinds[longest] == "diverged"


def test_sections_follow_the_messages() -> None:
    items = [request(0, chat("One?", "Two.", "Three?", system="Log."), tools=[TOOL])]
    sections = [kind for kind, _ in named(told(items).section, 0, SECTIONS)]
    assert sorted(set(sections)) == ["history", "system", "tools", "user"]
    assert sections[-2:] == ["history", "user"]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (["system", "user"], "system user"),
        (["system", "user", "assistant", "user"], "system history history user"),
        (["user", "assistant", "tool", "tool"], "history history user user"),
        (["user", "assistant", "developer", "user"], "history history system user"),
        (["user", "assistant"], "user user"),
        (["user", "assistant", "user", "assistant"], "history history user user"),
        ([], ""),
    ],
)
def test_the_newest_turn_is_what_follows_the_last_answer(roles: list[str], expected: str) -> None:
    assert " ".join(SECTIONS[code] for code in message_sections(roles)) == expected


def test_recorded_tokens_have_no_known_section() -> None:
    item = request(0, chat("Ask?", system="Log."), prompt_token_ids=list(range(40)))
    assert named(told([item]).section, 0, SECTIONS) == [("unknown", 40)]


def hashed(number: int, ids: list[int], tokens: int, **fields: Any) -> Request:
    prompt = HashedPrompt(hash_ids=ids, block_size=8, input_tokens=tokens, tool_tokens=5, system_tokens=6)
    return request(number, hashed=prompt, **fields)


def test_a_hashed_request_that_continues_another_has_history_and_a_new_turn() -> None:
    runs = told([hashed(0, [1, 2, 3], 25), hashed(1, [1, 2, 3, 4], 36)], block_size=8)
    assert named(runs.section, 0, SECTIONS) == [("tools", 5), ("system", 11), ("unknown", 25)]
    assert named(runs.section, 1, SECTIONS) == [("tools", 5), ("system", 11), ("history", 24), ("user", 36)]
    assert named(runs.fate, 1, FATES) == [("hit", 24), ("cold", 32), ("partial", 36)]


@pytest.mark.parametrize("other", [hashed(1, [1, 2, 9], 30), hashed(1, [1, 2, 3, 4], 36, session="t")])
def test_a_hashed_request_that_continues_none_is_unknown_behind_its_head(other: Request) -> None:
    runs = told([hashed(0, [1, 2, 3], 25), other], block_size=8)
    assert [kind for kind, _ in named(runs.section, 1, SECTIONS)] == ["tools", "system", "unknown"]


def test_a_head_longer_than_the_prompt_is_cut() -> None:
    assert named(told([hashed(0, [1], 9)], block_size=8).section, 0, SECTIONS) == [
        ("tools", 5),
        ("system", 9),
    ]


def test_joined_drops_empty_runs_and_makes_neighbours_one() -> None:
    runs = joined([0, 1, 1, 2, 0], [3, 3, 5, 5, 9])
    assert (runs.code.tolist(), runs.end.tolist()) == ([0, 1, 0], [3, 5, 9])
    assert joined([], []).counts(2) == [0, 0]
    same = joined([1, 1], [2, 4])
    assert (same.code.tolist(), same.end.tolist()) == ([1], [4])


def equal(one: MapRuns, other: MapRuns) -> bool:
    pairs = ((one.fate, other.fate), (one.section, other.section))
    arrays = [
        (one.prompt_tokens, other.prompt_tokens),
        *(p for a, b in pairs for p in zip(a, b, strict=True)),
    ]
    return one.block_size == other.block_size and all(np.array_equal(a, b) for a, b in arrays)


def test_the_file_gives_back_what_was_written(helpdesk: Examination, tmp_path: Path) -> None:
    runs = helpdesk.accounts.runs
    content = write_map(runs)
    assert content == write_map(runs)
    assert equal(read_map(content), runs)
    (tmp_path / "map.parquet").write_bytes(content)
    assert equal(read_map(tmp_path / "map.parquet"), runs)


@given(st.lists(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 90)), max_size=5), max_size=6))
def test_any_runs_come_back(prompts: list[list[tuple[int, int]]]) -> None:
    column = RunGatherer()
    for parts in prompts:
        column.add(
            joined([code for code, _ in parts], np.cumsum([size for _, size in parts], dtype=np.int32))
        )
    totals = [sum(size for _, size in parts) for parts in prompts]
    found = column.column()
    runs = MapRuns(16, np.asarray(totals, dtype=np.int32), found, found)
    assert equal(read_map(write_map(runs)), runs)


def damaged(runs: MapRuns, **changes: Any) -> bytes:
    return write_map(runs._replace(**changes))


def test_a_file_that_is_no_map_is_refused(helpdesk: Examination, tmp_path: Path) -> None:
    runs = helpdesk.accounts.runs
    content = write_map(runs)
    high = runs.fate._replace(code=np.full_like(runs.fate.code, 9))
    shifted = runs.fate._replace(end=runs.fate.end[::-1].copy())
    for wrong in (
        b"",
        b"PAR1",
        content[: len(content) // 2],
        damaged(runs, fate=high),
        damaged(runs, fate=shifted),
        damaged(runs, prompt_tokens=runs.prompt_tokens + np.int32(1)),
    ):
        with pytest.raises(InputError, match="write it anew"):
            read_map(wrong)
    with pytest.raises(InputError, match=r"nothing\.parquet"):
        read_map(tmp_path / "nothing.parquet")
