"""Tasks, verdicts, measured runs and comparisons, canaries; and the approval of a changed output."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from keepwarm.api.contract import answer, body, read_body, reply
from keepwarm.api.evidence import approving, measured, records, verdicts
from keepwarm.api.routes.diagnoses import Id
from keepwarm.api.routes.results import Limit, Offset
from keepwarm.api.schema.evidence import (
    ApprovalCall,
    CanaryAnswer,
    ComparisonAnswer,
    PairRows,
    ReplayAnswer,
    ReplayRows,
    TaskAnswer,
    TuningAnswer,
    VerdictAnswer,
)
from keepwarm.api.state import LibraryNow

router = APIRouter(prefix="/api", tags=["evidence"])
By = Annotated[Literal["recorded", "ttft"], Query(description="ttft: largest change first.")]


@router.get("/tasks/{id}", **answer(TaskAnswer))
def get_task(id: Id, library: LibraryNow) -> Response:  # noqa: A002 - as the path says
    """A task of repair."""
    return reply(records.task_answer(library, id))


@router.get("/verdicts/{id}", **answer(VerdictAnswer))
def get_verdict(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """The guard's checks, and the changed outputs side by side."""
    return reply(verdicts.verdict_answer(library, id))


@router.post("/verdicts/{id}/approvals", **answer(VerdictAnswer, status=201), **body(ApprovalCall))
async def approve(id: Id, request: Request, library: LibraryNow) -> Response:  # noqa: A002
    """Write a person's word for one output into the approvals file beside the verdict."""
    call = await read_body(request, ApprovalCall)
    return reply(await run_in_threadpool(approving.approve, library, id, call), status=201)


@router.get("/replays/{id}", **answer(ReplayAnswer))
def get_replay(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """A measured run."""
    return reply(measured.replay_answer(library, id))


@router.get("/replays/{id}/requests", **answer(ReplayRows))
def list_replay_requests(id: Id, library: LibraryNow, offset: Offset = 0, limit: Limit = 100) -> Response:  # noqa: A002
    """Its requests, a page at a time."""
    return reply(measured.replay_rows(library, id, offset, limit))


@router.get("/comparisons/{id}", **answer(ComparisonAnswer))
def get_comparison(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """BEFORE against AFTER."""
    return reply(measured.comparison_answer(library, id))


@router.get("/comparisons/{id}/pairs", **answer(PairRows))
def list_pairs(
    id: Id,  # noqa: A002
    library: LibraryNow,
    order: By = "recorded",
    offset: Offset = 0,
    limit: Limit = 1_000,
) -> Response:
    """The pairs behind it, a page at a time."""
    return reply(measured.comparison_pairs(library, id, order, offset, limit))


@router.get("/canaries/{id}", **answer(CanaryAnswer))
def get_canary(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """The record of a canary with its rollback drill."""
    return reply(records.canary_answer(library, id))


@router.get("/tunings/{id}", **answer(TuningAnswer))
def get_tuning(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """The record of a search for the scan limit."""
    return reply(records.tuning_answer(library, id))
