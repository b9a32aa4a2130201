"""Who waits, who runs and who is told, with processes that answer when a test says so."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import pytest

from keepwarm.api.jobs import jobs as jobs_module
from keepwarm.api.jobs.jobs import AT_ONCE, REMEMBERED, Jobs
from keepwarm.api.jobs.messages import Answered, Message, Refused, Staged
from keepwarm.api.jobs.process import Gone
from keepwarm.api.jobs.recorded import Recorded
from keepwarm.api.jobs.worker import refusal
from keepwarm.api.problems import Conflict, NoSuchResult
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.reorder import ReorderCall, ReorderResult, Tally
from tests.api.jobs.making import CALL, PATIENCE_S, ended, until

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
        self.may_answer.wait(PATIENCE_S)
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
    assert said.startswith("a bug in keepwarm, ValueError at test_turns.py:")
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
    assert problem.startswith("a bug in keepwarm, ValueError at test_turns.py:")
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
            may_start.wait(PATIENCE_S)
            super().__init__(recorded, idle_s)

        def end(self) -> int:
            seen.append("ended")
            return super().end()

    def close() -> None:
        jobs.close()
        seen.append("closed")

    monkeypatch.setattr(jobs_module, "Process", Late)
    job = jobs.start("d1", RECORDED, CALL)
    assert starting.wait(PATIENCE_S)
    closing = threading.Thread(target=close)
    closing.start()
    until(lambda: jobs.get(job.id).state == "cancelled")
    closing.join(0.2)  # it goes on
    may_start.set()
    closing.join(PATIENCE_S)
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
