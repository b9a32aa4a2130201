"""start.sh with a docker that only writes down how it was called: what it refuses, and what it starts."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.deploy.compose import DEPLOY

GOOD = "nine-lives-of-kv"


class Stack(NamedTuple):
    """A copy of deploy/ in a folder of its own, and the fake docker."""

    folder: Path
    calls: Path

    def start(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("GRAFANA_", "VLLM_"))}
        path = f"{self.calls.parent / 'bin'}:{os.environ['PATH']}"
        return subprocess.run(
            [self.folder / "start.sh", *arguments],
            env={**inherited, "PATH": path, **environment},
            capture_output=True,
            text=True,
        )

    def started(self) -> list[str]:
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [line for line in lines if line != "compose version"]


@pytest.fixture
def stack(tmp_path: Path) -> Stack:
    folder = tmp_path / "deploy"
    shutil.copytree(DEPLOY, folder, ignore=shutil.ignore_patterns(".env"))
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(f'#!/bin/sh\necho "$@" >>"{tmp_path / "calls"}"\n')
    docker.chmod(0o755)
    return Stack(folder, tmp_path / "calls")


def env_file(stack: Stack, *lines: str) -> None:
    (stack.folder / ".env").write_text("\n".join(lines) + "\n")


PLACEHOLDERS = (
    *("", "  ", "''", "change-me", "Change_Me", "changeme123", '"change-me"', "'change-me' # later"),
    *("<password>", "admin", "password", "secret", "short", "${SOMETHING}"),
)


@pytest.mark.parametrize("value", PLACEHOLDERS)
def test_a_placeholder_is_refused_before_anything_starts(stack: Stack, value: str) -> None:
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={value}")
    done = stack.start()
    assert done.returncode == 2
    assert done.stderr.startswith("keepwarm: GRAFANA_ADMIN_PASSWORD ")
    assert done.stderr.count("\n") == 1
    assert "deploy/.env" in done.stderr
    assert stack.started() == []


def test_the_example_as_it_is_is_refused(stack: Stack) -> None:
    shutil.copy(stack.folder / ".env.example", stack.folder / ".env")
    done = stack.start()
    assert (done.returncode, stack.started()) == (2, [])
    assert "GRAFANA_ADMIN_PASSWORD is a placeholder" in done.stderr


def test_the_example_with_a_password_is_enough(stack: Stack) -> None:
    example = (stack.folder / ".env.example").read_text()
    (stack.folder / ".env").write_text(example.replace("change-me", GOOD))
    done = stack.start()
    assert done.returncode == 0, done.stderr
    assert len(stack.started()) == 1


def test_without_an_env_file_it_says_how_to_make_one(stack: Stack) -> None:
    done = stack.start()
    assert (done.returncode, stack.started()) == (2, [])
    assert "cp deploy/.env.example deploy/.env" in done.stderr


@pytest.mark.parametrize(
    "line", [f"GRAFANA_ADMIN_PASSWORD={GOOD}", f'export GRAFANA_ADMIN_PASSWORD = "{GOOD}" # mine']
)
@pytest.mark.parametrize("profile", ["baseline", "canary", "both"])
def test_a_profile_is_built_started_and_waited_for(stack: Stack, line: str, profile: str) -> None:
    env_file(stack, line)
    done = stack.start(profile)
    assert done.returncode == 0, done.stderr
    (call,) = stack.started()
    assert call.startswith(f"compose --file compose.yaml --profile {profile} up ")
    assert {"--build", "--detach", "--wait"} <= set(call.split())
    assert GOOD not in done.stdout + done.stderr + call


def test_the_shell_wins_over_the_env_file_as_in_docker_compose(stack: Stack) -> None:
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}")
    assert stack.start(GRAFANA_ADMIN_PASSWORD="change-me").returncode == 2
    env_file(stack, "GRAFANA_ADMIN_PASSWORD=change-me")
    assert stack.start(GRAFANA_ADMIN_PASSWORD=GOOD).returncode == 0


def test_the_api_key_is_optional_but_no_placeholder(stack: Stack) -> None:
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}", "VLLM_API_KEY=change-me")
    done = stack.start()
    assert (done.returncode, stack.started()) == (2, [])
    assert "VLLM_API_KEY" in done.stderr
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}", "VLLM_API_KEY=")
    assert stack.start().returncode == 0


def test_a_patched_checkout_adds_its_file(stack: Stack) -> None:
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}", "VLLM_SOURCE_DIR=/home/me/vllm")
    assert stack.start("canary").returncode == 0
    assert stack.started()[0].startswith(
        "compose --file compose.yaml --file compose.source.yaml --profile canary "
    )


def test_an_unknown_profile_is_refused(stack: Stack) -> None:
    env_file(stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}")
    done = stack.start("prod")
    assert (done.returncode, stack.started()) == (2, [])
    assert "'prod'" in done.stderr


def test_nothing_of_the_env_file_is_run(stack: Stack) -> None:
    env_file(
        stack, f"GRAFANA_ADMIN_PASSWORD={GOOD}$(touch {stack.folder}/ran)", f"X=`touch {stack.folder}/ran`"
    )
    stack.start()
    assert not (stack.folder / "ran").exists()


@pytest.mark.parametrize(("password", "code", "output"), [("change-me", 2, ""), (GOOD, 0, "grafana runs\n")])
def test_grafana_itself_starts_behind_the_same_check(password: str, code: int, output: str) -> None:
    """As its container calls it: `docker compose up` without start.sh gets no further."""
    done = subprocess.run(
        ["sh", DEPLOY / "check-secrets.sh", "sh", "-c", "echo grafana runs"],
        env={"PATH": os.environ["PATH"], "GRAFANA_ADMIN_PASSWORD": password},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (code, output)
