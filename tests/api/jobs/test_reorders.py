"""Simulations of a recorded diagnosis: what comes out, what is refused, and what their processes do."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from keepwarm.api.jobs import jobs as jobs_module
from keepwarm.api.jobs.jobs import Jobs
from keepwarm.api.jobs.process import Gone, Process
from keepwarm.api.jobs.recorded import Recorded
from keepwarm.api.problems import Conflict
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.reorder import ReorderCall, resimulate
from tests.api.jobs.making import CALL, Desk, ended, is_alive, until


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
