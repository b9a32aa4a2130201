from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import keepwarm.gate.prefixes  # noqa: F401 - loaded once, not again in every run within this process

APPLICATION = '''
"""An application with one call site; what it is like is set by the test."""

import json
import pathlib

SETTINGS = json.loads(pathlib.Path(__file__).with_name("settings.json").read_text())
RULES = " ".join(f"Rule {n}: answer politely, name the invoice, promise no refund." for n in range(12))
TOOL = {"type": "function", "function": {"name": "find_invoice", "parameters": {"type": "object"}}}


def system(number):
    value = SETTINGS["values"][number % len(SETTINGS["values"])]
    return SETTINGS["opening"] + value + ". " + RULES


def bodies():
    history = []
    for turn, question in enumerate(SETTINGS["questions"]):
        history = [*history, {"role": "user", "content": question}]
        yield {
            "model": SETTINGS["model"],
            "messages": [{"role": "system", "content": system(turn)}, *history],
            "tools": [TOOL],
        }
        history = [*history, {"role": "assistant", "content": f"Answer {turn}."}]
'''
TEST = """
import application

def test_desk(keepwarm_requests):
    for body in application.bodies():
        keepwarm_requests.record(body)
"""
SETTINGS: dict[str, Any] = {
    "opening": "You are the support desk of Pennant Ledger. It is ",
    "values": ["2026-05-12 09:14:07"],
    "questions": ["Where is my invoice of March?", "And the one of April?", "Thank you, Ann Smith here."],
    "model": "small-model",
}


class Project:
    """A project with that application and its tests, run by pytest with the plugin and no other."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        pytester.makepyfile(application=APPLICATION, test_desk=TEST)
        self.set()

    def set(self, **settings: Any) -> None:
        (self.pytester.path / "settings.json").write_text(json.dumps(SETTINGS | settings))

    def run(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess("-p", "keepwarm.pytest_plugin", *arguments)

    def run_apart(self, *arguments: str) -> pytest.RunResult:
        """The same in a process of its own."""
        return self.pytester.runpytest_subprocess("-p", "keepwarm.pytest_plugin", *arguments)

    def update(self, *arguments: str) -> bytes:
        """Write the snapshots; the bytes of the first test's."""
        self.run("--keepwarm-update", *arguments).assert_outcomes(passed=1)
        return self.snapshot.read_bytes()

    def failure(self, *arguments: str) -> str:
        """What the one test says when it fails."""
        result = self.run(*arguments)
        result.assert_outcomes(failed=1)
        said = result.stdout.str()
        assert "Traceback" not in said
        return said

    @property
    def snapshot(self) -> Path:
        return self.pytester.path / "__keepwarm__" / "test_desk" / "test_desk.json"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    # With or without an entry point in this environment: the plugin is loaded once, by name.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("COLUMNS", "140")
    for name in ("CI", "BUILD_NUMBER"):  # there pytest prints each message a second time, in its summary
        monkeypatch.delenv(name, raising=False)
    return Project(pytester)
