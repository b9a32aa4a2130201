"""The API against its own description, over real results: schemathesis asks rightly and wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import schemathesis
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode
from starlette.testclient import TestClient

from keepwarm.api.app import api_document
from tests.api.calling import AUTHORITY, ORIGIN, TOKEN, client, ids

HEADERS = {"authorization": f"Bearer {TOKEN}", "host": AUTHORITY}
KINDS = {
    "diagnoses": "diagnosis",
    "cache-simulations": "cache-simulation",
    "serving-simulations": "serving-simulation",
    "timelines": "timeline",
    "tasks": "task",
    "verdicts": "verdict",
    "replays": "replay",
    "comparisons": "comparison",
    "canaries": "canary",
}
PATHS = api_document()["paths"]
OPERATIONS = sorted((method.upper(), path) for path, methods in PATHS.items() for method in methods)
WITH_PARAMETERS = [each for each in OPERATIONS if "parameters" in PATHS[each[1]][each[0].lower()]]
BOUNDED = hypothesis.settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


schemathesis.checks.load_all_checks()
CHECKS = [
    schemathesis.checks.CHECKS.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
    )
]


@pytest.fixture(scope="module")
def caller(results: Path) -> Iterator[TestClient]:
    with client(results) as opened:
        yield opened


@pytest.fixture(scope="module")
def api() -> Any:
    return schemathesis.openapi.from_dict(api_document())


def called(caller: TestClient, case: schemathesis.Case) -> None:
    """Ask, and hold the answer to the description."""
    told = case.as_transport_kwargs(base_url=ORIGIN)
    told["content"] = told.pop("data", None)
    told["headers"] = {**told.get("headers", {}), **HEADERS}
    told.pop("cookies", None)
    case.validate_response(caller.request(**told), checks=CHECKS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[" ".join(each) for each in OPERATIONS])
def test_right_questions(api: Any, caller: TestClient, method: str, path: str) -> None:
    kind = KINDS.get(path.split("/")[2])
    # A new job takes a process: only ones of results that are not there are asked for here.
    known = ids(caller, kind) if kind is not None and not path.endswith("reorders") else []

    @BOUNDED
    @hypothesis.given(case=api[path][method].as_strategy(), data=st.data())
    def ask(case: schemathesis.Case, data: st.DataObject) -> None:
        if known and data.draw(st.integers(0, 3)):
            case.path_parameters["id"] = data.draw(st.sampled_from(known))
        called(caller, case)

    ask()


@pytest.mark.parametrize(
    ("method", "path"), WITH_PARAMETERS, ids=[" ".join(each) for each in WITH_PARAMETERS]
)
def test_wrong_questions(api: Any, caller: TestClient, method: str, path: str) -> None:
    @BOUNDED
    @hypothesis.given(case=api[path][method].as_strategy(generation_mode=GenerationMode.NEGATIVE))
    def ask(case: schemathesis.Case) -> None:
        called(caller, case)

    ask()
