"""The guide's commands, as far as they can be known without Docker and a GPU."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.compose import DEPLOY, services

REPOSITORY = DEPLOY.parent
GUIDE = REPOSITORY / "docs" / "how-to" / "gpu-server.md"
FENCE = re.compile(r"^```bash\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROFILES = {profile for service in services().values() for profile in service.get("profiles", ())}


def commands() -> Iterator[list[str]]:
    for block in FENCE.findall(GUIDE.read_text()):
        for line in block.replace("\\\n", " ").splitlines():
            yield shlex.split(line, comments=True)


def commands_of(*program: str) -> list[list[str]]:
    return [words for words in commands() if tuple(words[: len(program)]) == program]


def names(word: str, following: list[str]) -> list[str]:
    """What follows each ``word``."""
    return [following[index + 1] for index, each in enumerate(following) if each == word]


@pytest.mark.parametrize("words", commands_of(".venv/bin/keepwarm"), ids=" ".join)
def test_a_command_of_ours_has_these_options(words: list[str]) -> None:
    keepwarm = Path(sys.executable).parent / "keepwarm"
    names_of_command = [word for word in words[1:3] if re.fullmatch(r"[a-z]+", word)]
    done = subprocess.run([keepwarm, *names_of_command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    known = set(re.findall(r"--[a-z0-9-]+", done.stdout))
    assert {word for word in words if word.startswith("--")} <= known


def test_every_docker_command_names_what_is_there() -> None:
    calls = commands_of("docker", "compose", "--file")
    assert len(calls) >= 4
    for words in calls:
        assert (REPOSITORY / words[3]).is_file()
        assert set(names("--profile", words)) <= PROFILES
        assert set(names("logs", words)) <= services().keys()


def test_every_start_is_of_a_profile() -> None:
    calls = commands_of("deploy/start.sh")
    assert len(calls) >= 3
    assert {words[1] for words in calls} <= PROFILES


def test_the_canary_restarts_a_service_where_it_answers() -> None:
    for words in (words for words in commands_of(".venv/bin/keepwarm") if "--compose" in words):
        assert (REPOSITORY / names("--compose", words)[0]).is_file()
        (service,) = names("--service", words)
        port = re.search(r"127\.0\.0\.1:\$\{\w+:-(\d+)\}", services()[service]["ports"][0])
        assert port
        assert names("--base-url", words) == [f"http://127.0.0.1:{port[1]}"]


def test_every_address_is_of_a_service() -> None:
    published = {re.findall(r":-(\d+)\}", port)[0] for one in services().values() for port in one["ports"]}
    assert set(re.findall(r"http://127\.0\.0\.1:(\d+)", GUIDE.read_text())) == published


def test_images_that_are_named_are_those_of_the_stack() -> None:
    text = (DEPLOY / "Dockerfile").read_text() + (DEPLOY / "compose.yaml").read_text()
    images = set(re.findall(r"\b(?:vllm|keepwarm)/[a-z-]+:v?[\d.]+\b", GUIDE.read_text()))
    assert images == set(re.findall(r"\b(?:vllm|keepwarm)/[a-z-]+:v?[\d.]+\b", text))


@pytest.mark.parametrize("value", ["change-me", "already+set/before="])
def test_the_line_that_sets_the_password_does(tmp_path: Path, value: str) -> None:
    (line,) = [words for words in commands() if words[:1] == ["sed"] and "GRAFANA" in words[2]]
    script = line[2].replace("$(openssl rand -base64 24)", "nine/lives+of=kv")
    env = tmp_path / ".env"
    env.write_text((DEPLOY / ".env.example").read_text().replace("change-me", value))
    subprocess.run(["sed", "-i", script, env], check=True)
    assert "GRAFANA_ADMIN_PASSWORD=nine/lives+of=kv\n" in env.read_text()


def test_the_line_that_rolls_back_does(tmp_path: Path) -> None:
    (line,) = [words for words in commands() if words[:1] == ["sed"] and "MODE" in words[2]]
    env = tmp_path / ".env"
    env.write_text((DEPLOY / ".env.example").read_text())
    for _ in range(2):
        subprocess.run(["sed", "-i", line[2], env], check=True)
        assert re.findall(r"^.*COMPUTECACHE_MODE=.*$", env.read_text(), re.MULTILINE) == [
            "COMPUTECACHE_MODE=lru"
        ]
