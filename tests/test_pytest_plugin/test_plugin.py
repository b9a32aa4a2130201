from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from keepwarm import InputError
from keepwarm.gate.prefixes import RecordedRequests
from tests.test_pytest_plugin.conftest import SETTINGS, Project

pytest_plugins = ["pytester"]


def test_requests_that_stay_pass(project: Project) -> None:
    first = project.update()
    project.run_apart().assert_outcomes(passed=1)
    project.run_apart("--keepwarm-update").assert_outcomes(passed=1)
    assert project.snapshot.read_bytes() == first


def test_a_snapshot_is_never_written_unasked(project: Project) -> None:
    assert "no snapshot of the prefixes in __keepwarm__/test_desk/test_desk.json" in project.failure()
    assert not project.snapshot.exists()


def test_another_time_in_the_system_text(project: Project) -> None:
    project.update()
    project.set(values=["2026-05-12 09:15:22"])
    said = project.failure()
    assert "the cached prefix moved, compared with __keepwarm__/test_desk/test_desk.json" in said
    assert "request 1 (and 2, 3) of 3" in said
    assert "messages[0].content, in tokens " in said
    assert "looks like clock" in said
    assert "here    ‹time: " in said
    assert "`keepwarm causes clock` says how it is fixed" in said
    assert "pytest --keepwarm-update" in said
    assert "09:15" not in said
    assert "as before: caches fill anew once" in said
    project.update()
    project.run().assert_outcomes(passed=1)


def test_reuse_that_is_lost(project: Project) -> None:
    project.update()
    project.set(values=["2026-05-12 09:14:07", "2026-05-12 09:14:31", "2026-05-12 09:15:02"])
    said = project.failure()
    assert "request 2 of 3" in said
    assert "request 3 of 3" in said  # the minute has changed, too: an earlier block
    assert "request 1" not in said
    assert said.count(" before (simulated)") == 2
    assert said.count("cause   clock") == 2
    assert "09:15" not in said


def test_the_newest_turn_may_differ(project: Project) -> None:
    project.update()
    project.set(questions=[*SETTINGS["questions"][:-1], "Something else altogether, as people do."])
    project.run().assert_outcomes(passed=1)


def test_history_may_not(project: Project) -> None:
    project.update()
    project.set(questions=["Where is the invoice of June, please?", *SETTINGS["questions"][1:]])
    said = project.failure()
    assert "request 2 (and 3) of 3" in said
    assert "messages[1].content" in said
    assert "June" not in said


def test_another_model_is_another_cache(project: Project) -> None:
    project.update()
    project.set(model="larger-model")
    assert "another model, adapter or cache_salt" in project.failure()


def test_another_number_of_requests(project: Project) -> None:
    project.update()
    project.set(questions=SETTINGS["questions"][:2])
    assert "the test made 2 requests in 1 session" in project.failure()


def test_a_snapshot_holds_no_text(project: Project) -> None:
    document = json.loads(project.update())
    assert document["schema"] == "keepwarm.prefixes/1"
    strings = {
        value for request in document["requests"] for value in request.values() if isinstance(value, str)
    }
    assert all(set(value) <= set("0123456789abcdef") for value in strings)
    for word in ("Pennant", "invoice of", "Ann", "2026-05", "find_invoice", "small-model"):
        assert word.encode() not in project.snapshot.read_bytes()


@pytest.mark.parametrize(
    "content", ["", "{}", "[]", '{"schema": "keepwarm.prefixes/2"}', "\udcff", "[" * 5000]
)
def test_a_damaged_snapshot_is_said(project: Project, content: str) -> None:
    project.update()
    project.snapshot.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert "--keepwarm-update" in project.failure()


def test_nothing_recorded_is_no_pass(project: Project) -> None:
    project.pytester.makepyfile(test_desk="def test_desk(keepwarm_requests): pass")
    assert "nothing was recorded" in project.failure()
    assert "nothing was recorded" in project.failure("--keepwarm-update")
    assert not project.snapshot.exists()


def test_a_test_that_fails_by_itself_is_left_alone(project: Project) -> None:
    project.pytester.makepyfile(test_desk="def test_desk(keepwarm_requests): assert 1 == 2")
    assert "assert 1 == 2" in project.failure("--keepwarm-update")
    assert not project.snapshot.exists()


def test_a_snapshot_per_test(project: Project) -> None:
    project.pytester.makepyfile(
        test_desk="""
        import application, pytest

        class TestDesk:
            @pytest.mark.parametrize("name", ["a/b", "a:b", "plain", "x" * 300])
            def test_it(self, keepwarm_requests, name):
                for body in application.bodies():
                    keepwarm_requests.record(body, session=name)
        """
    )
    project.run("--keepwarm-update").assert_outcomes(passed=4)
    written = sorted(path.name for path in project.snapshot.parent.iterdir())
    assert len(written) == 4
    assert max(map(len, written)) < 120
    project.run().assert_outcomes(passed=4)


def test_the_order_of_sessions_does_not_matter(project: Project) -> None:
    test = """
        import application

        def test_desk(keepwarm_requests):
            for body in application.bodies():
                for session in {order}:
                    keepwarm_requests.record(body, session=session)
        """
    project.pytester.makepyfile(test_desk=test.format(order="['a', 'b']"))
    first = project.update()
    project.pytester.makepyfile(test_desk=test.format(order="['b', 'a']"))
    project.run().assert_outcomes(passed=1)
    assert project.update() == first


