"""What a measurement is about: the machine, the versions, the commit."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path

import httpx2
import msgspec

from keepwarm import __version__
from keepwarm._errors import ServerError

_TIMEOUT_S = 30.0
_GIB = 2**30


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """Of the server's vLLM, and of the keepwarm and Python that measured it."""

    vllm: str
    keepwarm: str
    python: str


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Where the figures of a record come from, besides the server's own limits."""

    device: str
    versions: Versions
    commit: str | None  # of keepwarm's source; None if it was not run from a checkout
    uncommitted_changes: bool | None  # to its source


class MeasuredBy(msgspec.Struct, frozen=True, kw_only=True):
    """The keepwarm and the Python of this process, and keepwarm's commit as ``Identity`` has it."""

    keepwarm: str
    python: str
    commit: str | None
    uncommitted_changes: bool | None


def measured_by() -> MeasuredBy:
    """Of this process."""
    commit, changed = _commit()
    return MeasuredBy(
        keepwarm=__version__,
        python=platform.python_version(),
        commit=commit,
        uncommitted_changes=changed,
    )


def identify(
    base_url: str, *, device: str | None = None, transport: httpx2.BaseTransport | None = None
) -> Identity:
    """Ask server, machine and checkout; ``device`` replaces what the machine says. Raises ServerError."""
    commit, changed = _commit()
    return Identity(
        device=device or device_of_this_machine(),
        versions=Versions(
            vllm=_vllm_version(base_url, transport),
            keepwarm=__version__,
            python=platform.python_version(),
        ),
        commit=commit,
        uncommitted_changes=changed,
    )


def _vllm_version(base_url: str, transport: httpx2.BaseTransport | None) -> str:
    """From ``/version``, which asks for no key (vllm/entrypoints/serve/instrumentator)."""
    url = f"{base_url.rstrip('/')}/version"
    try:
        with httpx2.Client(timeout=_TIMEOUT_S, transport=transport, trust_env=False) as client:
            answer = client.get(url).raise_for_status().json()
    except (httpx2.HTTPError, ValueError) as error:
        raise ServerError(f"{url} does not answer as vLLM's does: {error}; is the server up?") from error
    version = answer.get("version") if isinstance(answer, dict) else None
    if not isinstance(version, str):
        raise ServerError(f"{url} names no version; is this vLLM?")
    return version


def device_of_this_machine() -> str:
    """GPUs if ``nvidia-smi`` lists any, else cores, memory and kind of processor."""
    gpus = _output("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    if gpus:
        return "; ".join(line.strip() for line in gpus.splitlines())
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GIB
    return f"CPU: {len(os.sched_getaffinity(0))} cores, {memory_gib:.0f} GiB, {platform.machine()}"


def _commit() -> tuple[str | None, bool | None]:
    """The commit that keepwarm is run from, and whether its source differs; None outside of a checkout."""
    here = Path(__file__)
    git = ("git", "-C", str(here.parent))
    # A virtual environment may lie inside somebody else's repository: only a tracked file counts.
    if not _output(*git, "ls-files", "--error-unmatch", here.name):
        return None, None
    return _output(*git, "rev-parse", "HEAD"), bool(_output(*git, "status", "--porcelain", "--", ":/src"))


def _output(*command: str) -> str | None:
    """What the command prints, or None if it is not there or fails."""
    if shutil.which(command[0]) is None:
        return None
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S)  # noqa: PLW1510, S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
