"""Simulations on demand: what comes out, who waits, and that no process is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from keepwarm._json import to_json
from keepwarm.api.jobs import jobs as jobs_module
from keepwarm.api.jobs.jobs import AT_ONCE, REMEMBERED, Jobs
from keepwarm.api.jobs.messages import Answered, Message, Refused, Staged
from keepwarm.api.jobs.process import Gone, Process
from keepwarm.api.jobs.recorded import Recorded, recorded_of
from keepwarm.api.jobs.worker import refusal
from keepwarm.api.library.library import Library
from keepwarm.api.problems import Conflict, NoSuchResult
from keepwarm.api.schema.jobs import Job
from keepwarm.diagnose import diagnose
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.reorder import ReorderCall, ReorderResult, Tally, resimulate
from keepwarm.diagnose.report.as_json import diagnosis_document
from tests.api.calling import client, ids, problem

CALL = ReorderCall(call_site="site-1", findings=("F2", "F5"))
_PATIENCE_S = 60.0


class Desk(NamedTuple):
    """A folder with a diagnosis and its trace beside it, to be spoilt at will."""

    root: Path
    trace: Path

    @property
    def recorded(self) -> Recorded:
        library = Library(self.root, revealed=False)
        return recorded_of(library.find(library.items("diagnosis")[0].id, "diagnosis"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    root = tmp_path_factory.mktemp("written")
    trace = shutil.copy(repository / "examples" / "helpdesk" / "traffic.jsonl.gz", root)
    document = diagnosis_document(diagnose(str(trace)), revealed=True)
    (root / "diagnosis.json").write_bytes(to_json(document))
    return root


@pytest.fixture
def desk(written: Path, tmp_path: Path) -> Desk:
    root = tmp_path / "results"
    root.mkdir()
    trace = Path(shutil.copy(written / "traffic.jsonl.gz", tmp_path))
    document = json.loads((written / "diagnosis.json").read_bytes())
    document["input"]["path"] = str(trace)
    (root / "diagnosis.json").write_text(json.dumps(document))
    return Desk(root, trace)


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    made = Jobs()
    yield made
    made.close()


def until(true: Callable[[], bool]) -> None:
    end_s = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < end_s, "it never came true"
        time.sleep(0.01)


def ended(jobs: Jobs, job: Job) -> Job:
    until(lambda: jobs.get(job.id).state in ("done", "failed", "cancelled"))
    return jobs.get(job.id)


def is_alive(pid: int) -> bool:
    """Whether a process of that id runs; a dead one that nobody has waited for does not."""
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_result_is_that_of_the_diagnosis(desk: Desk, jobs: Jobs) -> None:
    job = jobs.start("d1", desk.recorded, CALL)
    assert (job.state, job.diagnosis, job.call) == ("running", "d1", CALL)
    done = ended(jobs, job)
    assert done.problem is None
    assert done.result == resimulate(examine(str(desk.trace)), CALL)
    assert (done.state, done.stage, done.done, done.total) == ("done", "", 0, 0)


def test_the_same_call_is_answered_once(desk: Desk, jobs: Jobs) -> None:
    job = jobs.start("d1", desk.recorded, CALL)
    assert jobs.start("d1", desk.recorded, CALL).id == job.id
    ended(jobs, job)
    again = jobs.start("d1", desk.recorded, ReorderCall(call_site="site-1", findings=("F5", "F2", "F5")))
    assert (again.id, again.state) == (job.id, "done")


def test_a_second_call_is_for_the_process_that_knows_the_trace(
    desk: Desk, jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Process] = []

    class Noted(Process):
        def __init__(self, recorded: Recorded, idle_s: float) -> None:
            super().__init__(recorded, idle_s)
            started.append(self)

    monkeypatch.setattr(jobs_module, "Process", Noted)
    ended(jobs, jobs.start("d1", desk.recorded, CALL))
    desk.trace.unlink()  # nobody reads it again
    second = ended(
        jobs, jobs.start("d1", desk_recorded(started), ReorderCall(call_site="site-4", findings=("F1",)))
    )
    assert second.state == "done"
    assert len(started) == 1
    assert started[0].pid is not None
    jobs.close()
    assert not is_alive(started[0].pid)


def desk_recorded(started: list[Process]) -> Recorded:
    return started[0].recorded


def test_a_process_that_nobody_asks_ends_by_itself(desk: Desk) -> None:
    process = Process(desk.recorded, idle_s=0.05)
    until(lambda: not process.is_alive())
    with pytest.raises(Gone):
        list(process.ask(CALL))


def test_after_that_the_next_call_takes_a_new_one(desk: Desk) -> None:
    jobs = Jobs(idle_s=2.0)
    ended(jobs, jobs.start("d1", desk.recorded, CALL))
    until(lambda: not jobs.processes()[0].is_alive())
    other = ended(jobs, jobs.start("d1", desk.recorded, ReorderCall(call_site="site-4", findings=("F1",))))
    assert other.state == "done"
    jobs.close()


def test_a_cancelled_job_ends_its_process(desk: Desk, jobs: Jobs) -> None:
    job = jobs.start("d1", desk.recorded, CALL)
    until(lambda: jobs.get(job.id).stage not in ("", "starting"))
    (pid,) = [process.pid for process in jobs.processes()]
    assert pid is not None
    assert is_alive(pid)
    assert jobs.cancel(job.id).state == "cancelled"
    until(lambda: not is_alive(pid))
    assert jobs.cancel(job.id).state == "cancelled"
    again = jobs.start("d1", desk.recorded, CALL)
    assert again.id != job.id
    assert ended(jobs, again).state == "done"
    assert jobs.cancel(again.id).state == "done"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (ReorderCall(call_site="site-9", findings=("F1",)), "no call site 'site-9'"),
        (ReorderCall(call_site="site-1", findings=("F1",)), "no finding 'F1' at call site 'site-1'"),
    ],
)
def test_a_wrong_call_fails_in_one_line(desk: Desk, jobs: Jobs, call: ReorderCall, says: str) -> None:
    failed = ended(jobs, jobs.start("d1", desk.recorded, call))
    assert (failed.state, failed.result) == ("failed", None)
    assert failed.problem is not None
    assert says in failed.problem
    assert "\n" not in failed.problem


def test_another_trace_in_its_place_is_refused(desk: Desk, jobs: Jobs, repository: Path) -> None:
    shutil.copy(repository / "examples" / "helpdesk" / "traffic.repaired.jsonl.gz", desk.trace)
    failed = ended(jobs, jobs.start("d1", desk.recorded, CALL))
    assert failed.state == "failed"
    assert "was changed since it was diagnosed" in str(failed.problem)


def test_a_diagnosis_that_says_other_figures_is_refused(desk: Desk, jobs: Jobs) -> None:
    path = desk.root / "diagnosis.json"
    document = json.loads(path.read_bytes())
    document["tokens"]["hit"] += 16
    path.write_text(json.dumps(document))
    failed = ended(jobs, jobs.start("d1", desk.recorded, CALL))
    assert "gives other figures than the saved diagnosis" in str(failed.problem)


def test_a_kept_process_that_ended_unseen_is_replaced(slow: list[Slow], jobs: Jobs) -> None:
    job = jobs.start("d1", RECORDED, calls(1)[0])
    until(lambda: bool(slow))
    slow[0].may_answer.set()
    ended(jobs, job)
    slow[0].ask = _gone  # type: ignore[method-assign]  # it looks alive, and is not
    second = jobs.start("d1", RECORDED, calls(2)[1])
    until(lambda: len(slow) == 2)
    slow[1].may_answer.set()
    assert ended(jobs, second).state == "done"


def _gone(call: ReorderCall) -> Iterator[Message]:
    yield from ()
    raise Gone(0)


def test_a_process_that_is_killed_fails_its_job(desk: Desk, jobs: Jobs) -> None:
    job = jobs.start("d1", desk.recorded, CALL)
    until(lambda: bool(jobs.processes()))
    (process,) = jobs.processes()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    failed = ended(jobs, job)
    assert failed.state == "failed"
    assert "exit code -9" in str(failed.problem)
    assert ended(jobs, jobs.start("d1", desk.recorded, CALL)).state == "done"


def test_where_the_trace_is_looked_for(desk: Desk) -> None:
    other = desk.root / desk.trace.name
    desk.trace.rename(other)
    assert desk.recorded.trace == str(other.resolve())
    (desk.root / "traces").mkdir()
    document = json.loads((desk.root / "diagnosis.json").read_bytes())
    document["input"]["path"] = f"traces/{desk.trace.name}"
    (desk.root / "diagnosis.json").write_text(json.dumps(document))
    inner = other.rename(desk.root / "traces" / other.name)
    assert desk.recorded.trace == str(inner.resolve())
    inner.unlink()
    with pytest.raises(Conflict, match="is not there any more, so nothing can be simulated; put it back"):
        _ = desk.recorded


@pytest.mark.parametrize("path", ["x" * 5_000, "a\0b", "", "/", "nowhere/../..", "\ud800"])
def test_a_path_that_names_no_file_is_a_trace_that_is_gone(desk: Desk, path: str) -> None:
    desk.trace.unlink()
    document = json.loads((desk.root / "diagnosis.json").read_bytes())
    document["input"]["path"] = path
    (desk.root / "diagnosis.json").write_text(json.dumps(document))
    with pytest.raises(Conflict, match="is not there any more"):
        _ = desk.recorded


def test_nothing_is_asked_of_a_server(desk: Desk) -> None:
    document = json.loads((desk.root / "diagnosis.json").read_bytes())
    document["options"] = {"tokenizer": "http://127.0.0.1:1/"}
    (desk.root / "diagnosis.json").write_text(json.dumps(document))
    with pytest.raises(Conflict, match="this one sends nothing anywhere"):
        _ = desk.recorded


TALLY = Tally(prompt_tokens=2, hit_tokens=1, hit_rate=0.5)
RESULT = ReorderResult(
    call_site_before=TALLY, call_site_after=TALLY, trace_before=TALLY, trace_after=TALLY, changed_requests=1
)
RECORDED = Recorded(trace="t", sha256="s", options=Options(), figures="")


class Slow:
    """In place of a process: it answers when a test says so."""

    made: ClassVar[list[Slow]] = []

    def __init__(self, recorded: Recorded, idle_s: float) -> None:
        self.recorded = recorded
        self.call: ReorderCall | None = None
        self.may_answer, self.has_stopped = threading.Event(), threading.Event()
        Slow.made.append(self)

    def ask(self, call: ReorderCall) -> Iterator[Message]:
        self.call = call
        yield Staged("reading", 1, 2)
        self.may_answer.wait(_PATIENCE_S)
        if self.has_stopped.is_set():
            raise Gone(-15)
        if call.call_site == "strange":
            raise ValueError("recorded words")
        yield Refused("no\n such thing") if call.call_site == "bad" else Answered(RESULT)

    def is_alive(self) -> bool:
        return not self.has_stopped.is_set()

    def stop(self) -> None:
        self.has_stopped.set()
        self.may_answer.set()

    def end(self) -> int:
        self.stop()
        return -15


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[Slow]:
    monkeypatch.setattr(Slow, "made", [])
    monkeypatch.setattr(jobs_module, "Process", Slow)
    return Slow.made


def calls(count: int) -> list[ReorderCall]:
    return [ReorderCall(call_site=f"site-{n}", findings=("F1",)) for n in range(count)]


def test_of_a_bug_nothing_recorded_is_told() -> None:
    with pytest.raises(ValueError, match="recorded words") as caught:
        int("recorded words")
    said = refusal(caught.value).problem
    assert said.startswith("a bug in keepwarm, ValueError at test_jobs.py:")
    assert "recorded words" not in said


def test_two_run_at_once_and_others_wait_their_turn(slow: list[Slow], jobs: Jobs) -> None:
    started = [jobs.start("d1", RECORDED, call) for call in calls(4)]
    assert [job.state for job in started] == ["running", "running", "waiting", "waiting"]
    until(lambda: {one.call for one in slow} == {started[0].call, started[1].call})
    first, second = sorted(slow, key=lambda one: str(one.call))
    assert jobs.cancel(started[2].id).state == "cancelled"
    first.may_answer.set()
    assert ended(jobs, started[0]).result == RESULT
    assert ended(jobs, started[3]).state == "done"  # by the first one, which knows the trace
    assert jobs.get(started[1].id).state == "running"
    second.may_answer.set()
    assert ended(jobs, started[1]).state == "done"
    assert jobs.get(started[2].id).state == "cancelled"
    assert len(slow) == AT_ONCE


def test_no_more_than_two_processes_live_whatever_they_know(slow: list[Slow], jobs: Jobs) -> None:
    for n in range(5):
        job = jobs.start("d1", msgspec.structs.replace(RECORDED, sha256=str(n)), calls(1)[0])
        until(lambda: len(slow) == n + 1)  # noqa: B023 - it is asked at once
        slow[n].may_answer.set()
        assert ended(jobs, job).state == "done"
        until(lambda: sum(one.is_alive() for one in slow) <= AT_ONCE)
    jobs.close()
    assert not any(one.is_alive() for one in slow)


def test_the_oldest_that_ended_is_forgotten(slow: list[Slow], jobs: Jobs) -> None:
    first, *others = [jobs.start("d1", RECORDED, call) for call in calls(REMEMBERED)]
    with pytest.raises(Conflict, match=f"{REMEMBERED} simulations wait already"):
        jobs.start("d1", RECORDED, ReorderCall(call_site="one-more", findings=("F1",)))
    jobs.cancel(first.id)
    jobs.cancel(others[-1].id)
    more = jobs.start("d1", RECORDED, ReorderCall(call_site="one-more", findings=("F1",)))
    with pytest.raises(NoSuchResult, match="there is no job"):
        jobs.get(first.id)
    assert jobs.get(others[-1].id).state == "cancelled"
    assert jobs.get(more.id).state == "waiting"


def test_a_refusal_is_one_line(slow: list[Slow], jobs: Jobs) -> None:
    job = jobs.start("d1", RECORDED, ReorderCall(call_site="bad"))
    until(lambda: bool(slow))
    slow[0].may_answer.set()
    assert ended(jobs, job).problem == "no such thing"


def test_whatever_goes_wrong_a_job_ends_and_the_next_one_runs(slow: list[Slow], jobs: Jobs) -> None:
    job = jobs.start("d1", RECORDED, ReorderCall(call_site="strange"))
    until(lambda: bool(slow))
    slow[0].may_answer.set()
    problem = ended(jobs, job).problem
    assert problem is not None
    assert problem.startswith("a bug in keepwarm, ValueError at test_jobs.py:")
    after = jobs.start("d1", RECORDED, ReorderCall(call_site="site-1", findings=("F1",)))
    until(lambda: len(slow) == 2)
    slow[1].may_answer.set()
    assert ended(jobs, after).state == "done"


def test_nothing_starts_after_the_end(slow: list[Slow], jobs: Jobs) -> None:
    started = [jobs.start("d1", RECORDED, call) for call in calls(3)]
    until(lambda: len(slow) == AT_ONCE)
    jobs.close()
    assert [jobs.get(job.id).state for job in started] == ["cancelled"] * 3
    assert not any(one.is_alive() for one in slow)
    assert len(slow) == AT_ONCE
    with pytest.raises(Conflict, match="about to end"):
        jobs.start("d1", RECORDED, calls(4)[3])


def test_the_end_waits_for_a_process_that_is_starting(
    slow: list[Slow], jobs: Jobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, may_start = threading.Event(), threading.Event()
    seen: list[str] = []

    class Late(Slow):
        def __init__(self, recorded: Recorded, idle_s: float) -> None:
            starting.set()
            may_start.wait(_PATIENCE_S)
            super().__init__(recorded, idle_s)

        def end(self) -> int:
            seen.append("ended")
            return super().end()

    def close() -> None:
        jobs.close()
        seen.append("closed")

    monkeypatch.setattr(jobs_module, "Process", Late)
    job = jobs.start("d1", RECORDED, CALL)
    assert starting.wait(_PATIENCE_S)
    closing = threading.Thread(target=close)
    closing.start()
    until(lambda: jobs.get(job.id).state == "cancelled")
    closing.join(0.2)  # it goes on
    may_start.set()
    closing.join(_PATIENCE_S)
    assert seen == ["ended", "closed"]
    assert not slow[0].is_alive()


def test_who_watches_sees_the_present_at_once_every_change_and_the_end(slow: list[Slow], jobs: Jobs) -> None:
    job = jobs.start("d1", RECORDED, calls(1)[0])
    until(lambda: jobs.get(job.id).stage == "reading")

    async def watched() -> list[Any]:
        seen: list[Any] = []
        async for item in jobs.watch(job.id, heartbeat_s=0.02):
            seen.append(item)
            if len(seen) == 3:
                slow[0].may_answer.set()
        return seen

    first, *between, last = asyncio.run(watched())
    assert first.job.stage == "reading"
    assert None in between  # nothing happened for a while
    assert last.job.state == "done"
    assert last.version > first.version
    again = asyncio.run(watched())
    assert [item.job.state for item in again] == ["done"]


def test_who_goes_away_leaves_the_job_running(slow: list[Slow], jobs: Jobs) -> None:
    job = jobs.start("d1", RECORDED, calls(1)[0])

    async def glance() -> None:
        watching = jobs.watch(job.id, heartbeat_s=1.0)
        await anext(watching)
        await watching.aclose()

    asyncio.run(glance())
    assert jobs.get(job.id).state == "running"
    until(lambda: bool(slow))
    slow[0].may_answer.set()
    assert ended(jobs, job).state == "done"


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
        with contextlib.closing(http.client.HTTPConnection(self.host, timeout=_PATIENCE_S)) as connection:
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
    served.process.wait(_PATIENCE_S)
    until(lambda: not any(is_alive(pid) for pid in children))
    _, said = served.process.communicate()
    assert said == ""
