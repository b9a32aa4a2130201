"""The compose files against the compose specification, and what we promise beyond it. No engine is needed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepwarm.vllm.settings import read_settings
from tests.deploy import compose

SERVICES = compose.services()
SERVERS = ("baseline", "canary")
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|API_KEY")
PINNED = re.compile(r"^[\w./-]+:v?\d+\.\d+\.\d+$")


def validate(path: Path) -> subprocess.CompletedProcess[str]:
    """Against the specification's own schema, which check-jsonschema ships: nothing is downloaded."""
    checker = Path(sys.executable).parent / "check-jsonschema"
    command = [checker, "--builtin-schema", "vendor.compose-spec", path]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("name", ["compose.yaml", "compose.source.yaml"])
def test_a_compose_file_keeps_to_the_specification(name: str) -> None:
    done = validate(compose.DEPLOY / name)
    assert done.returncode == 0, done.stdout


def test_the_specification_would_refuse_a_mistake(tmp_path: Path) -> None:
    document = compose.load()
    document["services"]["canary"]["prots"] = ["127.0.0.1:1:1"]
    (tmp_path / "compose.yaml").write_text(yaml.safe_dump(document))
    done = validate(tmp_path / "compose.yaml")
    assert done.returncode == 1
    assert "prots" in done.stdout


def test_every_port_is_bound_to_loopback() -> None:
    ports = [str(port) for service in SERVICES.values() for port in service["ports"]]
    assert len(ports) == len(SERVICES)
    assert [port for port in ports if not re.match(r"127\.0\.0\.1:[^:]+(:-\d+\})?:\d+$", port)] == []
    assert [name for name, service in SERVICES.items() if "network_mode" in service] == []


def test_every_image_is_pinned() -> None:
    images = [compose.resolved(service["image"], {}) for service in SERVICES.values()]
    dockerfile = (compose.DEPLOY / "Dockerfile").read_text()
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", dockerfile, re.MULTILINE))
    bases = set(re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)) - stages
    assert bases == {"vllm/vllm-openai:v0.32.0"}
    assert [image for image in [*images, *bases] if not PINNED.match(image)] == []
    assert SERVICES["prometheus"]["image"].startswith("prom/prometheus:v3.15.")
    assert SERVICES["grafana"]["image"].startswith("grafana/grafana:13.2.")


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_bounded_and_watched(name: str) -> None:
    service = SERVICES[name]
    assert {"cpus", "memory", "pids"} <= service["deploy"]["resources"]["limits"].keys()
    assert service["healthcheck"]["test"][0] == "CMD"
    assert "no-new-privileges:true" in service["security_opt"]
    assert "max-size" in service["logging"]["options"]
    assert not service.get("privileged")


def test_no_secret_is_in_what_is_committed() -> None:
    for name in ("compose.yaml", "compose.source.yaml"):
        for service in compose.load(name)["services"].values():
            for variable, value in service.get("environment", {}).items():
                if SECRET.search(variable):
                    assert value is None or re.fullmatch(r"\$\{\w+(:\?[^}]*)?\}", value), variable
    for variable, value, commented in compose.assignments(compose.DEPLOY / ".env.example"):
        if SECRET.search(variable):
            assert value == ("" if commented else "change-me"), variable


def test_the_file_with_the_secrets_stays_on_the_machine() -> None:
    done = subprocess.run(["git", "check-ignore", "--no-index", "-q", ".env"], cwd=compose.DEPLOY)
    ignored = (compose.DEPLOY / ".gitignore").read_text().splitlines()
    assert done.returncode == 0 or ".env" in ignored  # a source distribution is no git checkout
    patterns = (compose.DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in patterns
    assert [pattern for pattern in patterns if pattern.startswith("!") and "env" in pattern] == []


def test_the_example_names_every_variable_that_has_no_other_place() -> None:
    named = {variable for variable, _, _ in compose.assignments(compose.DEPLOY / ".env.example")}
    used = set()
    for name in ("compose.yaml", "compose.source.yaml"):
        used |= compose.variables((compose.DEPLOY / name).read_text())
    used |= {key for key, value in SERVICES["canary"]["environment"].items() if value is None}
    settings = {variable for variable in used if variable.startswith("COMPUTECACHE_")}
    assert used - settings <= named
    assert named <= used


def test_the_two_servers_differ_in_their_mode_alone() -> None:
    environments = {name: dict(SERVICES[name]["environment"]) for name in SERVERS}
    assert environments["baseline"].pop("COMPUTECACHE_MODE") == "lru"
    assert compose.resolved(environments["canary"].pop("COMPUTECACHE_MODE"), {}) == "active"
    settings = {name for name in environments["canary"] if name.startswith("COMPUTECACHE_")}
    assert {k: v for k, v in environments["canary"].items() if k not in settings} == environments["baseline"]
    for key in ("image", "build", "entrypoint", "command", "volumes", "healthcheck", "shm_size"):
        assert SERVICES["canary"][key] == SERVICES["baseline"][key], key


class Asked(dict[str, str]):
    """An environment that remembers which names were looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_the_canary_takes_every_setting_of_the_plugin() -> None:
    asked = Asked()
    read_settings(asked)
    taken = {name for name in SERVICES["canary"]["environment"] if name.startswith("COMPUTECACHE_")}
    assert taken == asked.names


def test_the_server_is_the_one_that_the_canary_is_for() -> None:
    command = compose.resolved(SERVICES["canary"]["command"], {})
    assert command[0] == "Qwen/Qwen3-0.6B"
    assert {
        "--max-model-len=1024",
        "--num-gpu-blocks-override=128",
        "--enable-prompt-tokens-details",
        "--kv-cache-metrics",
    } <= set(command)


def test_each_profile_starts_what_its_name_says() -> None:
    def started(profile: str) -> set[str]:
        return {name for name, service in SERVICES.items() if profile in service.get("profiles", [profile])}

    always = {"prometheus", "grafana"}
    assert started("baseline") == {"baseline", *always}
    assert started("canary") == {"canary", *always}
    assert started("both") == {"baseline", "canary", *always}
    # One GPU may run the canary alone, and two servers on one GPU start one after the other.
    assert SERVICES["canary"]["depends_on"] == {
        "baseline": {"condition": "service_healthy", "required": False}
    }


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_reserves_one_gpu_of_ones_choice(name: str) -> None:
    (device,) = SERVICES[name]["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia"
    assert device["capabilities"] == ["gpu"]
    assert compose.resolved(device["device_ids"], {f"{name.upper()}_GPU": "1"}) == ["1"]


def test_what_is_mounted_is_there() -> None:
    volumes = [volume for service in SERVICES.values() for volume in service["volumes"]]
    sources = {volume.split(":")[0] for volume in volumes}
    files = {source for source in sources if source.startswith(".")}
    assert [source for source in files if not (compose.DEPLOY / source).exists()] == []
    assert sources - files == set(compose.load()["volumes"])
    assert [volume for volume in volumes if volume.startswith(".") and not volume.endswith(":ro")] == []


def test_prometheus_scrapes_both_servers_where_they_listen() -> None:
    config = yaml.safe_load((compose.DEPLOY / "prometheus" / "prometheus.yml").read_text())
    jobs = {job["job_name"]: job for job in config["scrape_configs"]}
    targets = {group["labels"]["role"]: group["targets"] for group in jobs["vllm"]["static_configs"]}
    assert targets == {name: [f"{name}:8000"] for name in SERVERS}
    assert config["global"]["scrape_interval"] == "5s"
    assert "--port=8000" in SERVICES["canary"]["command"]
