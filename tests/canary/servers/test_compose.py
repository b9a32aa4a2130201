from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import InputError, ServerError
from keepwarm.canary.servers.compose import ComposeOptions, ComposeServer, override_of


def _calls(folder: Path) -> list[list[str]]:
    return [json.loads(line)["argv"] for line in (folder / "calls.jsonl").read_text().splitlines()]


def _files(tmp_path: Path) -> list[str]:
    override = str(tmp_path / "computecache.json")
    return ["compose", "--file", "compose.yaml", "--file", "compose.gpu.yaml", "--file", override]


def test_start_and_stop_are_one_docker_command_each(
    compose_server: ComposeServer, fake_docker: Path, tmp_path: Path
) -> None:
    compose_server.start({"COMPUTECACHE_MODE": "lru"})
    compose_server.stop()
    compose_server.stop()
    assert _calls(fake_docker) == [
        [
            *_files(tmp_path),
            *("up", "--detach", "--wait", "--wait-timeout", "30"),
            *("--force-recreate", "--no-deps", "--no-build", "--pull", "never", "vllm"),
        ],
        [*_files(tmp_path), "stop", "--timeout", "60", "vllm"],
    ]


def test_a_restart_is_up_again_with_another_override(
    compose_server: ComposeServer, fake_docker: Path, tmp_path: Path
) -> None:
    compose_server.start({"COMPUTECACHE_MODE": "active", "COMPUTECACHE_SCAN_LIMIT": "16"})
    compose_server.start({"COMPUTECACHE_MODE": "lru"})
    first, second = _calls(fake_docker)
    assert first == second
    assert json.loads((tmp_path / "computecache.json").read_text()) == {
        "services": {"vllm": {"environment": {"COMPUTECACHE_MODE": "lru"}}}
    }


def test_the_log_is_what_docker_compose_prints_on_either_stream(
    compose_server: ComposeServer, fake_docker: Path, tmp_path: Path
) -> None:
    compose_server.start({"COMPUTECACHE_MODE": "lru"})
    assert compose_server.log_tail(1) == "api key None"
    assert _calls(fake_docker)[-1] == [
        *_files(tmp_path),
        *("logs", "--no-color", "--no-log-prefix", "--tail", "1", "vllm"),
    ]


def test_nothing_is_run_before_the_first_start(compose_server: ComposeServer, fake_docker: Path) -> None:
    compose_server.stop()
    assert not (fake_docker / "calls.jsonl").exists()


def test_a_failed_start_says_dockers_reason_and_stops_the_service(
    compose_server: ComposeServer,
    fake_docker: Path,
    behave: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "a-key-of-mine-0815")
    behave("dies")
    with pytest.raises(ServerError) as caught:
        compose_server.start({})
    first_line = str(caught.value).splitlines()[0]
    assert "did not start the service 'vllm': dependency failed to start: [secret] exited (3)" in first_line
    assert "stop" in _calls(fake_docker)[-1]


def test_without_docker_it_is_one_clear_error(
    compose_server: ComposeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ServerError, match="docker cannot be run: No such file or directory; install docker"):
        compose_server.start({})
    assert compose_server.log_tail() == ""


def test_the_override_doubles_dollar_signs_and_is_the_same_for_any_order() -> None:
    settings = {"B": "${HOME}", "A": "plain"}
    written = override_of("vllm", settings)
    assert json.loads(written)["services"]["vllm"]["environment"] == {"A": "plain", "B": "$${HOME}"}
    assert written == override_of("vllm", dict(reversed(settings.items())))


@pytest.mark.parametrize(
    ("files", "base_url", "message"),
    [
        ((), "http://127.0.0.1:1", "no compose file is named"),
        ((Path("compose.yaml"),), "127.0.0.1:8000", "not the address of a server"),
        ((Path("compose.yaml"),), "http://me:secret@host:1", "^the base URL holds a user name or password"),
    ],
)
def test_wrong_options_are_refused(files: tuple[Path, ...], base_url: str, message: str) -> None:
    options = ComposeOptions(base_url=base_url, service="vllm", files=files, override=Path("o.json"))
    with pytest.raises(InputError, match=message) as caught:
        ComposeServer(options)
    assert "secret" not in str(caught.value)