def test_a_file_of_recorded_requests(project: Project) -> None:
    project.pytester.makepyfile(
        test_desk="""
        import json, pathlib
        import application

        def test_desk(keepwarm_requests, tmp_path):
            lines = [json.dumps({"id": f"r{n}", "body": body}) for n, body in enumerate(application.bodies())]
            (tmp_path / "trace.jsonl").write_text("\\n".join(lines))
            keepwarm_requests.read(tmp_path / "trace.jsonl")
        """
    )
    project.update()
    project.run().assert_outcomes(passed=1)
    project.set(opening="You are somebody else altogether. It is ")
    assert "request 1 (and 2, 3) of 3" in project.failure()


def test_the_openai_client_by_its_hook(project: Project) -> None:
    project.pytester.makepyfile(
        test_desk="""
        import httpx2, openai
        import application

        def answer(request):
            message = {"role": "assistant", "content": "Yes."}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
            return httpx2.Response(200, json=body)

        def test_desk(keepwarm_requests):
            http = httpx2.Client(
                transport=httpx2.MockTransport(answer), event_hooks={"request": [keepwarm_requests.hook]}
            )
            client = openai.OpenAI(api_key="k", base_url="http://localhost:1/v1", http_client=http)
            for body in application.bodies():
                client.chat.completions.create(**body)
            assert len(keepwarm_requests) == 3
        """
    )
    project.update()
    project.run().assert_outcomes(passed=1)
    project.set(opening="You are somebody else altogether. It is ")
    assert "request 1 (and 2, 3) of 3" in project.failure()


def test_hooks_record_what_a_model_is_asked_and_nothing_else() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
    requests = RecordedRequests()
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json={}))

    async def ask() -> None:
        async def streamed() -> AsyncIterator[bytes]:
            yield json.dumps(body).encode()

        hooks = {"request": [requests.async_hook]}
        async with httpx2.AsyncClient(transport=transport, event_hooks=hooks) as client:
            await client.post(
                "http://x/v1/chat/completions?api-version=1", json=body, headers={"X-Session-ID": "b"}
            )
            await client.post("http://x/v1/chat/completions", content=streamed())

    asyncio.run(ask())
    with httpx2.Client(transport=transport, event_hooks={"request": [requests.hook]}) as client:
        client.get("http://x/v1/models")
        client.post("http://x/v1/embeddings", json=body)
        client.post("http://x/v1/responses", json=body, headers={"x-session-id": "a"})
        with pytest.raises(InputError, match="request 4 has a body that is no JSON"):
            client.post("http://x/v1/completions", content=b"{")
    lines = [json.loads(line) for line in requests.lines().splitlines()]
    assert [line.get("session_id") for line in lines] == [None, "a", "b"]
    assert all(line["body"] == body for line in lines)


@pytest.mark.parametrize("body", [{"a": float("nan")}, {"a": object()}, {"a": b"x"}])
def test_a_body_that_cannot_be_sent(body: dict[str, object]) -> None:
    with pytest.raises(InputError, match="request 1 cannot be sent as JSON"):
        RecordedRequests().record(body)


def test_a_body_may_change_after_it_was_recorded() -> None:
    requests = RecordedRequests()
    messages = [{"role": "user", "content": "first"}]
    requests.record({"messages": messages})
    messages.append({"role": "user", "content": "second"})
    assert b"second" not in requests.lines()


@pytest.mark.parametrize("content", [None, b"[1]", b"{", b'"x"', b"\xff"])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "trace.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"trace\.jsonl"):
        RecordedRequests().read(path)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("keepwarm(size=3)", "the marker keepwarm takes tokenizer, chat_template, block_size by name"),
        ("keepwarm('gpt2')", "the marker keepwarm takes tokenizer, chat_template, block_size by name"),
        ("keepwarm(chat_template='none.jinja')", "no chat template at 'none.jinja'"),
    ],
)
def test_a_wrong_marker(project: Project, marker: str, message: str) -> None:
    project.pytester.makepyfile(test_desk=f"import pytest\n{TEST_WITH_MARKER.format(marker=marker)}")
    assert message in project.failure()


TEST_WITH_MARKER = """
import application

@pytest.mark.{marker}
def test_desk(keepwarm_requests):
    for body in application.bodies():
        keepwarm_requests.record(body)
"""


def test_a_marker_says_how_prompts_become_tokens(project: Project) -> None:
    template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    (project.pytester.path / "plain.jinja").write_text(template)
    marked = TEST_WITH_MARKER.format(marker="keepwarm(chat_template='plain.jinja', block_size=32)")
    project.pytester.makepyfile(test_desk=f"import pytest\n{marked}")
    document = json.loads(project.update("--strict-markers"))
    assert (document["chat_template"], document["block_size"]) == ("plain.jinja", 32)
    project.pytester.makepyfile(test_desk=f"import pytest\n{TEST_WITH_MARKER.format(marker='keepwarm()')}")
    assert "was made with another chat template ('plain.jinja', now 'built-in ChatML')" in project.failure()


def test_it_costs_nothing_when_unused(repository: Path) -> None:
    program = (
        "import sys, keepwarm.pytest_plugin\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "('keepwarm', 'numpy', 'numba', 'msgspec', 'rich', 'httpx2')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "['keepwarm', 'keepwarm.pytest_plugin']\n"
