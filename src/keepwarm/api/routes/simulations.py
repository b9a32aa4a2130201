"""Simulations as they were written: caches, servers, and what happened to each session."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from fastapi import APIRouter
from fastapi.responses import Response

from keepwarm._errors import InputError
from keepwarm._json import from_json
from keepwarm.api.contract import answer, reply
from keepwarm.api.library.library import Library
from keepwarm.api.routes.diagnoses import Id
from keepwarm.api.schema.library import Kind
from keepwarm.api.state import LibraryNow
from keepwarm.cache.simulation import Simulation
from keepwarm.serving.report.base import ServingReport
from keepwarm.serving.timeline import Timeline

router = APIRouter(prefix="/api", tags=["simulations"])
_Document = TypeVar("_Document")


@router.get("/cache-simulations/{id}", **answer(Simulation))
def get_cache_simulation(id: Id, library: LibraryNow) -> Response:  # noqa: A002 - as the path says
    """Hit rates by policy and capacity, with the curve where one was asked for."""
    return reply(_read(library, id, "cache-simulation", Simulation))


@router.get("/serving-simulations/{id}", **answer(ServingReport))
def get_serving_simulation(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """Figures by queue order, eviction, number of sessions and seed."""
    return reply(_read(library, id, "serving-simulation", ServingReport))


@router.get("/timelines/{id}", **answer(Timeline))
def get_timeline(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """What happened to each session of one run."""
    return reply(_read(library, id, "timeline", Timeline))


def _read(library: Library, id: str, kind: Kind, document: type[_Document]) -> _Document:  # noqa: A002
    found = library.find(id, kind)
    try:
        return from_json(found.read(), document)
    except msgspec.DecodeError as error:
        raise InputError(f"{found.item.path!r} cannot be read: {error}; write it again") from None
