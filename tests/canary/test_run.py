from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from keepwarm._errors import GateRefusal, InputError, ServerError
from keepwarm.canary.options import CanaryOptions
from keepwarm.canary.record import CanaryRecord, canary_document, gate
from keepwarm.canary.run import run_canary
from keepwarm.canary.runs import Run
from tests.canary.fakes import (
    ACTIVE_TOKENS,
    Bench,
    FakeAdapter,
    baseline_run,
    candidate_run,
    plugin_metrics,
)

LRU = {"COMPUTECACHE_MODE": "lru"}


def canary(
    adapter: FakeAdapter,
    *runs: Run | BaseException,
    keep: Callable[[CanaryRecord], None] | None = None,
    **options: Any,
) -> CanaryRecord:
    kept: list[CanaryRecord] = []
    record = run_canary(
        adapter,
        CanaryOptions(**options),
        Bench(adapter, *runs).instruments(),
        keep=keep or kept.append,
        say=lambda line: None,
    )
    assert keep is not None or kept == [record]
    return record


def test_accepted() -> None:
    adapter = FakeAdapter()
    record = canary(adapter, baseline_run(), candidate_run(), baseline_run())
    assert record.accepted
    assert (record.final.mode, record.final.left_running) == ("active", False)
    assert record.reasons() == []
    assert record.model.name == "smollm2"  # not the path
    assert adapter.events == ["start lru", "start active", "start lru", "stop"]
    gate(record.accepted, record.reasons(), "")


def test_the_rollback_changes_the_mode_and_nothing_else() -> None:
    adapter = FakeAdapter()
    record = canary(
        adapter, baseline_run(), candidate_run(), baseline_run(), candidate={"COMPUTECACHE_RULE": "window"}
    )
    assert adapter.events == ["start lru", "start window active", "start window lru", "stop"]
    assert record.settings == {"COMPUTECACHE_RULE": "window", "COMPUTECACHE_MODE": "active"}
    assert record.drill.run is not None
    assert record.drill.run.settings == {"COMPUTECACHE_RULE": "window", "COMPUTECACHE_MODE": "lru"}


