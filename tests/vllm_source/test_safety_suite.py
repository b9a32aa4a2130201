"""The suite that is installed beside the policy, on the package as it is and on the module made from it."""

from __future__ import annotations

import subprocess
import sys
import types
import unittest
from pathlib import Path

import pytest

import keepwarm.vllm.source.test_computecache_safety as suite
from keepwarm.vllm import counters, pool, settings
from keepwarm.vllm.source import install
from keepwarm.vllm.source.policy_module import policy_module

TESTS = 14


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """What the suite asks of the policy module, from the modules that it is made of."""
    names = vars(counters) | vars(settings) | vars(pool)
    package = types.SimpleNamespace(**{name: value for name, value in names.items() if name[:2] != "__"})
    monkeypatch.setattr(suite, "policy", package)
    return package


def run(*, failfast: bool = False) -> unittest.TestResult:
    result = unittest.TestResult()
    result.failfast = failfast
    unittest.defaultTestLoader.loadTestsFromModule(suite).run(result)
    return result


def test_the_package_passes(package: types.SimpleNamespace) -> None:
    result = run()
    assert result.wasSuccessful(), [*result.failures, *result.errors]
    assert result.testsRun == TESTS


def test_a_patched_tree_passes_without_keepwarm(tree: Path) -> None:
    path = install(str(tree)).added[-1]
    command = [sys.executable, "-I", "-S", "-B", str(tree / path)]
    answer = subprocess.run(command, capture_output=True, text=True, cwd="/")
    assert answer.returncode == 0, answer.stderr
    assert f"Ran {TESTS} tests" in answer.stderr


BROKEN = {
    "nothing is protected": (" in hit_blocks:", " in ():"),
    "lru reorders": ('if settings.mode == "active":', "if True:"),
    "unknown modes are active": (
        '{"lru": "lru", "active": "active"}, "lru"',
        '{"active": "active"}, "active"',
    ),
    "watched blocks are cached ones": ("(keeper.watchers or keeper.watched)", "False"),
    "the whole list is scanned": (
        "islice(self._protected.values(), self._scan_limit + count - 1)",
        "iter(self._protected.values())",
    ),
    "faults are not counted": ('self._counters.add(f"fault_{kind}")', "pass"),
    "faults are logged each time": ("self._logged.add(kind)", "pass"),
    "it never trips": ("queue.__class__ = type(queue).stock", "pass"),
    "pinned blocks are moved": ("if block.ref_cnt:", "if False:"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_policy_fails(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    sound, broken = BROKEN[fault]
    text = policy_module()
    assert sound in text
    module = types.ModuleType("broken_computecache")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(text.replace(sound, broken), module.__name__, "exec"), vars(module))
    monkeypatch.setattr(suite, "policy", module)
    result = run(failfast=True)
    assert result.failures or result.errors
