from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm import ServerOptions, SimulateOptions, Simulation, simulate_cache
from keepwarm._errors import InputError
from keepwarm._json import plain, to_json
from keepwarm.cache.kernels import kernel_policies
from keepwarm.cache.simulation import ReuseHistogram, SimulationRow
from tests.cache.traces import THREE, chat, hashed, write_lines


def simulate(path: Path, *capacities: int, **options: Any) -> Simulation:
    return simulate_cache(str(path), SimulateOptions(capacities_blocks=capacities, store=False, **options))


def only_row(path: Path, capacity: int, policy: str = "lru", **options: Any) -> SimulationRow:
    (row,) = simulate(path, capacity, policies=(policy,), **options).rows
    return row


@pytest.fixture
def three(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "three.jsonl", THREE)


def test_by_hand(three: Path) -> None:
    """Freed tail first, so of the first prompt block 1 outlives the second prompt, which takes 3 and 2.

    The third request may hit 1 and 2, not the last one, and finds 1. It takes 6 and 5. Block 2 is asked for
    again right after the block that took its place was handed out.
    """
    row = only_row(three, 4)
    assert (row.policy, row.capacity_blocks, row.requests) == ("lru", 4, 3)
    assert (row.query_tokens, row.hit_tokens) == (36, 4)
    assert row.hit_rate == pytest.approx(4 / 36)
    assert (row.evicted_blocks, row.evicted_then_requested_blocks) == (4, 1)
    assert row.reuse_after_eviction is not None
    assert row.reuse_after_eviction.p50_blocks == row.reuse_after_eviction.p99_blocks == 1
    assert row.reuse_after_eviction_histogram == ReuseHistogram(up_to_blocks=(1,), blocks=(1,))
    assert row.cut_answers == 0


@pytest.mark.parametrize(
    ("between", "histogram"), [(2, ((1,), (1,))), (3, ((1, 3), (0, 1))), (5, ((1, 3, 7), (0, 0, 1)))]
)
def test_reuse_after_eviction_by_hand(
    tmp_path: Path, between: int, histogram: tuple[tuple[int, ...], tuple[int, ...]]
) -> None:
    """Prompts of two blocks, room for four. The third prompt's second block takes the place of block 1."""
    lines = [hashed([n, 100 + n]) for n in (1, *range(10, 10 + between), 1)]
    row = only_row(write_lines(tmp_path / "again.jsonl", lines), 4)
    found = row.reuse_after_eviction_histogram
    assert found == ReuseHistogram(up_to_blocks=histogram[0], blocks=histogram[1])
    once = write_lines(tmp_path / "once.jsonl", lines[:-1])
    assert only_row(once, 4).reuse_after_eviction_histogram is None


@pytest.mark.parametrize("policy", kernel_policies())
def test_the_histogram_counts_all_that_was_asked_for_again(tmp_path: Path, policy: str) -> None:
    chances = random.Random(5)
    lines = [hashed(sorted(chances.sample(range(1, 40), 4))) for _ in range(200)]
    row = only_row(write_lines(tmp_path / "random.jsonl", lines), 9, policy)
    found, quantiles = row.reuse_after_eviction_histogram, row.reuse_after_eviction
    assert found is not None
    assert quantiles is not None
    assert sum(found.blocks) == row.evicted_then_requested_blocks > 20
    assert found.blocks[-1] > 0
    assert list(found.up_to_blocks) == [2**n - 1 for n in range(1, len(found.blocks) + 1)]
    assert {quantiles.p50_blocks, quantiles.p90_blocks, quantiles.p99_blocks} <= set(found.up_to_blocks)


def test_the_optimum_by_hand(three: Path) -> None:
    """Belady gives up 3, which cannot be hit, and one of the two that can."""
    row = only_row(three, 4, "belady")
    assert (row.hit_tokens, row.evicted_blocks) == (4, 4)
    assert only_row(three, 5, "belady").hit_tokens == 8  # now only 3 has to go
    assert only_row(three, 5).hit_tokens == 8


def test_the_ceiling_by_hand(three: Path) -> None:
    simulation = simulate(three, 4)
    assert (simulation.ceiling.query_tokens, simulation.ceiling.hit_tokens) == (36, 8)
    assert only_row(three, 1000).hit_tokens == 8
    assert only_row(three, 1000).evicted_blocks == 0


