"""The application, put together."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from keepwarm import __version__
from keepwarm.api.contract import openapi
from keepwarm.api.routes import diagnoses, evidence, jobs, results, simulations


def create_app() -> FastAPI:
    """The API; nothing is read before it is asked for."""
    app = FastAPI(title="keepwarm", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    for module in (results, diagnoses, jobs, simulations, evidence):
        app.include_router(module.router)
    return app


def api_document() -> dict[str, Any]:
    """OpenAPI, from the code."""
    return openapi(create_app())
