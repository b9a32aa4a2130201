"""What lies in the folder, and the overview that the first page shows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from keepwarm import __version__
from keepwarm._text import encodable
from keepwarm.api.contract import answer, reply
from keepwarm.api.diagnoses.shelf import ShelfNow
from keepwarm.api.overview import overview
from keepwarm.api.schema.library import Items, Kind, Overview, Server
from keepwarm.api.state import LibraryNow

router = APIRouter(prefix="/api", tags=["results"])

Offset = Annotated[int, Query(ge=0, le=10_000_000)]
Limit = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/server", **answer(Server))
def get_server(library: LibraryNow) -> Response:
    """What is served and how."""
    return reply(
        Server(name=encodable(library.root.name), revealed=library.revealed, keepwarm_version=__version__)
    )


@router.get("/results", **answer(Items))
def list_results(
    library: LibraryNow, kind: Kind | None = None, offset: Offset = 0, limit: Limit = 200
) -> Response:
    """The results in the folder, newest first."""
    items = library.items(kind)
    return reply(Items(items=items[offset : offset + limit], total=len(items)))


@router.get("/overview", **answer(Overview))
def get_overview(
    library: LibraryNow,
    shelf: ShelfNow,
    diagnosis: Annotated[str | None, Query(pattern="^[0-9a-f]{12}$")] = None,
) -> Response:
    """What loses most, where and why, what was measured, whether behaviour changed."""
    return reply(overview(library, shelf, diagnosis))
