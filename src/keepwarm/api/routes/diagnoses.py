"""A diagnosis in the parts that its views ask for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from keepwarm.api.contract import answer, reply
from keepwarm.api.diagnoses.break_map import Group, break_map, grouped
from keepwarm.api.diagnoses.call_sites import call_site_rows
from keepwarm.api.diagnoses.columns import Wanted
from keepwarm.api.diagnoses.request import request_answer
from keepwarm.api.diagnoses.shelf import ShelfNow
from keepwarm.api.diagnoses.traces import why_not_again
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
def get_diagnosis(id: Id, shelf: ShelfNow) -> Response:  # noqa: A002 - as the path says
    """The document, and what can be asked further."""
    opened = shelf.open(id)
    why_not = why_not_again(opened)
    return reply(
        DiagnosisAnswer(
            id=id,
            diagnosis=opened.shown,
            revealed=opened.revealed,
            saved_masked=not opened.saved.revealed,
            has_map=opened.has_map,
            has_templates=opened.has_templates,
            can_resimulate=why_not is None,
            why_not=why_not,
        )
    )


@router.get("/call-sites", **answer(CallSites))
def list_call_sites(id: Id, shelf: ShelfNow) -> Response:  # noqa: A002
    """The leaderboard, most lost tokens first."""
    return reply(CallSites(call_sites=call_site_rows(shelf.open(id))))


@router.get("/requests", **answer(Requests))
def list_requests(
    id: Id,  # noqa: A002
    shelf: ShelfNow,
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
    opened = shelf.open(id)
    columns = opened.requests()
    found = columns.ordered(columns.select(Wanted(call_site, session, cause, fate, text)), order)
    rows = columns.rows(found[offset : offset + limit])
    return reply(Requests(requests=opened.rows_shown(rows), total=len(found)))


@router.get("/requests/{index}", **answer(RequestAnswer))
def get_request(
    id: Id,  # noqa: A002
    shelf: ShelfNow,
    index: Annotated[int, Path(ge=0, le=2**31 - 1)],
) -> Response:
    """One request: its tokens around the break, its baseline, its findings."""
    return reply(request_answer(shelf.open(id), index))


@router.get("/map", **answer(PromptMap))
def get_map(
    id: Id,  # noqa: A002
    shelf: ShelfNow,
    call_site: Site = None,
    session: Session = None,
    group: Annotated[Group, Query(description="What stands together; time within.")] = "time",
    offset: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=20_000)] = 10_000,
) -> Response:
    """The break map: runs of fates and sections of every request."""
    opened = shelf.open(id)
    columns, runs = opened.requests(), opened.runs()
    found = grouped(columns, columns.select(Wanted(call_site, session)), group)
    return reply(break_map(columns, runs, found, slice(offset, offset + limit)))


@router.get("/templates/{call_site}", **answer(Template))
def get_template(
    id: Id,  # noqa: A002
    shelf: ShelfNow,
    call_site: Annotated[str, Path(max_length=200)],
) -> Response:
    """The template of a call site with its slots, aligned across requests."""
    return reply(shelf.open(id).template(call_site))
