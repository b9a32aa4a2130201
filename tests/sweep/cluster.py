"""A real Ray cluster of two nodes with a worker each, on loopback, in processes of its own.

As a program: starts it, prints its address, and ends it when standard input ends.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

# Ray reads these when it is imported: nothing phones home, and nothing listens beyond this machine.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_WITHIN_S = 300


class RayCluster(NamedTuple):
    """``pid`` is the process that started all of it."""

    address: str
    pid: int

    def working(self) -> list[int]:
        """Processes of the cluster that compute cells now."""
        return [pid for pid in _descendants(self.pid) if _command(pid).startswith("ray::_computed")]

    def workers_at_work(self, number: int = 1, *, after: Collection[int] = ()) -> list[int]:
        """Those that are none of ``after``, as soon as they are ``number``."""
        deadline_s = time.monotonic() + _WITHIN_S
        while len(found := [pid for pid in self.working() if pid not in after]) < number:
            assert time.monotonic() < deadline_s, "too few workers computed anything"
            time.sleep(0.005)
        return found


@contextlib.contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """Started, and ended afterwards with everything in it."""
    command = [sys.executable, __file__]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True, env=os.environ | QUIET
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "the cluster did not start"
            yield RayCluster(address, process.pid)
        finally:
            process.stdin.close()
            process.wait(_WITHIN_S)


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents.setdefault(int(stat.read_text().rpartition(")")[2].split()[1]), []).append(
                int(stat.parent.name)
            )
    found, left = [], [pid]
    while left:
        children = parents.get(left.pop(), [])
        found += children
        left += children
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _main() -> None:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        sys.stdout.write(f"{cluster.address}\n")
        sys.stdout.flush()
        sys.stdin.read()
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    _main()
