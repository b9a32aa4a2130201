from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from keepwarm._errors import InputError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.fit import MIN_SAMPLES, FitOptions, fit
from keepwarm.reuse.model import dumps, loads
from keepwarm.reuse.report.held_out import split_by_task
from keepwarm.reuse.report.metrics import at_start, order_accuracy, ranks
from tests.reuse.samples import listings_and_builds, ran

LISTING, BUILD = ToolCall("bash", "ls -la src"), ToolCall("bash", "make test")


@pytest.fixture(scope="module")
def terminal_bench(shared: Path) -> tuple[ToolDuration, ...]:
    return read_durations([shared / "data" / "tool_durations" / "terminal_bench_steps.csv"]).durations


def test_arguments_tell_calls_apart() -> None:
    model = fit(listings_and_builds(), FitOptions(clusters=2))
    listing, build = (model.remaining_s(call, 0.0) for call in (LISTING, BUILD))
    assert listing is not None
    assert build is not None
    assert listing < build / 3
    assert build > 10.0
    assert model.fitted.samples == 120
    assert model.fitted.censored == 12


def test_without_clusters_they_are_alike() -> None:
    model = fit(listings_and_builds(), FitOptions(clusters=0))
    assert model.remaining_s(LISTING, 0.0) == model.remaining_s(BUILD, 0.0)
    assert model.tools["bash"].clusters == ()


def test_a_listing_that_overruns_is_not_imminent() -> None:
    model = fit(listings_and_builds(), FitOptions(clusters=2))
    for elapsed_s in (0.03, 1.0, 10.0, 19.0):
        remaining_s = model.remaining_s(LISTING, elapsed_s)
        assert remaining_s is not None
        assert remaining_s > 1.0
    assert model.remaining_s(LISTING, 1e6) is None


@pytest.mark.parametrize("clusters", [2, 20, 100])
def test_as_many_clusters_as_the_data_carries(
    terminal_bench: tuple[ToolDuration, ...], clusters: int
) -> None:
    model = fit(terminal_bench, FitOptions(clusters=clusters))
    carried = model.tools["bash"].clusters
    assert 1 <= len(carried) <= min(clusters, len(terminal_bench) // MIN_SAMPLES)
    assert all(cluster.curve.samples >= MIN_SAMPLES for cluster in carried)
    assert sum(cluster.curve.samples for cluster in carried) <= len(terminal_bench)


def test_inference_finds_the_cluster_that_the_fit_counted(terminal_bench: tuple[ToolDuration, ...]) -> None:
    model = loads(dumps(fit(terminal_bench)))
    tool = model.tools["bash"]
    nearest = [tool.nearest(duration.call.arguments) for duration in terminal_bench]
    for cluster in tool.clusters:
        assert nearest.count(cluster.curve) == cluster.curve.samples


def test_a_tool_of_few_calls_has_no_curve() -> None:
    rare = [ToolDuration(ToolCall("Read", "a.py"), 0.1, "t")] * (MIN_SAMPLES - 1)
    model = fit([*listings_and_builds(), *rare], FitOptions(clusters=2))
    assert list(model.tools) == ["bash"]
    assert model.remaining_s(rare[0].call, 0.0) == model.curve.remaining_s(0.0)


def test_calls_with_nothing_in_common_have_no_clusters() -> None:
    model = fit([ran(f"x{number}y", 1.0 + number) for number in range(40)])
    assert model.tools["bash"].clusters == ()


def test_equal_calls_are_one_cluster() -> None:
    model = fit([ran("make", 1.0 + number) for number in range(90)], FitOptions(clusters=3))
    assert len(model.tools["bash"].clusters) == 1


def test_too_few_calls_are_refused() -> None:
    with pytest.raises(InputError, match="29 tool durations are too few"):
        fit([ran("ls", 1.0)] * 29)


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(InputError, match=r"install keepwarm\[reuse\]"):
        fit(listings_and_builds())


def test_the_same_bytes_in_every_process(terminal_bench: tuple[ToolDuration, ...], shared: Path) -> None:
    program = (
        "import sys; from keepwarm.reuse.durations.read import read_durations\n"
        "from keepwarm.reuse.fit import fit, FitOptions; from keepwarm.reuse.model import dumps\n"
        "read = read_durations([sys.argv[1]])\n"
        "sys.stdout.buffer.write(dumps(fit(read.durations[:600], FitOptions(seed=3))))\n"
    )
    path = shared / "data" / "tool_durations" / "terminal_bench_steps.csv"
    ran = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "99"},
    )
    here = dumps(fit(terminal_bench[:600], FitOptions(seed=3)))
    assert ran.stdout == here
    assert dumps(fit(terminal_bench[:600], FitOptions(seed=4))) != here


def accuracy(train: list[ToolDuration], test: list[ToolDuration], seed: int) -> float:
    model = fit(train, FitOptions(clusters=50))
    random = Random(seed)
    pairs = [(random.randrange(len(test)), random.randrange(len(test))) for _ in range(5_000)]
    moments = at_start(test)
    found = order_accuracy(ranks(model.remaining_s, moments), moments, pairs, 1.0)
    assert found is not None
    return found


def test_unseen_tasks_are_ordered_better_than_by_chance(terminal_bench: tuple[ToolDuration, ...]) -> None:
    """0.78 to 0.89 over eight splits; of shuffled durations, which is a broken predictor, 0.48 on average."""
    right, broken = [], []
    for seed in range(3):
        train, test = split_by_task(terminal_bench, 0.3, Random(seed))
        assert not {d.task for d in train} & {d.task for d in test}
        right.append(accuracy(train, test, seed))
        shuffled = [(d.duration_s, d.cut_off) for d in train]
        Random(seed).shuffle(shuffled)
        mixed = [
            duration._replace(duration_s=duration_s, cut_off=cut_off)
            for duration, (duration_s, cut_off) in zip(train, shuffled, strict=True)
        ]
        broken.append(accuracy(mixed, test, seed))
    assert min(right) > 0.7
    assert sum(broken) / 3 < 0.62
