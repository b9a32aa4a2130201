from __future__ import annotations

from pathlib import Path

import pytest

from keepwarm.diagnose.rules import CAUSES
from tests.diagnose.judging import Case, confusion_table, run_case

_CASES = pytest.StashKey[list[Case]]()


@pytest.fixture(scope="session")
def cases(shared: Path, pytestconfig: pytest.Config) -> list[Case]:
    """Every labelled case with its diagnosis, worked out once."""
    labels = [
        p for kind in ("breaks", "healthy") for p in sorted((shared / "cases" / kind).glob("*.label.json"))
    ]
    found = [run_case(label) for label in labels]
    pytestconfig.stash[_CASES] = found
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the confusion table where the labelled cases were diagnosed."""
    cases = config.stash.get(_CASES, None)
    if cases is not None:
        terminalreporter.section("labelled cases: cause (rows) by first finding (columns)")
        terminalreporter.write_line(confusion_table(cases, list(CAUSES)))
