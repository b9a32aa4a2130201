"""Simulations on demand: start, watch over server-sent events, cancel."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from keepwarm.api.contract import answer, body, events
from keepwarm.api.routes.diagnoses import Id
from keepwarm.api.schema.jobs import Job
from keepwarm.diagnose.reorder import ReorderCall

router = APIRouter(prefix="/api", tags=["jobs"])
JobId = Annotated[str, Path(pattern="^[0-9a-f]{16}$")]


@router.post("/diagnoses/{id}/reorders", **answer(Job, status=202), **body(ReorderCall))
async def start_reorder(id: Id, request: Request) -> Response:  # noqa: A002 - as the path says
    """Simulate the recorded requests with the prompts of one call site laid out otherwise."""
    raise NotImplementedError


@router.get("/jobs/{job}", **answer(Job))
def get_job(job: JobId) -> Response:
    """How far it is."""
    raise NotImplementedError


@router.get("/jobs/{job}/events", **events())
async def watch_job(job: JobId) -> Response:
    """Server-sent events, one a change; the last has the result, or the reason why there is none."""
    raise NotImplementedError


@router.delete("/jobs/{job}", **answer(Job))
def cancel_job(job: JobId) -> Response:
    """Cancel it; a job that has ended stays as it ended."""
    raise NotImplementedError
