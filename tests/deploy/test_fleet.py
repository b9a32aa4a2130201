"""deploy/fleet: the compose file, start.sh and the alerts, against what they promise. No engine is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from scripts.fleet.router import POLICIES, RECOVERY
from tests.deploy import compose
from tests.deploy.mutants import is_noticed
from tests.deploy.test_compose import PINNED, SECRET, validate

FLEET = compose.DEPLOY / "fleet"
RULES = FLEET / "alerts.yml"
CASES = Path(__file__).with_name("fleet_alerts_test.yml")
SERVICES = compose.load("fleet/compose.yaml")["services"]
REPLICAS = [name for name in SERVICES if name.startswith("replica-")]
MEMBERS = ["router", "recorder", *REPLICAS]
PROMTOOL = (
    Path(os.environ.get("KEEPWARM_TEST_PROMETHEUS", compose.DEPLOY.parent / "build/prometheus/bin"))
    / "promtool"
)
TOKEN = "0123456789abcdef0123456789abcdef"


def test_it_keeps_to_the_specification() -> None:
    done = validate(FLEET / "compose.yaml")
    assert done.returncode == 0, done.stdout


def test_only_ports_on_loopback_are_published() -> None:
    ports = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert ports.keys() == {"net", "prometheus"}
    assert all(
        re.match(r"127\.0\.0\.1:[^:]+(:-\d+\})?:\d+$", port) for some in ports.values() for port in some
    )
    # Hints are taken on loopback alone: who sends or takes them shares a namespace, and not the host's.
    modes = {name: service.get("network_mode") for name, service in SERVICES.items()}
    assert modes == {**dict.fromkeys(MEMBERS, "service:net"), "net": None, "prometheus": None}


def test_every_image_and_package_is_pinned() -> None:
    dockerfile = (FLEET / "Dockerfile").read_text()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", dockerfile, re.MULTILINE))
    images = set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) - stages
    images |= {service["image"] for service in SERVICES.values()}
    assert [image for image in images if not PINNED.match(image.removesuffix("-slim"))] == []
    (version,) = set(re.findall(r"vllm-router==(\S+)", dockerfile))
    assert SERVICES["router"]["image"] == f"keepwarm/router:{version}"
    script = compose.DEPLOY.parent / "scripts" / "make_router_venv.sh"
    assert f"vllm-router=={version}" in script.read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
    assert service["healthcheck"]["test"][0] == "CMD"
    assert all(isinstance(word, str) for word in service["healthcheck"]["test"])
    assert len(service["healthcheck"]["test"]) in {2, 4, 5}
    assert "no-new-privileges:true" in service["security_opt"]
    assert "max-size" in service["logging"]["options"]


def test_a_replica_has_a_gpu_a_port_and_an_endpoint_of_its_own() -> None:
    for number, name in enumerate(REPLICAS):
        service = SERVICES[name]
        assert name == f"replica-{number}"
        assert f"--port={8000 + number}" in service["command"]
        assert f":{8000 + number}/health" in service["healthcheck"]["test"][-1]
        assert service["environment"]["KEEPWARM_CONTROL_PORT"] == str(8100 + number)
        (device,) = service["deploy"]["resources"]["reservations"]["devices"]
        assert compose.resolved(device["device_ids"], {}) == [str(number)]
        assert service.get("profiles", [name]) == [name]
        assert ("profiles" in service) == (number >= 2)
        assert SERVICES["router"]["depends_on"][name]["condition"] == "service_healthy"
        assert SERVICES["router"]["depends_on"][name].get("required", True) == (number < 2)
    assert len({SERVICES[name]["image"] for name in REPLICAS}) == 1


def test_the_router_runs_as_the_tests_run_it() -> None:
    command = compose.resolved(SERVICES["router"]["command"], {})
    assert " ".join(RECOVERY) in command
    assert re.search(r"--policy=(\S+)", command)[1] in POLICIES


def test_prometheus_scrapes_all_of_it() -> None:
    config = yaml.safe_load((FLEET / "prometheus.yml").read_text())
    jobs = {job["job_name"]: job["static_configs"] for job in config["scrape_configs"]}
    roles = {group["labels"]["role"]: group["targets"] for group in jobs["vllm"]}
    assert roles == {name: [f"net:{8000 + number}"] for number, name in enumerate(REPLICAS)}
    assert jobs["router"] == [{"targets": ["net:29000"]}]
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in SERVICES["prometheus"]["volumes"]}
    for name in ("prometheus.yml", *config["rule_files"]):
        assert (FLEET / mounted[f"/etc/prometheus/{name}"]).is_file()


def test_no_secret_is_in_what_is_committed_and_every_variable_is_named() -> None:
    for service in SERVICES.values():
        for variable, value in service.get("environment", {}).items():
            if SECRET.search(variable):
                assert value is None or re.fullmatch(r"\$\{\w+(:\?[^}]*)?\}", value), variable
    assignments = list(compose.assignments(FLEET / ".env.example"))
    assert [line for line in assignments if SECRET.search(line[0])] == [
        ("KEEPWARM_CONTROL_TOKEN", "change-me", False),
        ("VLLM_API_KEY", "", True),
        ("HF_TOKEN", "", True),
    ]
    used = compose.variables((FLEET / "compose.yaml").read_text()) | {"VLLM_API_KEY", "HF_TOKEN"}
    assert {variable for variable, _, _ in assignments} == used
    assert (FLEET / ".gitignore").read_text().split() == [".env"]


class Started(NamedTuple):
    """How start.sh ended, the words it gave docker, and the addresses in its environment."""

    returncode: int
    stderr: str
    words: list[str]
    workers: list[str]
    controls: list[str]


def start(tmp_path: Path, *arguments: str, token: str | None = TOKEN) -> Started:
    folder, calls = tmp_path / "fleet", tmp_path / "calls"
    shutil.copytree(FLEET, folder, ignore=shutil.ignore_patterns(".env"))
    if token is not None:
        (folder / ".env").write_text(f"KEEPWARM_CONTROL_TOKEN={token}\n")
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" "$FLEET_WORKER_URLS" "$FLEET_CONTROL_URLS" >"{calls}"\n'
    )
    docker.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KEEPWARM_")}
    done = subprocess.run(
        [folder / "start.sh", *arguments],
        env={**environment, "PATH": f"{docker.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
    )
    words, workers, controls = calls.read_text().splitlines() if calls.exists() else ("", "", "")
    return Started(done.returncode, done.stderr, words.split(), workers.split(), controls.split(","))


def test_it_starts_as_many_as_are_asked_for(tmp_path: Path) -> None:
    started = start(tmp_path, "4", "hints")
    assert started.returncode == 0, started.stderr
    profiles = ["--profile", "hints", "--profile", "replica-2", "--profile", "replica-3"]
    assert started.words[:8] == ["compose", *profiles, "up"]
    assert started.workers == [f"http://127.0.0.1:800{number}" for number in range(4)]
    assert started.controls == [f"http://127.0.0.1:810{number}" for number in range(4)]


def test_it_starts_two_unless_told(tmp_path: Path) -> None:
    started = start(tmp_path)
    assert started.returncode == 0, started.stderr
    assert started.words[:2] == ["compose", "up"]
    assert len(started.workers) == len(started.controls) == 2


@pytest.mark.parametrize(
    ("arguments", "token"),
    [(("1",), TOKEN), (("9",), TOKEN), (("two",), TOKEN), (("2", "hint"), TOKEN)]
    + [((), token) for token in (None, "", "change-me", "short", "$(id)0123456789abcdef")],
)
def test_what_is_wrong_is_one_line_and_nothing_starts(
    tmp_path: Path, arguments: tuple[str, ...], token: str | None
) -> None:
    started = start(tmp_path, *arguments, token=token)
    assert (started.returncode, started.words) == (2, [])
    assert started.stderr.startswith("keepwarm: ")
    assert started.stderr.count("\n") == 1


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    if not PROMTOOL.exists():
        pytest.fail(f"no promtool at {str(PROMTOOL)!r}; `make test` fetches it")
    return subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True)


@pytest.mark.parametrize(
    "arguments", [("check", "rules", "--lint=all", "--lint-fatal", RULES), ("test", "rules", CASES)]
)
def test_promtool_has_nothing_to_say(arguments: tuple[str | Path, ...]) -> None:
    done = promtool(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("good", "bad"),
    [("health == 0", "health == 1"), ("for: 1m", "for: 5s"), ("[5m])) > 0", "[5m])) >= 0")],
)
def test_the_cases_notice_a_rule_that_is_wrong(tmp_path: Path, good: str, bad: str) -> None:
    assert is_noticed(PROMTOOL, tmp_path, RULES, CASES, good, bad)


def test_set_up_without_an_interpreter_is_one_line(tmp_path: Path) -> None:
    script = compose.DEPLOY.parent / "scripts" / "make_router_venv.sh"
    done = subprocess.run(
        [script, tmp_path / "venv"],
        env={**os.environ, "PYTHON": "python-that-is-not-there"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "apt-get install -y python3-venv" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "venv").exists()
