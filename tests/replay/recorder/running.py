"""A recorder as a process of its own, as users run it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from tests.replay.recorder.stub import PATIENCE_S


class Recorder:
    """``keepwarm record`` on a free port; its lines as they appear."""

    def __init__(self, upstream: str, out: Path, *options: str) -> None:
        self.out = out
        self._read_lines = 0
        command = [sys.executable, "-m", "keepwarm", "record", "--upstream", upstream, "--out", str(out)]
        self.process = subprocess.Popen(
            [*command, "--port", "0", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._said: list[str] = []
        self.url = self._wait_for_address()
        # What it says later must not fill the pipe.
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()

    def _wait_for_address(self) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said.append(line)
            if match := re.search(r"base URL (http://\S+)/v1$", line):
                return match[1]
        raise AssertionError(f"it did not start: {self._said}")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        self._said.extend(self.process.stderr)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def said(self) -> str:
        """What it wrote to standard error so far."""
        return "".join(self._said)

    def raw_lines(self) -> list[bytes]:
        return self.out.read_bytes().splitlines(keepends=True)

    def lines(self) -> list[dict[str, Any]]:
        """The whole lines of the file."""
        return [json.loads(line) for line in self.raw_lines() if line.endswith(b"\n")]

    def next_lines(self, count: int = 1) -> list[dict[str, Any]]:
        """The ``count`` lines that follow those already asked for, as soon as they are there."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            lines = self.lines()[self._read_lines :]
            if len(lines) >= count:
                self._read_lines += len(lines)
                assert len(lines) == count, lines
                return lines
            time.sleep(0.01)
        raise AssertionError(f"{count} lines were to come, there are {self.lines()[self._read_lines :]}")

    def next_line(self) -> dict[str, Any]:
        return self.next_lines()[0]

    def skip_lines(self) -> None:
        self._read_lines = len(self.lines())

    def stop(self, number: int = signal.SIGINT) -> str:
        """End it as a user does; what it says on standard output."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        said = self.wait()
        assert self.process.returncode == 0, self.said
        return said

    def kill(self) -> None:
        """As the machine's out-of-memory killer does."""
        self.process.kill()
        self.wait()

    def wait(self) -> str:
        assert self.process.stdout is not None
        said = self.process.stdout.read()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self.process.stdout.close()
        if self.process.stderr is not None:
            self.process.stderr.close()
        return said

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.kill()
        elif self.process.stdout is not None and not self.process.stdout.closed:
            self.wait()
