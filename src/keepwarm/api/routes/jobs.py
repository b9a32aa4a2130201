"""Simulations on demand: start, watch over server-sent events, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from keepwarm.api.contract import answer, body, events, read_body, reply
from keepwarm.api.jobs.events import event_stream
from keepwarm.api.jobs.recorded import recorded_of
from keepwarm.api.jobs.state import JobsNow
from keepwarm.api.routes.diagnoses import Id
from keepwarm.api.schema.jobs import Job
from keepwarm.api.state import LibraryNow
from keepwarm.diagnose.reorder import ReorderCall

router = APIRouter(prefix="/api", tags=["jobs"])
JobId = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@router.post("/diagnoses/{id}/reorders", **answer(Job, status=202), **body(ReorderCall))
async def start_reorder(
    id: Id,  # noqa: A002 - as the path says
    request: Request,
    library: LibraryNow,
    jobs: JobsNow,
) -> Response:
    """Simulate the recorded requests with the prompts of one call site laid out otherwise."""
    call = await read_body(request, ReorderCall)
    recorded = await run_in_threadpool(lambda: recorded_of(library.find(id, "diagnosis")))
    return reply(jobs.start(id, recorded, call), status=202)


@router.get("/jobs/{job}", **answer(Job))
def get_job(job: JobId, jobs: JobsNow) -> Response:
    """How far it is."""
    return reply(jobs.get(job))


@router.get("/jobs/{job}/events", **events())
async def watch_job(job: JobId, jobs: JobsNow) -> Response:
    """Server-sent events, one a change; the last has the result, or the reason why there is none."""
    return event_stream(jobs, job)


@router.delete("/jobs/{job}", **answer(Job))
def cancel_job(job: JobId, jobs: JobsNow) -> Response:
    """Cancel it; a job that has ended stays as it ended."""
    return reply(jobs.cancel(job))
