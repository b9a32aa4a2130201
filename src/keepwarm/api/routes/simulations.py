"""Simulations as they were written: caches, servers, and what happened to each session."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from keepwarm.api.contract import answer, reply
from keepwarm.api.routes.diagnoses import Id
from keepwarm.api.state import LibraryNow
from keepwarm.cache.simulation import Simulation
from keepwarm.serving.report.base import ServingReport
from keepwarm.serving.timeline import Timeline

router = APIRouter(prefix="/api", tags=["simulations"])


@router.get("/cache-simulations/{id}", **answer(Simulation))
def get_cache_simulation(id: Id, library: LibraryNow) -> Response:  # noqa: A002 - as the path says
    """Hit rates by policy and capacity, with the curve where one was asked for."""
    return reply(library.find(id, "cache-simulation").document(Simulation))


@router.get("/serving-simulations/{id}", **answer(ServingReport))
def get_serving_simulation(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """Figures by queue order, eviction, number of sessions and seed."""
    return reply(library.find(id, "serving-simulation").document(ServingReport))


@router.get("/timelines/{id}", **answer(Timeline))
def get_timeline(id: Id, library: LibraryNow) -> Response:  # noqa: A002
    """What happened to each session of one run."""
    return reply(library.find(id, "timeline").document(Timeline))
