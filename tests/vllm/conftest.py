"""These tests need vLLM itself, in an environment of its own: `make test-vllm` runs them there.

It sets the variable; elsewhere they are not collected. Where they are, a missing vLLM is an error.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

collect_ignore_glob = [] if os.environ.get("KEEPWARM_TEST_VLLM") else ["test_*.py"]

_TOTALS: Counter[str] = Counter()


@pytest.fixture(scope="session")
def totals() -> Counter[str]:
    """To be updated with the counts of every stream that was compared; printed in the end."""
    return _TOTALS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much was compared."""
    if _TOTALS:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(_TOTALS.items()))
        terminalreporter.write_line(f"compared with vLLM after every step: {counts}")
