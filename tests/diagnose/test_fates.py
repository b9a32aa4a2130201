"""Fates of tokens: what a few requests of known kinds come to, and what holds for any traffic."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm.diagnose.fates import add_fates
from keepwarm.diagnose.findings import TokenFates
from keepwarm.trace.records import HashedPrompt, Request
from tests.diagnose.building import LONG, accounts_of, chat, request, traffic_of

FATES = ("hit", "forced", "partial", "cold", "diverged", "evicted")


def fates(items: list[Request], **options: Any) -> list[TokenFates]:
    return list(accounts_of(traffic_of(items, **options)).fates)


def asked(number: int, ask: str, system: str, **fields: Any) -> Request:
    return request(number, chat(ask, system=system), **{"session": f"s{number}", **fields})


def test_the_first_request_is_cold() -> None:
    (only,) = fates([asked(0, "Ask?", LONG * 3)])
    assert only.hit == only.forced == only.diverged == only.evicted == 0
    assert only.cold == only.prompt - only.partial


def test_a_new_question_behind_shared_text_is_cold_and_nothing_is_lost() -> None:
    _, second = fates(
        [
            asked(0, "Room for nine metres?", LONG * 3),
            asked(1, "Fuel before noon, and who sells shackles of steel on Sundays?", LONG * 3),
        ]
    )
    assert second.hit > 0
    assert second.diverged < 16  # the template's frame and a block that holds both
    assert second.cold > 0


def test_shared_text_behind_a_break_has_diverged() -> None:
    _, second = fates([asked(0, "Ask?", f"08:12\n{LONG * 3}"), asked(1, "Ask?", f"09:40\n{LONG * 3}")])
    assert second.hit == 0
    assert second.diverged > 0.8 * second.prompt


def test_text_of_another_call_site_is_not_lost_to_this_one() -> None:
    other = "Write a title of at most five words for this talk, without quotation marks, in plain words."
    items = [asked(0, "Ask?", f"A\n{LONG * 2}"), asked(1, LONG * 2, other)]
    accounts = accounts_of(traffic_of(items))
    assert len(accounts.sites) == 2
    assert accounts.fates[1].diverged == 0


def whole_blocks(blocks: int) -> Request:
    """A prompt that ends with its last block."""
    return request(0, prompt_token_ids=list(range(16 * blocks)), messages=chat("x"))


def test_an_otherwise_full_hit_recomputes_its_last_block() -> None:
    first, second = fates([whole_blocks(4), whole_blocks(4)])
    assert (first.cold, first.partial) == (64, 0)
    assert (second.hit, second.forced, second.cold) == (48, 16, 0)


def test_a_trailing_part_block_is_partial_and_not_forced() -> None:
    item = request(0, chat("x"), prompt_token_ids=list(range(70)))
    _, second = fates([item, item])
    assert (second.hit, second.forced, second.partial) == (64, 0, 6)


def test_what_capacity_took_is_evicted() -> None:
    items = [request(n, chat("x"), prompt_token_ids=[n % 2 * 1000 + i for i in range(80)]) for n in range(4)]
    bounded = fates(items, capacity_blocks=5)
    assert [item.evicted for item in bounded] == [0, 0, 64, 64]
    assert [item.hit for item in fates(items)] == [0, 0, 64, 64]


@pytest.mark.parametrize("params", [[{"cache_salt": "a"}, {"cache_salt": "b"}], [{}, {"prompt_logprobs": 0}]])
def test_what_a_parameter_keeps_from_being_shared_has_diverged(params: list[dict[str, Any]]) -> None:
    _, second = fates([asked(n, "Ask?", LONG * 3, params=given) for n, given in enumerate(params)])
    assert second.hit == 0
    assert second.diverged > 0.9 * (second.prompt - second.partial - second.forced)


def test_another_model_has_diverged() -> None:
    _, second = fates([asked(n, "Ask?", LONG * 3, model=f"m{n}") for n in range(2)])
    assert second.hit == 0
    assert second.diverged > 0.9 * (second.prompt - second.partial - second.forced)


WORDS = st.sampled_from(["fog", "tide", "rope", "bell", LONG, LONG[::-1]])
ITEMS = st.builds(
    lambda session, model, texts, params: (session, model, texts, params),
    st.sampled_from(["a", "b", None]),
    st.sampled_from(["m", "m", "n"]),
    st.lists(WORDS, min_size=1, max_size=5),
    st.sampled_from([{}, {}, {"cache_salt": "x"}, {"prompt_logprobs": 1}]),
)


@settings(max_examples=60)
@given(
    st.lists(ITEMS, min_size=1, max_size=7), st.sampled_from([1, 4, 16]), st.sampled_from([None, 3, 12, 40])
)
def test_six_fates_add_up_and_a_token_is_left_to_compute(
    given_items: list[tuple[str | None, str, list[str], dict[str, Any]]],
    block_size: int,
    capacity: int | None,
) -> None:
    items = [
        request(n, chat(*texts, system="Log."), session=session, model=model, params=params)
        for n, (session, model, texts, params) in enumerate(given_items)
    ]
    for item in fates(items, block_size=block_size, capacity_blocks=capacity):
        assert sum(getattr(item, name) for name in FATES) == item.prompt
        assert min(getattr(item, name) for name in FATES) >= 0
        assert item.hit <= max(0, item.prompt - 1)
        assert item.hit % block_size == item.forced % block_size == 0
        assert item.partial < block_size
        assert item.evicted == 0 or capacity is not None


@given(
    st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 40)), min_size=1, max_size=6),
    st.sampled_from([None, 2, 8]),
)
def test_fates_of_hashed_prompts_add_up(prompts: list[tuple[list[int], int]], capacity: int | None) -> None:
    items = [
        request(n, hashed=HashedPrompt(hash_ids=ids, block_size=8, input_tokens=tokens))
        for n, (ids, tokens) in enumerate(prompts)
    ]
    for item in fates(items, block_size=8, capacity_blocks=capacity):
        assert sum(getattr(item, name) for name in FATES) == item.prompt
        assert min(getattr(item, name) for name in FATES) >= 0
        assert item.hit <= max(0, item.prompt - 1)


def test_sums() -> None:
    one = TokenFates(prompt=10, hit=3, forced=1, partial=2, cold=1, diverged=2, evicted=1)
    assert add_fates([]) == TokenFates()
    assert add_fates([one, one]) == TokenFates(
        prompt=20, hit=6, forced=2, partial=4, cold=2, diverged=4, evicted=2
    )
