from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import httpx2
import pytest

import keepwarm
from keepwarm._errors import ServerError
from keepwarm.server.identity import Identity, device_of_this_machine, identify


def identified(answer: httpx2.Response, **choices: str) -> Identity:
    return identify("http://here", transport=httpx2.MockTransport(lambda request: answer), **choices)


def test_versions_device_and_commit(repository: Path) -> None:
    identity = identified(httpx2.Response(200, json={"version": "0.32.0"}))
    assert identity.versions.vllm == "0.32.0"
    assert identity.versions.keepwarm == keepwarm.__version__
    assert identity.versions.python == platform.python_version()
    assert identity.device == device_of_this_machine()
    head = subprocess.run(["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, text=True)
    assert identity.commit == (head.stdout.strip() if head.returncode == 0 else None)
    assert (identity.uncommitted_changes is None) == (identity.commit is None)


def test_another_machine_is_named_by_the_caller() -> None:
    answer = httpx2.Response(200, json={"version": "0.32.0"})
    assert identified(answer, device="H200").device == "H200"


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(500),
        httpx2.Response(200, text="<html>"),
        httpx2.Response(200, json={"release": "1"}),
        httpx2.Response(200, json=["0.32.0"]),
    ],
)
def test_what_is_no_vllm_is_said(answer: httpx2.Response) -> None:
    with pytest.raises(ServerError, match="http://here/version"):
        identified(answer)
