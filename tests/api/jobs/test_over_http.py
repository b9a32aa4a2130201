"""Jobs over the API, in this process and with a real server, after which no process is left."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from keepwarm.api.schema.jobs import Job
from tests.api.calling import client, ids, problem
from tests.api.jobs.making import CALL, PATIENCE_S, Desk, is_alive, until


def parsed(text: str) -> list[tuple[int, Job]]:
    """Id and job of each event; every other line must be a comment."""
    events = []
    for block in filter(None, text.split("\n\n")):
        if block.startswith(":"):
            continue
        number, name, data = block.split("\n")
        assert name == "event: job"
        job = msgspec.json.decode(data.removeprefix("data: "), type=Job)
        events.append((int(number.removeprefix("id: ")), job))
    numbers = [number for number, _ in events]
    assert numbers == sorted(set(numbers))
    return events


def test_over_the_api(desk: Desk) -> None:
    with client(desk.root) as caller:
        (diagnosis,) = ids(caller, "diagnosis")
        body = msgspec.to_builtins(CALL)
        answer = caller.post(f"/api/diagnoses/{diagnosis}/reorders", json=body)
        assert answer.status_code == 202
        job = msgspec.json.decode(answer.content, type=Job)
        assert job.call == CALL
        stream = caller.get(f"/api/jobs/{job.id}/events")  # read to its end
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-store"
        events = parsed(stream.text)
        assert events[-1][1].state == "done"
        last = msgspec.json.decode(caller.get(f"/api/jobs/{job.id}").content, type=Job)
        assert last == events[-1][1]
        assert caller.delete(f"/api/jobs/{job.id}").json()["state"] == "done"
        assert caller.post(f"/api/diagnoses/{diagnosis}/reorders", json=body).json()["id"] == job.id


def test_wrong_calls_of_the_api(desk: Desk) -> None:
    with client(desk.root) as caller:
        (diagnosis,) = ids(caller, "diagnosis")
        here = f"/api/diagnoses/{diagnosis}/reorders"
        body = msgspec.to_builtins(CALL)
        nowhere = problem(caller.post("/api/diagnoses/000000000000/reorders", json=body), 404)
        assert "there is no diagnosis '000000000000'" in nowhere
        assert "no ReorderCall" in problem(caller.post(here, json={"call_site": 3}), 422)
        assert "no ReorderCall" in problem(caller.post(here, json=body | {"more": 1}), 422)
        problem(caller.post(here, content=b"{", headers={"content-type": "application/json"}), 422)
        for ask in (caller.get, caller.delete):
            assert "there is no job" in problem(ask("/api/jobs/0123456789abcdef"), 404)
        assert "there is no job" in problem(caller.get("/api/jobs/0123456789abcdef/events"), 404)
        problem(caller.get("/api/jobs/nonsense"), 422)
        desk.trace.unlink()
        assert "is not there any more" in problem(caller.post(here, json=body), 409)


class Served(NamedTuple):
    """A real server of ``keepwarm serve``."""

    process: subprocess.Popen[str]
    host: str
    token: str

    @contextlib.contextmanager
    def ask(self, method: str, path: str, body: Any = None) -> Iterator[http.client.HTTPResponse]:
        """The answer, unread; the connection is closed afterwards."""
        with contextlib.closing(http.client.HTTPConnection(self.host, timeout=PATIENCE_S)) as connection:
            headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            with contextlib.closing(connection.getresponse()) as answer:
                yield answer

    def json(self, method: str, path: str, body: Any = None) -> Any:
        with self.ask(method, path, body) as answer:
            return json.loads(answer.read())

    def start(self) -> str:
        """Start a job; its id."""
        (item,) = self.json("GET", "/api/results?kind=diagnosis")["items"]
        path = f"/api/diagnoses/{item['id']}/reorders"
        return str(self.json("POST", path, msgspec.to_builtins(CALL))["id"])

    def children(self) -> list[int]:
        """Processes that the server started and that run, what multiprocessing keeps for itself included."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if fields[1] == str(self.process.pid) and fields[0] != "Z":
                    found.append(int(folder.name))
        return found


@pytest.fixture
def served(desk: Desk) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "keepwarm", "serve", str(desk.root), "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of its own, as a terminal makes one
    )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        yield Served(process, address.netloc, parse_qs(address.query)["token"][0])
    finally:
        process.kill()
        process.communicate()


def test_events_over_a_real_server(served: Served) -> None:
    job = served.start()
    with served.ask("GET", f"/api/jobs/{job}/events") as first:
        assert first.readline().startswith(b"id: ")  # and goes away
    with served.ask("GET", f"/api/jobs/{job}/events") as second:
        events = parsed(second.read().decode())
    assert events[-1][1].state == "done"
    assert {"reading", "accounting"} & {event.stage for _, event in events}
    states = [event.state for _, event in events]
    assert states == ["running"] * (len(states) - 1) + ["done"]
    assert served.json("GET", f"/api/jobs/{job}")["state"] == "done"


def test_the_server_answers_while_a_job_runs(served: Served) -> None:
    job = served.start()
    seen = {served.json("GET", f"/api/jobs/{job}")["state"] for _ in range(3)}
    assert seen <= {"running", "done"}
    assert served.json("GET", "/api/server")["revealed"] is False


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("when", ["running", "idle"])
def test_no_process_outlives_the_server(served: Served, ending: signal.Signals, when: str) -> None:
    job = served.start()
    with served.ask("GET", f"/api/jobs/{job}/events") as events:
        if when == "idle":
            events.read()
        elif ending is signal.SIGKILL:  # Python says so of a worker whose start nobody is left to finish
            assert any(b'"reading"' in line or b'"accounting"' in line for line in events)
    until(lambda: bool(served.children()))
    children = served.children()
    if ending is signal.SIGINT:
        os.killpg(served.process.pid, ending)  # Ctrl-C
    else:
        os.kill(served.process.pid, ending)
    served.process.wait(PATIENCE_S)
    until(lambda: not any(is_alive(pid) for pid in children))
    _, said = served.process.communicate()
    assert said == ""
