from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import keepwarm.diagnose
from keepwarm.cli.app import app
from keepwarm.diagnose import engine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.options import Options
from tests.report.sample import helpdesk

Keepwarm = Callable[..., Result]


@pytest.fixture
def keepwarm_cli() -> Keepwarm:
    """Runs the command line in this process: ``keepwarm_cli("causes", "clock")``."""

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner(env={"COLUMNS": None, "NO_COLOR": None, **environment}).invoke(app, list(arguments))

    return run


class Diagnoser:
    """Stands in for the diagnosis: remembers the call, returns the sample or raises."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Options]] = []
        self.outcome: Diagnosis | BaseException = helpdesk()

    def __call__(self, path: str, options: Options, progress: Any = None) -> Diagnosis:
        self.calls.append((path, options))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    @contextlib.contextmanager
    def examining(
        self, path: str, options: Options, progress: Any = None, **_: object
    ) -> Iterator[SimpleNamespace]:
        """The same as ``engine.examining`` gives it, without what it rests on."""
        yield SimpleNamespace(diagnosis=self(path, options, progress))


@pytest.fixture
def diagnoser(monkeypatch: pytest.MonkeyPatch) -> Diagnoser:
    """The command line alone is tested: what it asks for and what it does with the answer."""
    stand_in = Diagnoser()
    monkeypatch.setattr(keepwarm.diagnose, "diagnose", stand_in, raising=False)
    monkeypatch.setattr(engine, "examining", stand_in.examining)
    return stand_in
