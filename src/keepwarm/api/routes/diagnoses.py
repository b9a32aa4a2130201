"""A diagnosis in the parts that its views ask for."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from keepwarm.api.contract import answer
from keepwarm.api.routes.results import Limit, Offset
from keepwarm.api.schema.diagnosis import CallSites, DiagnosisAnswer, Order, RequestAnswer, Requests
from keepwarm.diagnose.prompt_map import Fate, PromptMap
from keepwarm.diagnose.templates import Template

router = APIRouter(prefix="/api/diagnoses/{id}", tags=["diagnoses"])

Id = Annotated[str, Path(pattern="^[0-9a-f]{12}$")]
Site = Annotated[str | None, Query(max_length=200, description="Id of a call site.")]
Session = Annotated[str | None, Query(max_length=2_000)]
Text = Annotated[str | None, Query(max_length=200, description="Part of a request's id.")]


@router.get("", **answer(DiagnosisAnswer))
def get_diagnosis(id: Id) -> Response:  # noqa: A002 - as the path says
    """The document, and what can be asked further."""
    raise NotImplementedError


@router.get("/call-sites", **answer(CallSites))
def list_call_sites(id: Id) -> Response:  # noqa: A002
    """The leaderboard, most lost tokens first."""
    raise NotImplementedError


@router.get("/requests", **answer(Requests))
def list_requests(
    id: Id,  # noqa: A002
    call_site: Site = None,
    session: Session = None,
    cause: Annotated[str | None, Query(max_length=40)] = None,
    fate: Annotated[Fate | None, Query(description="Only those with tokens of that fate.")] = None,
    text: Text = None,
    order: Order = "time",
    offset: Offset = 0,
    limit: Limit = 100,
) -> Response:
    """Requests by call site, session, cause, fate and id, a page at a time."""
    raise NotImplementedError


@router.get("/requests/{index}", **answer(RequestAnswer))
def get_request(id: Id, index: Annotated[int, Path(ge=0, le=2**31 - 1)]) -> Response:  # noqa: A002
    """One request: its tokens around the break, its baseline, its findings."""
    raise NotImplementedError


@router.get("/map", **answer(PromptMap))
def get_map(
    id: Id,  # noqa: A002
    call_site: Site = None,
    session: Session = None,
    group: Annotated[
        Literal["time", "call_site", "session"], Query(description="What stands together; time within.")
    ] = "time",
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=20_000)] = 10_000,
) -> Response:
    """The break map: runs of fates and sections of every request."""
    raise NotImplementedError


@router.get("/templates/{call_site}", **answer(Template))
def get_template(id: Id, call_site: Annotated[str, Path(max_length=200)]) -> Response:  # noqa: A002
    """The template of a call site with its slots, aligned across requests."""
    raise NotImplementedError
