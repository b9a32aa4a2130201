"""A diagnosis to ask about, and jobs that end with their test."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwarm._json import to_json
from keepwarm.api.jobs.jobs import Jobs
from keepwarm.diagnose import diagnose
from keepwarm.diagnose.report.as_json import diagnosis_document
from tests.api.jobs.making import Desk


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    root = tmp_path_factory.mktemp("written")
    trace = shutil.copy(repository / "examples" / "helpdesk" / "traffic.jsonl.gz", root)
    document = diagnosis_document(diagnose(str(trace)), revealed=True)
    (root / "diagnosis.json").write_bytes(to_json(document))
    return root


@pytest.fixture
def desk(written: Path, tmp_path: Path) -> Desk:
    root = tmp_path / "results"
    root.mkdir()
    trace = Path(shutil.copy(written / "traffic.jsonl.gz", tmp_path))
    document = json.loads((written / "diagnosis.json").read_bytes())
    document["input"]["path"] = str(trace)
    (root / "diagnosis.json").write_text(json.dumps(document))
    return Desk(root, trace)


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()
