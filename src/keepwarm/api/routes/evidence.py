"""Tasks, verdicts, measured runs and comparisons, canaries; and the approval of a changed output."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from keepwarm.api.contract import answer, body
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

router = APIRouter(prefix="/api", tags=["evidence"])
By = Annotated[Literal["recorded", "ttft"], Query(description="ttft: largest change first.")]


@router.get("/tasks/{id}", **answer(TaskAnswer))
def get_task(id: Id) -> Response:  # noqa: A002 - as the path says
    """A task of repair."""
    raise NotImplementedError


@router.get("/verdicts/{id}", **answer(VerdictAnswer))
def get_verdict(id: Id) -> Response:  # noqa: A002
    """The guard's checks, and the changed outputs side by side."""
    raise NotImplementedError


@router.post("/verdicts/{id}/approvals", **answer(VerdictAnswer, status=201), **body(ApprovalCall))
async def approve(id: Id, request: Request) -> Response:  # noqa: A002
    """Write a person's word for one output into the approvals file beside the verdict."""
    raise NotImplementedError


@router.get("/replays/{id}", **answer(ReplayAnswer))
def get_replay(id: Id) -> Response:  # noqa: A002
    """A measured run."""
    raise NotImplementedError


@router.get("/replays/{id}/requests", **answer(ReplayRows))
def list_replay_requests(id: Id, offset: Offset = 0, limit: Limit = 100) -> Response:  # noqa: A002
    """Its requests, a page at a time."""
    raise NotImplementedError


@router.get("/comparisons/{id}", **answer(ComparisonAnswer))
def get_comparison(id: Id) -> Response:  # noqa: A002
    """BEFORE against AFTER."""
    raise NotImplementedError


@router.get("/comparisons/{id}/pairs", **answer(PairRows))
def list_pairs(id: Id, order: By = "recorded", offset: Offset = 0, limit: Limit = 1_000) -> Response:  # noqa: A002
    """The pairs behind it, a page at a time."""
    raise NotImplementedError


@router.get("/canaries/{id}", **answer(CanaryAnswer))
def get_canary(id: Id) -> Response:  # noqa: A002
    """The record of a canary with its rollback drill."""
    raise NotImplementedError


@router.get("/tunings/{id}", **answer(TuningAnswer))
def get_tuning(id: Id) -> Response:  # noqa: A002
    """The record of a search for the scan limit."""
    raise NotImplementedError
