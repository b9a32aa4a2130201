"""What of vLLM's own tests passes on stock vLLM passes with the plugin in it, too."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from keepwarm.vllm.counters import DIRECTORY, read_snapshots
from tests.vllm.own_tests.expected import CACHE, EVERYTHING, OTHER_ORDER, Selection
from tests.vllm.own_tests.run import Outcome, run

MODES = {
    "lru": {"COMPUTECACHE_MODE": "lru"},
    "boundary": {"COMPUTECACHE_MODE": "active", "COMPUTECACHE_RULE": "boundary"},
    "window": {"COMPUTECACHE_MODE": "active", "COMPUTECACHE_RULE": "window"},
    "cachewise": {"KEEPWARM_EVICTION": "cachewise"},
}
# A busy machine is no fault of the policy.
PATIENT = {"COMPUTECACHE_DECISION_BUDGET_US": "60000000"}


@pytest.fixture(scope="session")
def vllm_tests(repository: Path) -> Path:
    """vLLM's own tests, fetched once."""
    folder = repository / "build" / "vllm-tests"
    fetched = importlib.import_module("scripts.fetch_vllm_tests").main(folder)
    assert fetched == 0, "vLLM's own tests cannot be had; they come with its source distribution"
    return folder


@pytest.mark.parametrize(
    "selection", [CACHE, pytest.param(EVERYTHING, marks=pytest.mark.long)], ids=["cache", "everything"]
)
def test_what_passes_on_stock_passes_with_the_plugin(
    vllm_tests: Path, selection: Selection, tmp_path: Path
) -> None:
    stock = run(vllm_tests, selection, {}, tmp_path)
    assert len(stock.passed) >= selection.least_passing, stock.output[-3000:]
    assert stock.pools >= selection.least_pools
    assert stock.hooked_pools == stock.hooked_queues == 0
    for name, settings in MODES.items():
        counters = tmp_path / name
        counters.mkdir()
        hooked = run(vllm_tests, selection, settings | PATIENT | {DIRECTORY: str(counters)}, tmp_path)
        _check_hooked(name, hooked, stock)
        _check_counters(name, counters)
        expected = OTHER_ORDER.get(name, {}).keys() & stock.passed
        assert stock.passed - hooked.passed == expected, hooked.output[-5000:]


def _check_hooked(name: str, hooked: Outcome, stock: Outcome) -> None:
    assert hooked.pools == stock.pools
    assert hooked.hooked_pools > hooked.pools // 2, "the plugin was not in the pools"
    assert hooked.hooked_queues == (0 if name == "lru" else hooked.hooked_pools)


def _check_counters(name: str, directory: Path) -> None:
    """The policy decided, and nothing went wrong in it, though the tests break what they please."""
    values = [snapshot.values for snapshot in read_snapshots(directory)]
    decisions = sum(value["decisions"] for value in values)
    assert (decisions > 0) == (name != "lru")
    faults = {
        kind: value[kind] for value in values for kind in value if kind.startswith("fault_") and value[kind]
    }
    assert not faults
