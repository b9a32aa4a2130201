"""The description of the API, the types of the dashboard and the documentation say what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from keepwarm._json import to_json
from keepwarm.api.app import api_document
from keepwarm.api.contract import PROBLEMS
from tests.api.calling import client


def references(part: Any) -> set[str]:
    """Every ``$ref`` in a document."""
    if isinstance(part, dict):
        own = {part["$ref"]} if isinstance(part.get("$ref"), str) else set()
        return own.union(*map(references, part.values()))
    return set().union(*map(references, part)) if isinstance(part, list) else set()


def test_the_description_in_the_repository_is_the_code_s(repository: Path) -> None:
    written = (repository / "web" / "openapi.json").read_bytes()
    assert written == to_json(api_document()), "run: make generate"


def test_the_server_answers_with_it(tmp_path: Path) -> None:
    assert client(tmp_path).get("/api/openapi.json").json() == json.loads(to_json(api_document()))


def test_every_reference_leads_somewhere() -> None:
    document = api_document()
    for reference in references(document):
        at: Any = document
        for part in reference.removeprefix("#/").split("/"):
            at = at[part]


def test_every_route_says_what_it_answers_and_how_it_fails() -> None:
    methods = [operation for path in api_document()["paths"].values() for operation in path.values()]
    assert len(methods) > 20
    for operation in methods:
        assert operation["description"]
        assert operation["responses"].keys() >= {str(status) for status in PROBLEMS}
        (fine,) = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        (content,) = fine["content"].values()
        assert content["schema"], operation["operationId"]


def test_every_route_is_documented(repository: Path) -> None:
    page = (repository / "docs" / "reference" / "api.md").read_text()
    documented = set(re.findall(r"^\| `([A-Z]+ /api/[^`]*)` \|", page, re.MULTILINE))
    routes = {
        f"{method.upper()} {path}" for path, methods in api_document()["paths"].items() for method in methods
    }
    assert documented == routes, "run: make generate"
