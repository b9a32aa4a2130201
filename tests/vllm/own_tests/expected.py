"""Which of vLLM's own tests are run, how many pass, and which may fail in ``active``, and why."""

from __future__ import annotations

from typing import NamedTuple


class Selection(NamedTuple):
    """Files and folders below vLLM's tests/v1, and how many of their tests pass without the plugin."""

    paths: tuple[str, ...]
    least_passing: int
    least_pools: int


# Block pool and prefix caching.
CACHE = Selection(
    (
        "core/prefix_cache/test_partial_prefix_cache_hits.py",
        "core/prefix_cache/test_partial_prefix_cache_primitives.py",
        "core/test_kv_cache_metrics.py",
        "core/test_prefix_caching.py",
        "core/test_single_type_kv_cache_manager.py",
    ),
    least_passing=428,
    least_pools=300,
)
# And KV-cache utilities, the scheduler, hybrid caches and offloading: all above the pool that needs no model.
EVERYTHING = Selection(
    (
        *CACHE.paths,
        "core/prefix_cache/test_mamba_eagle_resume_checkpoint.py",
        "core/test_async_scheduler.py",
        "core/test_contiguous_kv_packing.py",
        "core/test_deferred_block_free.py",
        "core/test_kv_cache_utils.py",
        "core/test_kv_sharing.py",
        "core/test_mamba_align_chunk_split.py",
        "core/test_prefix_replay.py",
        "core/test_scheduler.py",
        "core/test_swa_inflight_window_free.py",
        "core/test_worker_slot_overflow.py",
        "simple_kv_offload/test_kv_events.py",
        "simple_kv_offload/test_scheduler.py",
    ),
    least_passing=987,
    least_pools=944,
)

# It gives a process of its own 60 s to import vLLM, which says nothing about blocks.
LEFT_OUT = "tests/v1/core/test_kv_cache_utils.py::test_is_kv_cache_spec_uniform"

_PREFIX_CACHING = "tests/v1/core/test_prefix_caching.py::"
_HISPARSE = f"{_PREFIX_CACHING}test_hisparse_prefix_hit_under_pressure_adopts_surviving_copies"
_WATCHED_LAST = "asserts that a watched block is taken before blocks freed later; here watched ones stay last"
_SHALLOW_FIRST = (
    "asserts that a prompt's tail is taken first; the window takes the least depth of what was never hit"
)
_PREEMPTIONS = [
    f"tests/v1/core/test_scheduler.py::test_kv_connector_handles_preemption[{with_encoder}-{encoder}-{loads}]"
    for with_encoder, encoder in (("False", "None"), ("True", "ec_consumer"))
    for loads in ("False-False", "False-True", "True-False", "True-True")
]

# Tests that assert the order of stock LRU where the rule has another, by rule: test, then reason.
OTHER_ORDER: dict[str, dict[str, str]] = {
    "boundary": {f"{_HISPARSE}[10-adopted_pages1]": _WATCHED_LAST},
    "cachewise": {f"{_HISPARSE}[10-adopted_pages1]": _WATCHED_LAST},
    "window": {
        f"{_HISPARSE}[10-adopted_pages1]": _WATCHED_LAST,
        f"{_HISPARSE}[7-adopted_pages0]": _SHALLOW_FIRST,
        f"{_PREFIX_CACHING}test_prefill[sha256]": _SHALLOW_FIRST,
        f"{_PREFIX_CACHING}test_prefill[sha256_cbor]": _SHALLOW_FIRST,
        **dict.fromkeys(_PREEMPTIONS, _SHALLOW_FIRST),
        "tests/v1/simple_kv_offload/test_scheduler.py::test_lru_eviction_order": _SHALLOW_FIRST,
    },
}
