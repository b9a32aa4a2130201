"""What of a request reaches the replica: its session, its prompt, and hints told to all replicas."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest

from keepwarm.hints import HintClient
from keepwarm.hints.openai import wrap
from scripts.fleet import metrics
from scripts.fleet.local import MODEL, Fleet
from tests.fleet_on_vllm.conftest import TOKEN
from tests.replay.recorder.running import Recorder

BLOCK_TOKENS = 16
END_OF_TURN = "151645"  # Qwen3's token
CALL = {
    "id": "1",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"z": 1,  "command": "ls"}'},
}
MESSAGES: list[Any] = [
    {"role": "system", "content": "Zeichen: é, 例, \u2028. Keep the order of keys."},
    {"role": "user", "content": [{"type": "text", "text": "What is here?"}]},
    {"role": "assistant", "content": "", "reasoning": "I look.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "1", "content": "README.md src tests\n" * 8},
]
PARAMETERS = {
    "type": "object",
    "required": ["z", "command"],
    "properties": {"z": {"type": "number", "default": 1.0}, "command": {"type": "string", "a": None}},
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "bash", "description": "Runs.", "parameters": PARAMETERS}}
]


NO_CALLS = {"tools": TOOLS, "tool_choice": "none"}  # in the prompt all the same; calls would need a parser


def chat(base_url: str, headers: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    body = {"model": MODEL, "messages": MESSAGES, "max_tokens": 2, "temperature": 0, **changes}
    answer = httpx2.post(
        f"{base_url}/v1/chat/completions", json=body, headers=headers, timeout=120, trust_env=False
    )
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def totals(fleet: Fleet, name: str, **labels: str) -> list[int]:
    return [round(fleet.counts(number).total(name, **labels)) for number in range(len(fleet.replicas))]


def steps(fleet: Fleet) -> None:
    """An idle engine looks at no hints: let each take a step."""
    for replica in fleet.replicas:
        chat(replica.base_url, session_id="nobody's")


@pytest.fixture
def gained(fleet: Fleet) -> Callable[[str], list[int]]:
    """What ``keepwarm_hints_total`` gained at each replica since the test began, by outcome."""
    before = {outcome: totals(fleet, "keepwarm_hints_total", outcome=outcome) for outcome in OUTCOMES}

    def now(outcome: str) -> list[int]:
        after = totals(fleet, "keepwarm_hints_total", outcome=outcome)
        return [later - earlier for later, earlier in zip(after, before[outcome], strict=True)]

    return now


OUTCOMES = ("accepted", "applied", "unknown", "refused", "late")


def test_the_prompt_is_the_same_to_the_token(fleet: Fleet) -> None:
    router = fleet.route("round_robin")
    options = {**NO_CALLS, "chat_template_kwargs": {"enable_thinking": False}}
    direct = [chat(replica.base_url, **options)["usage"] for replica in fleet.replicas]
    for _ in fleet.replicas:
        usage = chat(router.base_url, **options)["usage"]
        tokens = usage["prompt_tokens"]
        assert [one["prompt_tokens"] for one in direct] == [tokens, tokens]
        assert usage["prompt_tokens_details"]["cached_tokens"] == (tokens - 1) // BLOCK_TOKENS * BLOCK_TOKENS


@pytest.mark.parametrize("place", ["header", "body"])
def test_the_session_reaches_the_replica(fleet: Fleet, place: str) -> None:
    router = fleet.route("round_robin")
    before = totals(fleet, "keepwarm_sessions_by_prefix_total")
    for _ in fleet.replicas:
        if place == "header":
            chat(router.base_url, {"X-Session-ID": "run/1"})
        else:
            chat(router.base_url, session_id="run/1")
    assert totals(fleet, "keepwarm_sessions_by_prefix_total") == before
    for _ in fleet.replicas:
        chat(router.base_url)
    assert totals(fleet, "keepwarm_sessions_by_prefix_total") == [count + 1 for count in before]
    assert totals(fleet, "keepwarm_faults_total") == [0, 0]


def test_a_hint_told_to_all_is_applied_where_the_session_is(
    fleet: Fleet, gained: Callable[[str], list[int]]
) -> None:
    router = fleet.route("consistent_hash")
    answer = chat(router.base_url, {"X-Session-ID": "hinted"})
    here = int(answer["model"].removeprefix("replica-"))
    with HintClient(fleet.control_urls, TOKEN) as client:
        client.tool("hinted", "bash", '{"command": "make test"}')
    assert (client.sent, client.failed) == (2, 0)
    assert chat(router.base_url, {"X-Session-ID": "hinted"})["model"] == answer["model"]
    steps(fleet)
    assert gained("applied")[here] == 1
    assert gained("unknown")[1 - here] == 1
    assert gained("refused") == [0, 0]


def test_the_client_of_applications_does_it_by_itself(
    fleet: Fleet, gained: Callable[[str], list[int]]
) -> None:
    router = fleet.route("sticky_least_loaded")
    homes = set()
    for number in range(4):
        stock = openai.OpenAI(base_url=f"{router.base_url}/v1", api_key="none", max_retries=0)
        with wrap(stock, f"wrapped {number}", fleet.control_urls, TOKEN) as client:
            seen = {
                client.chat.completions.create(model=MODEL, messages=MESSAGES, max_tokens=2).model
                for _ in range(3)
            }
        assert len(seen) == 1
        homes |= seen
    assert len(homes) == 2
    steps(fleet)
    assert gained("applied") == [2, 2]  # that each session is over, where it was
    assert gained("unknown") == [2, 2]


def test_agents_behind_the_recorder_need_nothing_but_an_address(
    fleet: Fleet, gained: Callable[[str], list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEEPWARM_CONTROL_TOKEN", TOKEN)
    router = fleet.route("consistent_hash")
    urls = ",".join(fleet.control_urls)
    with Recorder(router.base_url, tmp_path / "trace.jsonl", "--hints-to", urls) as recorder:
        # The model without weights calls no tool, so that a person is to write is all that can be told.
        stop = {**NO_CALLS, "max_tokens": 1, "logit_bias": {END_OF_TURN: 100}}
        answer = chat(recorder.url, {"X-Session-ID": "recorded"}, **stop)
        assert answer["choices"][0]["finish_reason"] == "stop"
        here = int(answer["model"].removeprefix("replica-"))

        def were_told() -> bool:
            steps(fleet)
            return gained("accepted") == [1, 1]

        metrics.wait_until(were_told, "both replicas were told")
    steps(fleet)
    assert gained("applied")[here] == 1
    assert gained("unknown")[1 - here] == 1