def test_output_takes_space_and_never_matches(tmp_path: Path) -> None:
    """Five tokens of answer: four have KV, which is a block of unknown content for each request."""
    path = write_lines(tmp_path / "t.jsonl", [{**record, "output_length": 5} for record in THREE])
    row = only_row(path, 4)
    assert (row.hit_tokens, row.evicted_blocks, row.evicted_then_requested_blocks) == (0, 8, 2)
    assert row.query_tokens == 36  # prompts only
    without = only_row(path, 4, ignore_output=True)
    assert (without.hit_tokens, without.evicted_blocks, without.evicted_then_requested_blocks) == (4, 4, 1)
    # Three prompts in three blocks fit; their answers do not.
    cut = only_row(path, 3)
    assert cut.cut_answers == 3
    assert only_row(path, 3, ignore_output=True).cut_answers == 0


def test_a_hit_is_a_whole_number_of_match_units(three: Path) -> None:
    assert only_row(three, 5, match_unit_tokens=8).hit_tokens == 8
    assert only_row(three, 4, match_unit_tokens=8).hit_tokens == 0  # one block is half a unit
    assert simulate(three, 4, match_unit_tokens=12).ceiling.hit_tokens == 0
    assert simulate(three, 4, match_unit_tokens=8).cache.match_unit_tokens == 8


def test_a_request_may_store_without_looking_up(tmp_path: Path) -> None:
    ids = list(range(32))
    plain_prompt = {"timestamp": 1.0, "body": {"model": "m", "prompt": ids}}
    probing = {"timestamp": 1.0, "body": {"model": "m", "prompt": ids, "prompt_logprobs": 1}}
    path = write_lines(tmp_path / "t.jsonl", [probing, probing, plain_prompt])
    row = only_row(path, 16, block_size=4)
    assert (row.query_tokens, row.hit_tokens) == (96, 28)


def test_usual_capacities_double_until_all_fits(tmp_path: Path) -> None:
    records = [hashed(range(n, n + 5), output=9) for n in (0, 10, 20, 30)]
    simulation = simulate(write_lines(tmp_path / "t.jsonl", records))
    capacities = [row.capacity_blocks for row in simulation.rows if row.policy == "lru"]
    assert capacities == [8, 16, 32]  # 5 the largest prompt; 20 blocks of prompts and 8 of answers
    assert [row.policy for row in simulation.rows[::3]] == ["lru", "computecache", "belady"]
    last = [row for row in simulation.rows if row.capacity_blocks == 32]
    assert {row.evicted_blocks for row in last} == {0}
    assert {row.hit_tokens for row in last} == {simulation.ceiling.hit_tokens}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 3), st.integers(0, 11)),
        min_size=1,
        max_size=10,
    ),
    st.booleans(),
    st.sampled_from([4, 8]),
)
def test_the_last_usual_capacity_reaches_the_ceiling(
    tmp_path_factory: pytest.TempPathFactory,
    prompts: list[tuple[int, int, int, int]],
    ignore_output: bool,
    match_unit_tokens: int,
) -> None:
    """Full hits leave twins, answers and part-blocks take space: all of it has to fit."""
    path = tmp_path_factory.mktemp("usual") / "t.jsonl"
    records = [
        hashed([10 * kind + place for place in range(blocks)], tokens=4 * blocks + rest, output=output)
        for kind, blocks, rest, output in prompts
    ]
    write_lines(path, records)
    simulation = simulate(
        path, policies=("lru",), ignore_output=ignore_output, match_unit_tokens=match_unit_tokens
    )
    *_, last = simulation.rows
    assert (last.evicted_blocks, last.hit_tokens) == (0, simulation.ceiling.hit_tokens)
    assert all(row.hit_tokens <= last.hit_tokens for row in simulation.rows)
    assert last.cut_answers == 0


def test_rows_go_policy_by_policy_as_asked(three: Path) -> None:
    simulation = simulate(three, 9, 4, policies=("sieve", "lru"))
    assert [(row.policy, row.capacity_blocks) for row in simulation.rows] == [
        ("sieve", 9), ("sieve", 4), ("lru", 9), ("lru", 4),
    ]  # fmt: skip


