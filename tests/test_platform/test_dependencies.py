"""Every dependency has its reason, and none moves a pin of the serving engine keepwarm lies beside."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PYPROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"

# What vLLM 0.32.0 asks of packages that keepwarm, or a later part of it, needs too (its wheel's metadata).
VLLM_PINS = [
    "fastapi>=0.133.0,<0.137.0",
    "msgspec",
    "numba==0.65.0",
    "numpy",
    "openai>=2.25.0",
    "prometheus_client>=0.18.0",
    "pydantic>=2.12.0",
    "setuptools==78.1.1",
    "tokenizers>=0.23.2",
    "transformers>=5.16.1,<5.20.0",
]


def runtime_dependencies() -> list[Requirement]:
    return [Requirement(text) for text in tomllib.loads(PYPROJECT.read_text())["project"]["dependencies"]]


def test_every_dependency_says_why_it_is_there() -> None:
    lines = re.findall(r'^  "[a-z0-9-]+[<>=~!][^"]*",.*$', PYPROJECT.read_text(), re.MULTILINE)
    declared = tomllib.loads(PYPROJECT.read_text())
    groups = [*declared["dependency-groups"].values(), *declared["project"]["optional-dependencies"].values()]
    assert len(lines) == len(declared["project"]["dependencies"]) + sum(map(len, groups))
    assert [line for line in lines if not re.search(r",\s+# \S", line)] == []


def test_no_dependency_has_an_upper_bound_or_a_pin() -> None:
    capped = [
        str(requirement)
        for requirement in runtime_dependencies()
        if any(specifier.operator != ">=" for specifier in requirement.specifier)
    ]
    assert capped == []


@pytest.mark.long
def test_keepwarm_resolves_beside_vllm() -> None:
    ours = [str(requirement) for requirement in runtime_dependencies()]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run([*command, *ours, *VLLM_PINS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
