from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from keepwarm.repair.agents.base import Assignment
from keepwarm.repair.agents.run import read_assignment
from tests.repair.agents.sample import git, make_repository, sample_task, write_task


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("template") / "app")


@pytest.fixture
def app(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "app", symlinks=True))


@pytest.fixture
def assignment(app: Path, tmp_path: Path) -> Assignment:
    task = sample_task(git(app, "rev-parse", "HEAD"))
    return read_assignment(write_task(tmp_path / "task.json", task), app)