def test_every_policy_stays_below_the_optimum_and_the_ceiling(shared: Path) -> None:
    path = shared / "cases" / "breaks" / "eviction-1.jsonl"
    needed = simulate(path, policies=("lru",)).cache.largest_prompt_blocks
    capacities = [needed, needed + 40, 2 * needed]
    simulation = simulate(path, *capacities, policies=kernel_policies())
    best = {row.capacity_blocks: row.hit_tokens for row in simulation.rows if row.policy == "belady"}
    for row in simulation.rows:
        assert row.hit_tokens <= best[row.capacity_blocks] <= simulation.ceiling.hit_tokens
        assert row.hit_rate == row.hit_tokens / row.query_tokens


@settings(max_examples=30)
@given(
    st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True), min_size=1, max_size=12),
    st.integers(6, 20),
)
def test_lru_never_loses_by_a_block_more(
    tmp_path_factory: pytest.TempPathFactory, prompts: list[list[int]], capacity: int
) -> None:
    path = tmp_path_factory.mktemp("lru") / "t.jsonl"
    write_lines(path, [hashed(ids) for ids in prompts])
    rows = simulate(path, *range(capacity, capacity + 4), policies=("lru",)).rows
    assert all(a.hit_tokens <= b.hit_tokens for a, b in pairwise(rows))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"policies": ("belad",)}, "unknown policy 'belad'; did you mean belady? known are: lru, "),
        ({"policies": ("zzz",)}, "unknown policy 'zzz'; known are: lru, "),
        ({"policies": ("cachewise",)}, "policy 'cachewise' needs sessions; use keepwarm simulate serving"),
        ({"policies": ("lru", "lru")}, "policy 'lru' is named twice"),
        ({"capacities_blocks": (4, 4)}, "capacity of 4 blocks is named twice"),
        ({"capacities_blocks": (0,)}, "capacity of 0 blocks is not positive"),
        ({"capacities_blocks": (-4,)}, "capacity of -4 blocks is not positive"),
        ({"match_unit_tokens": 6}, "match unit of 6 tokens is no multiple of the block size 4; give 4, 8"),
        ({"match_unit_tokens": 0}, "match_unit_tokens 0 is not a positive whole number"),
        ({"sample": 0.0}, "sampling rate 0.0 is not above 0 and at most 1"),
        ({"sample": 1.5}, "sampling rate 1.5"),
        ({"sample": 0.5, "policies": ("belady",)}, "a sample estimates lru only, not belady"),
        ({"sample": 0.5, "kv_events": "events.jsonl"}, "counts no evictions to compare 'events.jsonl' with"),
        ({"sample": 0.5, "match_unit_tokens": 8}, "a sample knows no match unit"),
        ({"block_size": 16}, "holds hashes of blocks of 4 tokens, not of 16"),
        ({"server": ServerOptions(model_config="nowhere.json")}, "nowhere.json"),
        ({"kv_events": "nowhere.jsonl"}, "nowhere.jsonl"),
    ],
)
def test_a_wrong_call_is_one_line(three: Path, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate_cache(str(three), SimulateOptions(**options))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_capacity_below_one_request_names_it(tmp_path: Path) -> None:
    records = [hashed([1]), hashed([1, 2, 3, 4], tokens=17), hashed([1])]
    path = write_lines(tmp_path / "t.jsonl", records)
    with pytest.raises(InputError) as caught:
        simulate(path, 100, 4)
    assert "capacity of 4 blocks is below one request: the prompt at line 2 of " in str(caught.value)
    assert "takes 5 blocks of 4 tokens; give at least 5" in str(caught.value)
    assert simulate(path, 5).rows


def test_threads_and_store_change_nothing(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWARM_CACHE_DIR", str(tmp_path))
    path = str(shared / "cases" / "formats" / "openai-chat.jsonl")

    def document(**options: Any) -> bytes:
        return to_json(plain(simulate_cache(path, SimulateOptions(**options))))

    anew = document(store=False, threads=1)
    assert not list(tmp_path.rglob("*.parquet"))
    assert document(threads=4) == anew
    assert len(list(tmp_path.rglob("*.parquet"))) == 1
    assert document(threads=3) == anew


def test_recorded_hits_leave_a_residual(tmp_path: Path) -> None:
    ids = list(range(16))
    record = chat("x", cached_tokens=0)
    prompts = [
        {**record, "body": {"model": "m", "prompt": ids}},
        {**chat("x", cached_tokens=12), "body": {"model": "m", "prompt": ids}},
        {**chat("x", cached_tokens=4), "body": {"model": "m", "prompt": ids}},
        {"timestamp": 1.0, "body": {"model": "m", "prompt": ids}},
    ]
    hits = only_row(write_lines(tmp_path / "t.jsonl", prompts), 100, block_size=4).recorded_hits
    assert hits is not None
    assert (hits.requests, hits.query_tokens, hits.equal_requests) == (3, 48, 2)
    assert (hits.recorded_tokens, hits.simulated_tokens, hits.residual_tokens) == (16, 24, -8)
    (worst,) = hits.worst
    assert (worst.line, worst.recorded_tokens, worst.simulated_tokens) == (3, 4, 12)


def test_without_recorded_hits_there_is_no_residual(three: Path) -> None:
    assert only_row(three, 4).recorded_hits is None


def test_recorded_events_are_compared(three: Path, tmp_path: Path) -> None:
    stored = [{"type": "BlockStored", "block_hashes": list(range(n, n + 3)), "block_size": 4} for n in (0, 3)]
    removed = [{"type": "BlockRemoved", "block_hashes": [2, 1]}]
    events = write_lines(tmp_path / "events.jsonl", [*stored, *removed])
    simulation = simulate(three, 4, policies=("lru",), kv_events=str(events))
    assert simulation.kv_events is not None
    assert (simulation.kv_events.stored_blocks, simulation.kv_events.removed_blocks) == (6, 2)
    found = simulation.rows[0].recorded_events
    assert found is not None
    assert (found.simulated_stored_blocks, found.stored_residual_blocks) == (8, -2)
    assert (found.simulated_evicted_blocks, found.evicted_residual_blocks) == (4, -2)


MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072,
}


def test_a_gpu_becomes_a_capacity(three: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(MODEL))
    server = ServerOptions(model_config=str(config), gpu="H100")
    simulation = simulate(three, 4, policies=("lru",), server=server)
    assert simulation.server is not None
    blocks = simulation.server.usable_blocks
    assert [row.capacity_blocks for row in simulation.rows] == [4, blocks]
    # 32 layers of 8 heads of 128 keys and values of two bytes: 128 KiB a token.
    assert simulation.server.bytes_per_block == 4 * 128 * 1024
    assert simulation.rows[0].kv_gib == 5 * 512 / 1024**2
    shape_only = simulate(three, 4, server=msgspec.structs.replace(server, gpu=None))
    assert shape_only.server is None
    assert shape_only.rows[0].kv_gib == simulation.rows[0].kv_gib


def test_a_hybrid_model_is_refused_before_the_work(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("keepwarm.cache.simulate.load_trace")
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**MODEL, "model_type": "jamba", "architectures": ["JambaForCausalLM"]}))
    with pytest.raises(InputError, match=r"config\.json"):
        simulate(three, 4, server=ServerOptions(model_config=str(config)))
    config.write_text(json.dumps(MODEL))
    with pytest.raises(InputError, match="H1000"):
        simulate(three, 4, server=ServerOptions(model_config=str(config), gpu="H1000"))


