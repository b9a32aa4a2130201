from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from keepwarm.cache.options import SimulateOptions
from keepwarm.cache.simulate import simulate_cache
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.profile import load_profile
from keepwarm.serving.simulate import simulate
from keepwarm.sweep.cells import Cell, Figures
from keepwarm.sweep.engines.local import Local
from keepwarm.sweep.run import sweep
from keepwarm.sweep.work import Outcome, Prepared
from keepwarm.workload.load import load_workload
from tests.sweep.specs import CACHE, SERVING, groups_of


def test_figures_are_those_of_the_simulations_themselves(tmp_path: Path) -> None:
    rows = sweep(groups_of(tmp_path), Local(2), tmp_path / "out").rows
    options = SimulateOptions(
        policies=("lru", "belady", "sieve"), capacities_blocks=(40, 60, 80, 120), store=False
    )
    alone = {
        (row.policy, row.capacity_blocks): row
        for row in simulate_cache(str(tmp_path / "trace.jsonl"), options).rows
    }
    cache = [row for row in rows if row["kind"] == "cache"]
    assert len(cache) == len(alone)
    for row in cache:
        expected = alone[row["policy"], row["capacity_blocks"]]
        assert row["hit_tokens"] == expected.hit_tokens > 0
        assert row["hit_rate"] == round(expected.hit_rate, 6)
        assert row["evicted_blocks"] == expected.evicted_blocks
    workload = load_workload(tmp_path / "trace.jsonl")
    for row in rows:
        if row["kind"] == "serving":
            run = ServingOptions(
                profile=load_profile(row["profile"]),
                scheduling=row["scheduling"],
                sessions=row["sessions"],
                seed=row["seed"],
                capacity_tokens=row["capacity_tokens"],
            )
            assert row["session_completion_s"] == round(simulate(workload, run).session_completion_s, 6)


def test_rows_are_the_same_bytes_whatever_the_number_of_threads(tmp_path: Path) -> None:
    groups = groups_of(tmp_path)
    one, two = (sweep(groups, Local(count), tmp_path / str(count)).rows_path for count in (1, 2))
    assert one.read_bytes() == two.read_bytes()


def test_a_cell_that_fails_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    small = CACHE.replace("[40,", "[2, 40,") + SERVING.replace("[40960]", "[512, 40960]")
    done = sweep(groups_of(tmp_path, small), Local(2), tmp_path / "out")
    assert {
        failure.cell.settings["capacity_blocks"]
        for failure in done.failures
        if "policy" in failure.cell.settings
    } == {2}
    assert any("capacity of 2 blocks is below one request" in failure.reason for failure in done.failures)
    assert len(done.rows) == done.cells - len(done.failures) > 12
    again = sweep(groups_of(tmp_path, CACHE), Local(2), tmp_path / "out")
    assert (again.computed, again.failures) == (0, [])


def test_a_trace_that_breaks_off_fails_its_own_cells_alone(tmp_path: Path) -> None:
    groups = groups_of(tmp_path)
    Path(groups[1].source.path).write_text("not a trace any more\n")
    outcomes = list(Local(2).outcomes(groups[1:]))
    assert len(outcomes) == 8
    assert all(outcome.figures is None and outcome.reason for outcome in outcomes)


class _Deadly(Prepared):
    """A source of which one cell kills the process that computes it."""

    def outcome(self, cell: Cell) -> Outcome:
        if cell.settings["seed"] == 1 and cell.settings["sessions"] == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        figures: Figures = {"block_size": 512}
        return Outcome(cell, figures)


def test_a_lost_process_costs_only_the_cell_that_killed_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (group,) = groups_of(tmp_path, SERVING.replace('"fcfs", "active-set"', '"fcfs"'))
    monkeypatch.setattr("keepwarm.sweep.engines.local.prepare", lambda source: _Deadly(None, None))
    engine = Local(2)
    outcomes = {outcome.cell.key: outcome for outcome in engine.outcomes([group])}
    assert set(outcomes) == {cell.key for cell in group.cells}
    failed = [outcome for outcome in outcomes.values() if outcome.figures is None]
    assert [(one.cell.settings["seed"], one.cell.settings["sessions"]) for one in failed] == [(1, 4)]
    assert engine.lost == 1
    assert "its process was lost 3 times" in str(failed[0].reason)
