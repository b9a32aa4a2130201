"""Real results of the helpdesk example, made once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.results import make


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make demo`` shows, by the real commands: every kind of result but tuning. Not to be changed."""
    folder = tmp_path_factory.mktemp("results")
    make(folder)
    return folder
