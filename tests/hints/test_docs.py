"""The pages on hints say what the code does: fields, answers, bounds, examples."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from keepwarm.hints import HintClient
from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import MOST_ARGUMENT_CHARACTERS, MOST_TOOL_CHARACTERS
from keepwarm.vllm.hints import hint, listener, token, wire
from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import TOKEN
from tests.hints.test_client import url_of

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "control-endpoint.md").read_text()
HOW_TO = (DOCS / "how-to" / "send-hints.md").read_text()
SOURCES = [Path(str(module.__file__)).read_text() for module in (hint, listener, wire)]


def column(page: str, head: str) -> list[str]:
    """The first cells of the table that begins with ``head``."""
    table = page[page.index(head) :].partition("\n\n")[0]
    return re.findall(r"^\| `?([\w]+)`? \|", table, re.MULTILINE)[1:]


def test_every_field_is_there() -> None:
    assert sorted(column(REFERENCE, "| field | value |")) == sorted(hint._FIELDS)


def test_every_status_is_there() -> None:
    refusals = {int(code) for source in SOURCES for code in re.findall(r"Refused\(\s*(\d{3})\b", source)}
    assert {int(code) for code in column(REFERENCE, "| status | when |")} == {202} | refusals


@pytest.mark.parametrize(
    "said",
    [
        f"{hint.MOST_ID_CHARACTERS} characters at most",
        f"cut after {MOST_TOOL_CHARACTERS} characters",
        f"cut after {MOST_ARGUMENT_CHARACTERS} characters",
        f"from 0 to {hint.MOST_ELAPSED_S:.0f}",
        f"up to {hint._CLOCK_SLACK_S:.0f} s ahead",
        f"more than {hint.MOST_BODY_BYTES} bytes",
        f"more than {wire.MOST_HEAD_BYTES} bytes",
        f"longer than {wire.REQUEST_S:.0f} s",
        f"{wire.IDLE_S:.0f} s between two requests",
        f"{listener.MOST_CONNECTIONS} connections",
        f"at most {listener.MOST_PER_STEP} hints a step",
        f"more than {listener.MOST_PENDING} wait",
        f"{listener.MOST_PER_SECOND} requests per second",
    ],
)
def test_the_bounds_are_those_of_the_code(said: str) -> None:
    assert said in REFERENCE


def test_how_long_a_token_is() -> None:
    assert f"the token, {token.LEAST_TOKEN_CHARACTERS} characters or more" in HOW_TO


def test_the_bodies_shown_are_hints() -> None:
    shown = re.findall(r'^(?:  -d \'|)(\{"tool".*\})', REFERENCE + HOW_TO, re.MULTILINE)
    assert len(shown) == 2
    for body in shown:
        call = hint.read_hint(SessionId("run-17"), body.encode()).call
        assert call is not None
        assert call.arguments == json.dumps({"command": "make test"}, separators=(",", ":"))


def test_the_program_shown_runs(listener: HintListener) -> None:
    (program,) = re.findall(
        r"^```python\nfrom keepwarm.hints import .*?```$", HOW_TO, re.MULTILINE | re.DOTALL
    )
    source = program.removeprefix("```python\n").removesuffix("```")
    names: dict[str, Any] = {"token": TOKEN}
    exec(source.replace("http://127.0.0.1:8010", url_of(listener)), names)
    client = names["hints"]
    assert isinstance(client, HintClient)
    assert (client.sent, client.failed) == (3, 0)
