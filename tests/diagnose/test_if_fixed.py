"""A cache simulation as if the findings of the diagnosis were repaired."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keepwarm import SimulateOptions, Simulation, simulate_cache
from keepwarm._errors import InputError
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.if_fixed import with_if_fixed
from keepwarm.diagnose.reorder import Resimulator
from tests.cache.traces import THREE, hashed, write_lines

RULES = "Answer in short sentences and cite the page of the manual that you rely on. " * 12
FAQ = "The office is open from nine to five; the archive is closed on the first of May. " * 12


def asked(number: int, system: str, **body: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": f"Question {number * 7919}: may I?"},
    ]
    return {"timestamp": float(number), "body": {"model": "m", "messages": messages, **body}}


def clocked(count: int = 12) -> list[dict[str, Any]]:
    """Two call sites, each with a clock in front of what could be shared."""
    return [
        asked(n, f"It is 2026-03-01T10:{n:02}:{(n * 17) % 60:02}Z.\n{(RULES, FAQ)[n % 2]}", user=f"u{n}")
        for n in range(count)
    ]


def simulated(path: Path, **options: Any) -> Simulation:
    chosen = SimulateOptions(store=False, **options)
    return with_if_fixed(simulate_cache(str(path), chosen), chosen)


def test_every_call_site_is_repaired_at_once(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "clocked.jsonl", clocked())
    simulation = simulated(path, curve=True, policies=("lru",))
    fixed = simulation.if_fixed
    assert fixed is not None
    assert fixed.curve is not None
    examination = examine(str(path))
    assert {finding.cause for finding in examination.diagnosis.findings} == {"clock"}
    assert fixed.findings == tuple(finding.id for finding in examination.diagnosis.findings)
    assert len(fixed.findings) == 2
    assert simulation.ceiling.hit_rate < 0.2
    assert fixed.ceiling.hit_rate > 0.7

    resimulator, changed = Resimulator(examination), {}
    for finding in examination.diagnosis.findings:
        changed |= resimulator.relaid(finding.call_site, [finding.id]).changed
    replayed = examination.accounts.traffic.replay(changed, unbounded=True)  # the reference pool
    assert fixed.ceiling.hit_tokens == sum(row.hit_tokens for row in replayed)
    assert fixed.ceiling.query_tokens == sum(row.prompt_tokens for row in replayed)


def test_the_curves_can_be_drawn_on_one_axis(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "clocked.jsonl", clocked())
    simulation = simulated(path, curve=True, policies=("lru", "sieve"))
    recorded, fixed = simulation.curve, simulation.if_fixed
    assert recorded is not None
    assert fixed is not None
    assert fixed.curve is not None
    assert [policy.policy for policy in fixed.curve.policies] == ["lru", "sieve", "belady"]
    capacities = [point.capacity_blocks for point in recorded.policies[0].points]
    for before, after in zip(recorded.policies, fixed.curve.policies, strict=True):
        assert {point.capacity_blocks for point in after.points} <= set(capacities)
        assert after.points[-1].hit_tokens == fixed.ceiling.hit_tokens > before.points[-1].hit_tokens


@pytest.mark.parametrize("options", [{}, {"ignore_output": True}, {"match_unit_tokens": 8}])
def test_nothing_to_repair_changes_nothing(tmp_path: Path, options: dict[str, Any]) -> None:
    """Block hashes tell no causes: the trace as the diagnosis reads it is that of the simulation."""
    more = [hashed([1, 2, 9, 10], 14, 9), hashed([4, 5, 6], 12, 3)]
    path = write_lines(tmp_path / "three.jsonl", [*THREE, *more, *THREE])
    simulation = simulated(path, curve=True, policies=("lru",), **options)
    fixed = simulation.if_fixed
    assert fixed is not None
    assert (fixed.findings, fixed.ceiling, fixed.curve) == ((), simulation.ceiling, simulation.curve)


def test_sessions_of_their_own_clocks_are_merged_as_in_the_simulation(tmp_path: Path) -> None:
    def line(name: str, ids: list[list[int]], times_s: list[float]) -> dict[str, Any]:
        requests = [
            {"t": time_s, "type": "n", "in": 4 * len(blocks), "out": 2, "hash_ids": blocks}
            for blocks, time_s in zip(ids, times_s, strict=True)
        ]
        return {"id": name, "block_size": 4, "hash_id_scope": "local", "requests": requests}

    lines = [
        line(name, [[1, 2], [1, 2, 3, 4], [1, 2, 3, 4, 5]], times)
        for name, times in (("a", [0.0, 5.0, 50.0]), ("b", [0.0, 7.0, 9.0]), ("c", [0.0, 60.0, 61.0]))
    ]
    path = write_lines(tmp_path / "sessions.jsonl", lines)
    simulation = simulated(path, curve=True, policies=("lru",))
    fixed = simulation.if_fixed
    assert simulation.input.time_merged
    assert fixed is not None
    assert (fixed.ceiling, fixed.curve) == (simulation.ceiling, simulation.curve)


def test_without_a_curve_there_is_none(tmp_path: Path) -> None:
    simulation = simulated(write_lines(tmp_path / "clocked.jsonl", clocked()))
    assert simulation.if_fixed is not None
    assert simulation.if_fixed.curve is None


def test_a_sample_has_the_ceiling(tmp_path: Path) -> None:
    simulation = simulated(write_lines(tmp_path / "clocked.jsonl", clocked()), sample=0.5)
    assert simulation.if_fixed is not None
    assert simulation.if_fixed.ceiling.hit_rate > 0.7


def test_a_file_that_grows_meanwhile_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "clocked.jsonl", clocked())
    options = SimulateOptions(store=False)
    simulation = simulate_cache(str(path), options)
    write_lines(path, clocked(13))
    with pytest.raises(InputError, match="changed while it was read"):
        with_if_fixed(simulation, options)
