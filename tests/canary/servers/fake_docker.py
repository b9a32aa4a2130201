"""Stands in for docker with its compose plugin: starts the fake server as compose would start the service.

FAKE_DOCKER is its folder: every call is a line of ``calls.jsonl``, the server prints to ``service.log``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["FAKE_DOCKER"])
PID = FOLDER / "service.pid"


def main(words: list[str]) -> int:
    shell = sorted(name for name in os.environ if name.startswith("COMPUTECACHE_"))
    with (FOLDER / "calls.jsonl").open("a") as calls:
        calls.write(json.dumps({"argv": words, "shell": shell}) + "\n")
    files = [Path(words[i + 1]) for i, word in enumerate(words) if word == "--file"]
    command = words[1 + 2 * len(files)]
    if command in ("up", "stop"):
        stop()
    if command == "up":
        override = json.loads(files[-1].read_text())
        return up(override["services"][words[-1]]["environment"])
    if command == "logs":
        sys.stderr.write((FOLDER / "service.log").read_text())
    return 0


def up(settings: dict[str, str]) -> int:
    """Compose replaces a doubled dollar sign by one."""
    environment = {**os.environ, **{name: value.replace("$$", "$") for name, value in settings.items()}}
    with (FOLDER / "service.log").open("wb") as log:
        service = subprocess.Popen(
            [sys.executable, os.environ["FAKE_SERVICE"], "--port", os.environ["FAKE_PORT"]],
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    PID.write_text(str(service.pid))
    if os.environ.get("FAKE_SERVER") == "dies":
        service.wait()
        sys.stderr.write(f"dependency failed to start: {os.environ.get('VLLM_API_KEY')} exited (3)\n")
        return 1
    return 0


def stop() -> None:
    if PID.exists():
        pid = int(PID.read_text())
        PID.unlink()
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
        while is_running(pid):
            time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
