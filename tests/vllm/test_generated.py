"""Streams that Hypothesis makes up, and makes small when something differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm.serving.base import ServerConfig
from tests.vllm.lockstep import Lockstep
from tests.vllm.real import Call

Event = Callable[[Lockstep, list[Call]], object]


@st.composite
def configs(draw: st.DrawFn) -> ServerConfig:
    block_size = draw(st.sampled_from([8, 16, 32, 64]))
    capacity_blocks = draw(st.integers(2, 24))
    tokens = draw(st.integers(block_size + 2, capacity_blocks * block_size))
    running = draw(st.integers(1, 8))
    return ServerConfig(
        block_size,
        capacity_blocks,
        tokens,
        running,
        step_tokens=draw(st.integers(running, 8 * block_size)),
        long_prefill_tokens=draw(st.just(0) | st.integers(1, tokens)),
        watermark=draw(st.just(0.0) | st.floats(0, 0.9)),
    )


@st.composite
def arrivals(draw: st.DrawFn) -> Event:
    """A prompt of blocks of few contents, or the next turn of an earlier request, and something behind it."""
    parent, contents = draw(st.integers(0, 5)), draw(st.lists(st.integers(0, 2), max_size=6))
    tail, answer = draw(st.lists(st.integers(0, 1), min_size=1, max_size=9)), draw(st.integers(1, 70))
    keys = draw(
        st.fixed_dictionaries(
            {
                "salt": st.sampled_from([None, None, "a"]),
                "lora": st.sampled_from([None, None, "a"]),
                "skip_reads": st.sampled_from([False, False, True]),
            }
        )
    )

    def arrive(both: Lockstep, calls: list[Call]) -> None:
        earlier = calls[-parent] if 0 < parent <= len(calls) else None
        prompt = earlier.prompt + earlier.output if earlier else []
        prompt = prompt + [content for content in contents for _ in range(both.config.block_size)] + tail
        prompt = prompt[: both.config.max_request_tokens - 1]
        call = Call(f"r{len(calls)}", prompt, [len(prompt) % 3] * answer, **keys)
        calls.append(call)
        both.add(call)

    return arrive


def steps(count: int) -> Event:
    return lambda both, calls: [both.step() for _ in range(count)]


def aborts(back: int) -> Event:
    return lambda both, calls: both.abort(calls[-back].id) if back <= len(calls) else None


def resets(preempt_running: bool) -> Event:
    return lambda both, calls: both.reset_cache(preempt_running=preempt_running)


EVENTS = st.one_of(
    arrivals(),
    arrivals(),
    st.integers(1, 4).map(steps),
    st.integers(5, 40).map(steps),
    st.integers(1, 6).map(aborts),
    st.booleans().map(resets),
    st.just(lambda both, calls: both.drain()),
)


def compare(config: ServerConfig, events: list[Event]) -> Counter[str]:
    both, calls = Lockstep(config), list[Call]()
    for event in events:
        event(both, calls)
    both.drain()
    return both.counts


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(config=configs(), events=st.lists(EVENTS, max_size=40))
def test_generated_streams(config: ServerConfig, events: list[Event], totals: Counter[str]) -> None:
    totals.update(compare(config, events))


@pytest.mark.long
@settings(max_examples=5000, deadline=None, suppress_health_check=list(HealthCheck))
@given(config=configs(), events=st.lists(EVENTS, max_size=80))
def test_more_generated_streams(config: ServerConfig, events: list[Event], totals: Counter[str]) -> None:
    totals.update(compare(config, events))
