from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import Stub, chat_answer

KEY = "sk-test-1f9c0f3e7a2b4d58"


@pytest.fixture(scope="module")
def shared_upstream() -> Iterator[Stub]:
    with Stub() as stub:
        yield stub


@pytest.fixture(scope="module")
def shared_recorder(shared_upstream: Stub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    out = tmp_path_factory.mktemp("recorder") / "trace.jsonl"
    with Recorder(f"{shared_upstream.url}/v1", out) as recorder:
        yield recorder
        recorder.stop()


@pytest.fixture
def upstream(shared_upstream: Stub) -> Stub:
    """The upstream of this module, which answers a chat until the test gives it another script."""
    shared_upstream.asked.clear()
    shared_upstream.script = lambda call: call.json(chat_answer())
    return shared_upstream


@pytest.fixture
def recorder(shared_recorder: Recorder, upstream: Stub) -> Recorder:
    """The recorder of this module; ``next_line`` is the first of this test."""
    shared_recorder.skip_lines()
    return shared_recorder


@pytest.fixture
def client(recorder: Recorder) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{recorder.url}/v1", api_key=KEY, max_retries=0) as client:
        yield client


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Recorder]]:
    """Starts further recorders, and ends those that still run."""
    started: list[Recorder] = []

    def begin(upstream: str, *options: str, out: Path | None = None) -> Recorder:
        recorder = Recorder(upstream, out or tmp_path / "trace.jsonl", *options)
        started.append(recorder)
        return recorder

    yield begin
    for recorder in started:
        recorder.__exit__()


def hello(**changes: Any) -> dict[str, Any]:
    """A chat body."""
    return {"model": "m", "messages": [{"role": "user", "content": "Hello?"}], **changes}
