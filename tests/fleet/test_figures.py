"""The fleet's page says what its rows say, and the rows outlive no change of what they were made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.fleet import figures, page, store
from bench.fleet.plan import BASELINE, CACHEWISE, GROUPS, Run, plan, run_of
from bench.fleet.recheck import recheck
from bench.fleet.workload import shortened
from keepwarm.fleet.row import FleetRow
from keepwarm.fleet.simulate import simulate_fleet
from keepwarm.workload.base import Workload
from tests.fleet.runs import fleet, growing
from tests.serving.runs import BLOCK, session, turn

ANY_ROW = msgspec.structs.replace(simulate_fleet(growing(4), fleet("sticky", 2, 2)), per_replica=())


def row(completion_s: float) -> FleetRow:
    return msgspec.structs.replace(
        ANY_ROW, overall=msgspec.structs.replace(ANY_ROW.overall, session_completion_s=completion_s)
    )


def test_the_page_says_what_the_rows_say(tmp_path: Path) -> None:
    copy = tmp_path / "fleet.md"
    copy.write_text(page.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    page.rewrite({one.run: one.row for one in store.read()}, copy)
    assert copy.read_text(encoding="utf-8") == page.PAGE.read_text(encoding="utf-8")


def test_the_rows_are_runs_of_the_plan_and_each_is_there_once() -> None:
    runs = [one.run for one in store.read()]
    assert len(set(runs)) == len(runs)
    assert set(runs) <= set(plan(list(GROUPS)))
    assert {run.replicas for run in runs} >= {1, 4, 16}


def test_a_gain_is_of_its_own_balancer_and_kept_is_of_one_server() -> None:
    rows = {
        run_of("", 1, BASELINE, 30, 0): row(100.0),
        run_of("", 1, CACHEWISE, 30, 0): row(20.0),
        run_of("sticky", 4, BASELINE, 30, 0): row(120.0),
        run_of("sticky", 4, CACHEWISE, 30, 0): row(30.0),
        run_of("sticky", 4, BASELINE, 30, 1): row(90.0),
        run_of("round-robin", 4, BASELINE, 30, 0): row(1.0),
    }
    run = run_of("sticky", 4, CACHEWISE, 30, 0)
    assert figures.gain(rows, run) == (pytest.approx(4.0), 1)
    assert figures.gain_kept(rows, run) == (pytest.approx(0.8), 1)
    assert figures.slower(rows, run) == (pytest.approx(1.5), 1)
    rows[run_of("sticky", 4, CACHEWISE, 30, 1)] = row(90.0)
    assert figures.gain(rows, run) == (pytest.approx(2.0), 2)
    kept = next(line for line in page.tables(rows)["kept"].splitlines() if line.startswith("| `sticky`"))
    assert kept == "| `sticky` | – | 2.00, 40% (2) | – | – | – | – |"


def test_what_was_not_computed_is_a_dash() -> None:
    assert figures.gain({}, run_of("sticky", 4, CACHEWISE, 30, 0)) is None
    for name, table in page.tables({}).items():
        assert name == "coverage" or "| –" in table or table == "Not computed yet."


@given(st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=2, max_size=2), st.integers(1, 4))
def test_larger_blocks_are_equal_exactly_if_all_up_to_them_are(lists: list[list[int]], at_once: int) -> None:
    made = [session(f"s{number}", turn(50, 1, blocks)) for number, blocks in enumerate(lists)]
    short = shortened(Workload(BLOCK, made), 1, at_once)
    first, second = (one.turns[0].blocks for one in short.sessions)
    assert short.block_size == BLOCK * at_once
    assert [len(first), len(second)] == [len(blocks) // at_once for blocks in lists]
    for end in range(1, min(len(first), len(second)) + 1):
        alike = lists[0][: end * at_once] == lists[1][: end * at_once]
        assert (first[end - 1] == second[end - 1]) == alike


def test_sessions_end_after_their_first_requests() -> None:
    short = shortened(growing(3, turns=5), 2, 1)
    assert [len(one.turns) for one in short.sessions] == [2, 2, 2]
    assert [one.id for one in short.sessions] == [one.id for one in growing(3).sessions]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of its own, and code whose digest is ``now``."""
    path = tmp_path / "rows.jsonl"
    monkeypatch.setattr(store, "PATH", path)
    monkeypatch.setattr(store, "code_of", lambda _: "now")
    return path


RUNS = plan(["one"])[:6]


def old(runs: Sequence[Run]) -> None:
    store.rewrite([store.Stored(run, "before", row(10.0 + run.seed)) for run in runs])


def test_rows_of_other_code_are_not_looked_at(rows: Path) -> None:
    old(RUNS[:2])
    store.append(RUNS[2], row(5.0))
    assert set(store.load()) == {RUNS[2]}


def test_a_line_cut_short_goes_and_no_other(rows: Path) -> None:
    for run in RUNS[:3]:
        store.append(run, row(5.0))
    rows.write_bytes(rows.read_bytes()[:-7])
    assert set(store.load()) == set(RUNS[:2])
    store.append(RUNS[3], row(5.0))
    assert set(store.load()) == {*RUNS[:2], RUNS[3]}


def test_rows_stay_good_if_those_computed_anew_are_equal(rows: Path) -> None:
    old(RUNS)
    done = recheck(2, lambda run: row(10.0 + run.seed))
    assert (len(done.runs), done.differ, done.restamped) == (2, [], 6)
    assert set(store.load()) == set(RUNS)


def test_no_row_stays_good_if_one_is_not(rows: Path) -> None:
    old(RUNS)
    before = rows.read_bytes()
    done = recheck(6, lambda run: row(10.0 + run.seed + (run == RUNS[4])))
    assert (done.differ, done.restamped) == ([RUNS[4]], 0)
    assert rows.read_bytes() == before


def test_the_digest_is_of_what_a_row_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of("sticky", 4, CACHEWISE, 30, 0)
    for name in store._CODE:
        made = tmp_path / name
        made = made if made.suffix else made / "run.py"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.write_text('"""One."""\nx = 1\n', encoding="utf-8")
    monkeypatch.setattr(store, "REPOSITORY", tmp_path)

    def digest() -> str:
        store._digest.cache_clear()
        return store.code_of(run)

    before = digest()
    code = tmp_path / "src" / "keepwarm" / "fleet" / "run.py"
    code.write_text('"""Two."""\nx = 1  # as before\n', encoding="utf-8")
    assert digest() == before
    code.write_text('"""Two."""\nx = 2\n', encoding="utf-8")
    assert digest() != before
    store._digest.cache_clear()
