"""Stored rows of the reproduction outlive a change of code that changes no figure, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bench.cachewise import __main__ as command
from bench.cachewise import store
from bench.cachewise.plan import GROUPS, Run, plan
from bench.cachewise.recheck import RecheckError, choose, recheck
from bench.cachewise.store import Stored
from keepwarm.serving.row import LatencyS, Row, TtftS, WaitS

NOW = {True: "active-now", False: "plain-now"}
OLD = {True: "active-old", False: "plain-old"}
RUNS = [run for group in GROUPS for run in plan([group])[:12]]


def row_of(run: Run) -> Row:
    """A row that depends on the run, with more digits than are stored."""
    return Row(
        scheduling=run.scheduling,
        eviction=run.eviction,
        sessions=run.sessions,
        seed=run.seed,
        session_completion_s=run.sessions + run.seed / 3 + run.gap_scale,
        request_latency_s=LatencyS(1 / 3, 2 / 3, 1.0),
        ttft_s=TtftS(0.1, 0.2),
        queue_wait_s=WaitS(0.5, run.seed / 7),
        token_goodput=1e6 / 7,
        requests_per_s=0.25,
        evicted_blocks=run.sessions,
        hit_rate=0.5,
        makespan_s=123_456.789,
        later_latency_s=LatencyS(0.0, 0.0, 0.0),
        slowdown_p99=1.0,
        jain_index=1.0,
        requests=10,
        recomputed_tokens=0,
        reloaded_blocks=0,
        preemptions=0,
        probed_blocks=0,
        steps=99,
    )


class Computer:
    """Computes rows, some of them ``changed``; remembers which were asked for."""

    def __init__(self, **changed: Any) -> None:
        self.asked: list[Run] = []
        self._changed = changed

    def __call__(self, runs: Sequence[Run]) -> Iterable[tuple[Run, Row]]:
        self.asked += runs
        for place, run in enumerate(runs):
            row = row_of(run)
            yield run, msgspec.structs.replace(row, **self._changed) if place == 1 else row


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All rows are of the code before."""
    path = tmp_path / "rows.jsonl"
    monkeypatch.setattr(store, "PATH", path)
    monkeypatch.setattr(store, "_digest", OLD.__getitem__)
    for run in dict.fromkeys(RUNS):
        store.append(run, row_of(run))
    monkeypatch.setattr(store, "_digest", NOW.__getitem__)
    return path


def test_equal_rows_stay_good(stored: Path) -> None:
    before = store.read()
    assert store.load() == {}
    computer = Computer()
    done = recheck(8, computer, seed=3)
    assert done.runs == computer.asked
    assert (len(done.runs), done.differences, done.restamped) == (8, [], len(before))
    assert [(one.run, one.row) for one in store.read()] == [(one.run, one.row) for one in before]
    assert len(store.load()) == len(before)


def test_a_figure_in_the_last_digit_keeps_all_rows_stale(stored: Path) -> None:
    content = stored.read_bytes()
    done = recheck(8, Computer(makespan_s=123_458.0))
    assert stored.read_bytes() == content
    assert done.restamped == 0
    (difference,) = done.differences
    assert (difference.run, difference.figure) == (done.runs[1], "makespan_s")
    assert (difference.stored, difference.found) == (123_457.0, 123_458.0)
    assert "makespan_s is 123458.0, stored is 123457.0" in str(difference)


def test_what_is_not_stored_is_no_difference(stored: Path) -> None:
    assert recheck(4, Computer(makespan_s=123_456.8)).differences == []


def test_a_few_rows_cover_groups_and_both_kinds_of_code(stored: Path) -> None:
    rows = store.read()
    chosen = choose(rows, 8, 0)
    assert len({one.run for one in chosen}) == 8
    for group in GROUPS:
        assert len([one for one in chosen if one.run in set(plan([group]))]) >= 1
    assert {one.code for one in choose(rows, 2, 0)} == set(OLD.values())
    assert choose(rows, 8, 0) == chosen != choose(rows, 8, 1)
    assert len(choose(rows, 10_000, 0)) == len(rows)


def test_other_code_is_left_alone(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = store.read()
    oldest = Stored(rows[0].run, "older-still", rows[0].row)
    store.rewrite([oldest, *rows[1:]])
    with pytest.raises(RecheckError, match="older-still, plain-old; name the one before with --before"):
        recheck(4, Computer())
    done = recheck(4, Computer(), before=[*OLD.values()])
    assert done.restamped == len(rows) - 1
    assert store.read()[0] == oldest


def test_a_digest_of_which_no_row_was_computed_is_not_vouched_for(stored: Path) -> None:
    done = recheck(1, Computer())
    assert done.restamped == sum(one.code in NOW.values() for one in store.read()) < len(store.read())
    (vouched,) = {one.code for one in store.read() if one.code in NOW.values()}
    assert vouched == store.code_of(done.runs[0])


def test_a_run_computed_since_keeps_its_row(stored: Path) -> None:
    newer = msgspec.structs.replace(row_of(RUNS[0]), steps=1)
    count = len(store.read())
    store.append(RUNS[0], newer)
    recheck(4, Computer())
    rows = store.read()
    assert len(rows) == count
    assert [one.row.steps for one in rows if one.run == RUNS[0]] == [1]


def test_nothing_to_recheck(stored: Path) -> None:
    with pytest.raises(RecheckError, match="no row of no-such"):
        recheck(4, Computer(), before=["no-such"])
    with pytest.raises(RecheckError, match="0 rows prove nothing"):
        recheck(0, Computer())
    recheck(8, Computer())
    with pytest.raises(RecheckError, match="no row of older code"):
        recheck(4, Computer())


def test_the_command_says_what_it_found(
    stored: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def computing(**changed: Any) -> None:
        computer = Computer(**changed)
        monkeypatch.setattr(command, "computed", lambda runs, processes: computer(runs))

    computing(steps=1)
    assert command.main(["--recheck", "4"]) == 1
    assert "steps is 1, stored is 99" in capsys.readouterr().out
    computing()
    assert command.main(["--recheck", "4", "--before", *OLD.values()]) == 0
    assert "4 rows computed anew, all as stored" in capsys.readouterr().out
    assert command.main(["--recheck", "4"]) == 2
    assert "no row of older code" in capsys.readouterr().err


def test_who_only_watches_is_not_in_the_digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest() -> str:
        store._digest.cache_clear()
        return store._digest(False)

    for name in ("policies", "serving"):
        (tmp_path / "src" / "keepwarm" / name).mkdir(parents=True)
    engine, timeline = (
        tmp_path / "src" / "keepwarm" / "serving" / f"{n}.py" for n in ("engine", "timeline_of")
    )
    engine.write_text("steps = 1\n")
    monkeypatch.setattr(store, "REPOSITORY", tmp_path)
    try:
        before = digest()
        timeline.write_text("points = 1\n")
        assert digest() == before
        engine.write_text('"""Says."""\nsteps = 1  # so\n')
        assert digest() == before
        engine.write_text("steps = 2\n")
        assert digest() != before
    finally:
        store._digest.cache_clear()
