"""The step loop by itself; tests/vllm holds it against vLLM's own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.cache.pool import BlockPool
from keepwarm.policies import POLICIES
from keepwarm.policies.base import BlockHash, CachedBlock, VictimOrder
from keepwarm.policies.lru import Lru
from keepwarm.serving.base import RequestId, ServerConfig, ServerRequest, StepResult
from keepwarm.serving.engine import Engine

BLOCK = 4


def engine_of(capacity_blocks: int = 16, policy: VictimOrder | None = None, **limits: int | float) -> Engine:
    settings = {"max_request_tokens": capacity_blocks * BLOCK, "step_tokens": 256, **limits}
    config = ServerConfig(BLOCK, capacity_blocks, **settings)  # type: ignore[arg-type]
    return Engine(config, BlockPool(capacity_blocks, Lru(capacity_blocks) if policy is None else policy))


def request(
    name: str, prompt: int, output: int = 1, blocks: Sequence[int] = (), **keys: bool
) -> ServerRequest:
    return ServerRequest(RequestId(name), prompt, output, [BlockHash(block) for block in blocks], **keys)


def run(engine: Engine) -> list[StepResult]:
    """Step until nothing is there any more."""
    results = []
    while len(engine):
        results.append(engine.step())
        engine.pool.check_integrity(state.table for state in engine.running)
        assert results[-1].scheduled
    return results


def test_a_request_is_prefilled_decoded_and_freed() -> None:
    engine = engine_of()
    engine.add(request("a", prompt=6, output=3, blocks=[1, 2]))
    results = run(engine)
    assert [result.scheduled for result in results] == [{"a": 6}, {"a": 1}, {"a": 1}]
    assert results[-1].finished == ["a"]
    assert engine.pool.free_blocks == 16
    assert engine.pool.lookup([BlockHash(1), BlockHash(2)]) == [1, 2]  # 8 tokens known and computed


def test_chunks_keep_to_the_budget_and_decodes_come_first() -> None:
    engine = engine_of(step_tokens=6)
    engine.add(request("short", prompt=4, output=3))
    engine.add(request("long", prompt=11))
    assert [result.scheduled for result in run(engine)] == [
        {"short": 4, "long": 2},
        {"short": 1, "long": 5},
        {"short": 1, "long": 4},
    ]


def test_a_long_prompt_is_capped_only_beside_others() -> None:
    engine = engine_of(long_prefill_tokens=3)
    engine.add(request("alone", prompt=9))
    assert engine.step().scheduled == {"alone": 9}
    engine.add(request("one", prompt=5))
    engine.add(request("other", prompt=5))
    assert [result.scheduled for result in run(engine)] == [{"one": 3, "other": 3}, {"one": 2, "other": 2}]


def test_the_watermark_holds_for_joining_not_for_the_first() -> None:
    engine = engine_of(capacity_blocks=9, watermark=0.3)  # 3 of 10 blocks
    engine.add(request("first", prompt=16, output=2))
    engine.add(request("joins", prompt=8))
    engine.add(request("waits", prompt=8))
    assert list(engine.step().scheduled) == ["first", "joins"]
    assert engine.config.watermark_blocks == 3


def test_the_last_admitted_is_preempted_resumes_in_front_and_hits_its_own_blocks() -> None:
    engine = engine_of(capacity_blocks=4, max_running_requests=2)
    engine.add(request("first", prompt=8, output=5))
    engine.add(request("last", prompt=4, output=6))
    engine.add(request("new", prompt=4))
    results = run(engine)
    preempted = next(index for index, result in enumerate(results) if result.preempted)
    assert results[preempted].preempted == ["last"]
    assert list(results[preempted].scheduled) == ["first"]
    resumed = next(result for result in results[preempted + 1 :] if "last" in result.hit_tokens)
    assert resumed.hit_tokens["last"] == 4  # its block of unknown content too: it is its own
    assert list(resumed.hit_tokens) == ["last", "new"]
    assert engine.lookups.requests == 3
    assert engine.lookups.query_tokens == 16
    assert (engine.lookups.resumed_requests, engine.lookups.resumed_hit_tokens) == (1, 4)


class Told(Lru):
    """An order that remembers of which admissions and hits it was told."""

    def __init__(self, capacity_blocks: int) -> None:
        super().__init__(capacity_blocks)
        self.admitted: list[list[BlockHash]] = []
        self.hits = 0

    def on_admit(self, asked: Sequence[BlockHash]) -> None:
        self.admitted.append(list(asked))

    def on_hit(self, block: CachedBlock, *, was_free: bool) -> None:
        self.hits += 1
        super().on_hit(block, was_free=was_free)


def test_the_policy_hears_of_the_first_admission_only_and_of_every_hit() -> None:
    told = Told(4)
    engine = engine_of(capacity_blocks=4, policy=told)
    engine.add(request("first", prompt=8, output=5, blocks=[1, 2]))
    engine.add(request("last", prompt=5, output=5, blocks=[3]))
    assert sum(len(result.preempted) for result in run(engine)) == 1
    assert told.admitted == [[1], [3]]
    assert told.hits == 1


def test_skipping_reads_asks_for_nothing_and_is_not_counted() -> None:
    told = Told(16)
    engine = engine_of(policy=told)
    engine.add(request("a", prompt=9, blocks=[1, 2]))
    run(engine)
    engine.add(request("b", prompt=9, blocks=[1, 2], skip_reads=True))
    assert run(engine)[0].hit_tokens == {"b": 0}
    assert told.admitted == [[1, 2], []]
    assert engine.lookups.requests == 1


def test_aborting_frees_what_runs_and_forgets_what_waits() -> None:
    engine = engine_of(max_running_requests=1)
    for name in ("runs", "waits", "last"):
        engine.add(request(name, prompt=8, output=9))
    engine.step()
    assert engine.abort(RequestId("waits"))
    assert engine.abort(RequestId("runs"))
    assert not engine.abort(RequestId("runs"))
    assert engine.pool.free_blocks == 16
    assert list(engine.step().scheduled) == ["last"]


def test_a_reset_is_refused_while_requests_run_unless_it_preempts_them() -> None:
    engine = engine_of()
    for name in ("a", "b"):
        engine.add(request(name, prompt=8, output=4, blocks=[1, 2]))
    engine.step()
    assert not engine.reset_cache()
    assert engine.reset_cache(preempt_running=True)
    result = engine.step()
    assert result.preempted == ["b", "a"]
    assert list(result.scheduled) == ["a", "b"]
    assert engine.step().preempted == []


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (request("there", prompt=4), "there already"),
        (request("a", prompt=0), "empty prompt"),
        (request("a", prompt=4, output=0), "empty prompt or answer"),
        (request("a", prompt=100), "max_request_tokens"),
        (request("a", prompt=60, output=40), "capacity_blocks"),
    ],
)
def test_what_a_server_would_never_finish_is_refused(made: ServerRequest, words: str) -> None:
    engine = engine_of(capacity_blocks=16, max_request_tokens=100)
    engine.add(request("there", prompt=4))
    with pytest.raises(InputError, match=words):
        engine.add(made)
    assert len(engine) == 1


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"step_tokens": 0}, "step_tokens is 0"),
        ({"max_running_requests": 0}, "max_running_requests"),
        ({"max_request_tokens": -1}, "max_request_tokens"),
        ({"long_prefill_tokens": -1}, "long_prefill_tokens"),
        ({"watermark": 1.0}, "watermark is 1.0"),
    ],
)
def test_limits_no_server_could_have_are_refused(limits: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        engine_of(**limits)


def test_a_pool_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="pool of 3"):
        Engine(ServerConfig(BLOCK, 4, 16), BlockPool(3, Lru(3)))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@given(
    requests=st.lists(
        st.tuples(st.integers(1, 30), st.integers(1, 12), st.integers(0, 7), st.booleans()), max_size=12
    ),
    capacity_blocks=st.integers(11, 20),
    step_tokens=st.integers(1, 40),
    running=st.integers(1, 5),
    watermark=st.sampled_from([0.0, 0.4]),
)
def test_every_request_ends_and_all_blocks_come_back_under_every_policy(
    policy: type[VictimOrder],
    requests: list[tuple[int, int, int, bool]],
    capacity_blocks: int,
    step_tokens: int,
    running: int,
    watermark: float,
) -> None:
    limits = {"step_tokens": step_tokens, "max_running_requests": running, "watermark": watermark}
    engine = engine_of(capacity_blocks, policy(capacity_blocks), **limits)
    for index, (prompt, output, known, skip) in enumerate(requests):
        blocks = [1000 * (index % 2) + depth for depth in range(known)]
        engine.add(request(f"r{index}", prompt, output, blocks, skip_reads=skip))
    results = run(engine)
    assert sorted(name for result in results for name in result.finished) == sorted(
        f"r{index}" for index in range(len(requests))
    )
    assert all(sum(result.scheduled.values()) <= step_tokens for result in results)
    assert engine.pool.free_blocks == capacity_blocks
    assert engine.lookups.requests == sum(not skip for *_, skip in requests)