@pytest.mark.parametrize(
    "settings",
    [
        {"gpu": "H100", "gpu_memory_utilization": 0.0},
        {"gpu_memory_utilization": float("nan")},
        {"weights_gib": float("nan")},
        {"gpu_memory_gib": 1e300},
        {"tensor_parallel": 3},
        {"kv_cache_dtype": "int3"},
    ],
)
def test_an_impossible_server_is_refused_before_the_work(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    monkeypatch.delattr("keepwarm.cache.simulate.load_trace")
    config = tmp_path / "config.json"
    config.write_text(json.dumps(MODEL))
    with pytest.raises(InputError):
        simulate(three, 4, server=ServerOptions(model_config=str(config), **settings))


def test_a_curve_comes_with_the_optimum(three: Path) -> None:
    simulation = simulate(three, 4, policies=("lru",), curve=True)
    assert simulation.curve is not None
    assert [policy.policy for policy in simulation.curve.policies] == ["lru", "belady"]
    assert simulation.curve.ceiling == simulation.ceiling
    lru = simulation.curve.policies[0]
    assert [size.capacity_blocks for size in lru.sizes] == [5, 5, 5]
    assert simulate(three, 4).curve is None


def test_a_sample_takes_the_place_of_rows(three: Path) -> None:
    simulation = simulate(three, 4, 6, sample=1.0)
    assert simulation.rows == ()
    assert simulation.sampled_curve is not None
    assert [point.capacity_blocks for point in simulation.sampled_curve.points] == [4, 6]
    assert simulation.sampled_curve.ceiling_hit_tokens == simulation.ceiling.hit_tokens
