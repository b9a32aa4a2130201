"""The command; where signals matter, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from keepwarm.cli.app import app
from keepwarm.sweep.results import ROWS
from tests.sweep.specs import CACHE, kept_of, write_spec, write_trace

KEEPWARM = Path(sys.executable).parent / "keepwarm"
LONG = """
[[serving]]
traces = ["long.jsonl"]
scheduling = ["fcfs", "active-set"]
sessions = [30, 40, 50]
seeds = SEEDS
capacity_tokens = [40960]
""".replace("SEEDS", str(list(range(200))))


class Done(NamedTuple):
    """A command that has ended."""

    code: object
    stdout: str
    stderr: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run ``keepwarm sweep`` in this process."""

    def run_here(*arguments: str | Path) -> Done:
        with pytest.raises(SystemExit) as ended:
            app(["sweep", *map(str, arguments)])
        return Done(ended.value.code, *capfd.readouterr())

    return run_here


def test_it_prints_the_rows_and_then_keeps_them(tmp_path: Path, run: Callable[..., Done]) -> None:
    spec = write_spec(tmp_path)
    first = run(spec, "--out", tmp_path / "out", "--json")
    assert (first.code, first.stderr) == (0, "")
    document = json.loads(first.stdout)
    assert (document["schema"], document["cells"], document["failed"]) == ("keepwarm.sweep/1", 20, [])
    assert len(document["rows"]) == 20
    assert run(spec, "--out", tmp_path / "out", "--json").stdout == first.stdout
    told = run(spec, "--out", tmp_path / "out")
    assert "20 cells, simulated: 0 computed now, 20 kept from before" in told.stdout


def test_a_failing_cell_is_exit_2_with_one_line_and_the_rest_is_there(
    tmp_path: Path, run: Callable[..., Done]
) -> None:
    spec = write_spec(tmp_path, CACHE.replace("[40,", "[2, 40,"))
    done = run(spec, "--out", tmp_path / "out", "--json")
    assert done.code == 2
    assert done.stderr.startswith("keepwarm: 3 of 15 cells failed, the first (trace trace.jsonl, policy ")
    assert done.stderr.count("\n") == 1
    document = json.loads(done.stdout)
    assert (len(document["failed"]), len(document["rows"])) == (3, 12)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--engine", "spark"), "no engine 'spark'; there are local, ray"),
        (("--address", "127.0.0.1:1"), "the local engine has no address"),
        (("--threads", "0"), "--threads"),
        (("--engine", "ray"), "pip install keepwarm[cluster]"),
    ],
)
def test_a_wrong_call_runs_nothing(
    tmp_path: Path,
    run: Callable[..., Done],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "")  # put back afterwards
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "")
    done = run(write_spec(tmp_path, CACHE), "--out", tmp_path / "out", *arguments)
    assert (done.code, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_goes_on_where_it_was(
    tmp_path: Path, run: Callable[..., Done], number: signal.Signals
) -> None:
    write_trace(tmp_path / "long.jsonl", requests=400)
    spec, out = write_spec(tmp_path, CACHE + LONG), tmp_path / "out"
    command = [str(KEEPWARM), "sweep", str(spec), "--out", str(out)]
    # A group of its own, as a terminal gives it, so that the workers hear the signal, too.
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as running:
        deadline_s = time.monotonic() + 300
        while not list((out / "parts").glob("*.parquet")) and running.poll() is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.02)
        os.killpg(running.pid, number)
        _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (130, "keepwarm: interrupted\n")
    assert not (out / ROWS).exists()
    done = run(write_spec(tmp_path, CACHE), "--out", out)
    assert kept_of(done.stdout) >= 1  # those of the part that was there
