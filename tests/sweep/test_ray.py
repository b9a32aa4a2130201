"""Sweeps on real Ray clusters: several processes on this machine, some of them killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.sweep.engines.local import Local
from keepwarm.sweep.engines.ray import Ray
from keepwarm.sweep.results import ROWS
from keepwarm.sweep.run import sweep
from tests.sweep.cluster import QUIET, RayCluster, ray_cluster
from tests.sweep.specs import CACHE, SERVING, groups_of, kept_of, write_spec, write_trace

SLOW = """
[[serving]]
traces = ["long.jsonl"]
scheduling = ["fcfs", "active-set"]
sessions = [30, 40]
seeds = SEEDS
capacity_tokens = [40960]
"""

STOPS_ASKING = """
import sys
from pathlib import Path
from keepwarm.sweep.engines.ray import Ray
from tests.sweep.specs import groups_of

folder, spec, address = sys.argv[1:]
outcomes = Ray(address).outcomes(groups_of(Path(folder), spec))
next(outcomes)
print("one", flush=True)
sys.stdin.read()
outcomes.close()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster() as running:
        yield running


def slow(seeds: int) -> str:
    """A table of cells that take some hundredths of a second each."""
    return SLOW.replace("SEEDS", str(list(range(seeds))))


@contextlib.contextmanager
def on_ray(folder: Path, text: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The real command, ended with the block."""
    spec = write_spec(folder, text)
    words = [
        Path(sys.executable).parent / "keepwarm",
        "sweep",
        spec,
        "--engine",
        "ray",
        "--out",
        folder / "ray",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*map(str, words), *options],
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=os.environ | QUIET,
        start_new_session=True,
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def test_a_cluster_of_its_own_has_the_rows_of_the_local_engine_and_ends(tmp_path: Path) -> None:
    text = CACHE.replace("[40,", "[2, 40,") + SERVING
    with on_ray(tmp_path, text, "--threads", "2") as running:
        told, said = running.communicate(timeout=300)
    assert running.returncode == 2
    assert said.startswith("keepwarm: 3 of 23 cells failed")
    assert "capacity of 2 blocks is below one request" in told
    local = sweep(groups_of(tmp_path, text), Local(2), tmp_path / "local")
    assert len(local.failures) == 3
    assert (tmp_path / "ray" / ROWS).read_bytes() == local.rows_path.read_bytes()
    with pytest.raises(ProcessLookupError):  # nothing of the group is left
        os.killpg(running.pid, 0)


def test_a_killed_worker_loses_nothing(tmp_path: Path, cluster: RayCluster) -> None:
    write_trace(tmp_path / "long.jsonl", requests=4000)
    text = slow(2).replace("[30, 40]", "[2000, 3000]")  # who is seen at work is still at it when killed
    with on_ray(tmp_path, text, "--address", cluster.address) as running:
        os.kill(cluster.workers_at_work()[0], signal.SIGKILL)
        told, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (0, "")
    assert "8 cells, simulated: 8 computed now, 0 kept from before" in told
    assert "times a worker was lost and its cells were started again" in told
    local = sweep(groups_of(tmp_path, text), Local(2), tmp_path / "local")
    assert (tmp_path / "ray" / ROWS).read_bytes() == local.rows_path.read_bytes()


def test_an_interrupted_sweep_goes_on_where_it_was_and_the_cluster_stays(
    tmp_path: Path, cluster: RayCluster
) -> None:
    write_trace(tmp_path / "long.jsonl", requests=400)
    with on_ray(tmp_path, CACHE + slow(100), "--address", cluster.address) as running:
        cluster.workers_at_work()
        while not list((tmp_path / "ray" / "parts").glob("*.parquet")):
            assert running.poll() is None
            time.sleep(0.01)
        os.killpg(running.pid, signal.SIGINT)
        _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (130, "keepwarm: interrupted\n")
    assert not (tmp_path / "ray" / ROWS).exists()
    with on_ray(tmp_path, CACHE, "--address", cluster.address) as again:
        told, said = again.communicate(timeout=300)
    assert (again.returncode, said) == (0, "")
    assert kept_of(told) >= 1


def test_a_task_lost_after_the_last_outcome_asked_for_is_not_told(
    tmp_path: Path, cluster: RayCluster
) -> None:
    write_trace(tmp_path / "long.jsonl", requests=4000)
    program = [
        sys.executable,
        "-c",
        STOPS_ASKING,
        str(tmp_path),
        slow(32).replace("[30, 40]", "[2000, 3000]"),
        cluster.address,
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        program, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=os.environ | QUIET
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "one\n"
        both = cluster.workers_at_work(2)
        os.kill(both[0], signal.SIGKILL)
        cluster.workers_at_work(after=both)  # the cluster knows of the loss: it has replaced it
        told = running.communicate("stop\n", timeout=300)
    assert told == ("", "")


def test_an_address_where_nothing_is_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no Ray cluster at '127.0.0.1:9': .*take --engine local"):
        list(Ray("127.0.0.1:9").outcomes(groups_of(tmp_path, CACHE)))