def test_refused_is_rolled_back_recorded_and_stopped() -> None:
    adapter = FakeAdapter()
    record = canary(adapter, baseline_run(), candidate_run(cached=(0,) * 7), baseline_run())
    assert (record.accepted, record.final.mode, record.drill.passed) == (False, "lru", True)
    assert [reason.code for reason in record.reasons()] == ["gain"]
    assert adapter.events[-2:] == ["start lru", "stop"]
    with pytest.raises(GateRefusal, match="gain"):
        gate(record.accepted, record.reasons(), "the candidate is not accepted")


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (baseline_run(failed=1), "served"),
        (baseline_run(cached=(800, 800, 0, 0, 0, 0, 0)), "same-cached-tokens"),
        (baseline_run(cached=ACTIVE_TOKENS), "same-cached-tokens"),
        (baseline_run(warm_prefix_cached_tokens=784), "same-cached-tokens"),
        (baseline_run(texts=tuple("abcdefg")), "same-text"),
        (
            Run(settings=LRU, plugin=plugin_metrics(mode="active"), pressure=baseline_run().pressure),
            "in-effect",
        ),
        (
            Run(settings=LRU, plugin=plugin_metrics(reordered_decisions=1), pressure=baseline_run().pressure),
            "same-order",
        ),
        (
            Run(settings=LRU, plugin=plugin_metrics(faults={"hit": 1}), pressure=baseline_run().pressure),
            "faultless",
        ),
        (ServerError("the rolled back server died"), "comes-back"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_failed_drill_refuses(after: Run | ServerError, code: str) -> None:
    adapter = FakeAdapter()
    record = canary(adapter, baseline_run(), candidate_run(), after, leave_running=True)
    assert record.decision.accepted
    assert not record.drill.passed
    assert not record.accepted
    assert [reason.code for reason in record.reasons()] == [code]
    assert (record.final.mode, record.final.left_running) == ("lru", False)
    assert adapter.mode == "stopped"


def test_a_candidate_that_does_not_start_is_refused_and_rolled_back() -> None:
    def refuses(settings: Mapping[str, str]) -> ServerError | None:
        return ServerError("no") if settings["COMPUTECACHE_MODE"] == "active" else None

    adapter = FakeAdapter(refuses)
    record = canary(adapter, baseline_run(), candidate_run(), baseline_run(), leave_running=True)
    assert record.candidate is None
    assert [reason.code for reason in record.reasons()] == ["served"]
    assert adapter.mode == "lru"
    assert canary_document(record)["candidate"] is None


def test_a_candidate_that_dies_under_pressure_is_refused() -> None:
    adapter = FakeAdapter()
    record = canary(adapter, baseline_run(), ServerError("died"), baseline_run())
    assert (record.candidate, record.accepted, record.drill.passed) == (None, False, True)
    assert adapter.mode == "stopped"


def test_left_running_in_the_mode_it_ends_with() -> None:
    accepted, refused = FakeAdapter(), FakeAdapter()
    runs = (baseline_run(), candidate_run(), baseline_run(), candidate_run())
    record = canary(accepted, *runs, leave_running=True)
    assert (record.accepted, record.final.left_running, accepted.mode) == (True, True, "active")
    assert accepted.events == ["start lru", "start active", "start lru", "start active"]
    record = canary(refused, baseline_run(), candidate_run(failed=1), baseline_run(), leave_running=True)
    assert (record.accepted, record.final.left_running, refused.mode) == (False, True, "lru")


def test_accepted_but_not_started_again_ends_in_lru() -> None:
    class Once(FakeAdapter):
        def start(self, settings: Mapping[str, str]) -> None:
            super().start(settings)
            if self.events.count("start active") == 2 and settings["COMPUTECACHE_MODE"] == "active":
                self.settings = None
                raise ServerError("out of memory")

    adapter = Once()
    runs = (baseline_run(), candidate_run(), baseline_run(), candidate_run(), baseline_run())
    record = canary(adapter, *runs, leave_running=True)
    assert not record.accepted
    assert [reason.code for reason in record.reasons()] == ["starts-to-stay"]
    assert (record.final.mode, record.final.left_running, adapter.mode) == ("lru", True, "lru")


@pytest.mark.parametrize("stage", [1, 2, 3, 4])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a bug")], ids=["interrupt", "bug"])
@pytest.mark.parametrize("where", ["start", "pressure"])
def test_an_exception_at_any_stage_leaves_nothing_active(
    stage: int, error: BaseException, where: str
) -> None:
    runs: list[Run | BaseException] = [baseline_run(), candidate_run(), baseline_run(), candidate_run()]
    adapter = FakeAdapter()
    if where == "start":
        adapter = FakeAdapter(lambda _: error if adapter.starts == stage else None)
    else:
        runs[stage - 1] = error
    if where == "pressure" and stage == 4:  # the last start is only asked for its mode
        record = canary(adapter, *runs, leave_running=True)
        assert not record.accepted
    else:
        with pytest.raises(type(error)):
            canary(adapter, *runs, leave_running=True)
    assert adapter.mode in ("stopped", "lru")


def test_a_record_that_cannot_be_kept_leaves_nothing_active() -> None:
    def keep(record: CanaryRecord) -> None:
        raise InputError("the disk is full")

    adapter = FakeAdapter()
    with pytest.raises(InputError, match="disk"):
        canary(adapter, baseline_run(), candidate_run(), baseline_run(), candidate_run(), keep=keep,
               leave_running=True)  # fmt: skip
    assert adapter.mode == "stopped"


@pytest.mark.parametrize(
    ("baseline", "says"),
    [
        (Run(settings=LRU, plugin=plugin_metrics(mode="none"), pressure=baseline_run().pressure), "'none'"),
        (baseline_run(failed=3), "3 of the baseline's requests failed: HTTP 500"),
        (ServerError("not there"), "not there"),
    ],
)
def test_without_a_baseline_there_is_no_canary(baseline: Run | ServerError, says: str) -> None:
    adapter = FakeAdapter()
    with pytest.raises(ServerError, match=says):
        canary(adapter, baseline)
    assert adapter.events == ["start lru", "stop"]
