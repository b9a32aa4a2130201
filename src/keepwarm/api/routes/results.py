"""What lies in the folder, and the overview that the first page shows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from keepwarm.api.contract import answer
from keepwarm.api.schema.library import Items, Kind, Overview, Server

router = APIRouter(prefix="/api", tags=["results"])

Offset = Annotated[int, Query(ge=0, le=10_000_000)]
Limit = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/server", **answer(Server))
def get_server() -> Response:
    """What is served and how."""
    raise NotImplementedError


@router.get("/results", **answer(Items))
def list_results(kind: Kind | None = None, offset: Offset = 0, limit: Limit = 200) -> Response:
    """The results in the folder, newest first."""
    raise NotImplementedError


@router.get("/overview", **answer(Overview))
def get_overview(diagnosis: str | None = None) -> Response:
    """What loses most, where and why, what was measured, whether behaviour changed."""
    raise NotImplementedError
