"""The application, put together."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from keepwarm import __version__
from keepwarm._errors import KeepwarmError
from keepwarm._text import clip
from keepwarm.api.contract import openapi, reply
from keepwarm.api.diagnoses.shelf import Shelf
from keepwarm.api.jobs.jobs import Jobs
from keepwarm.api.jobs.state import ending_jobs
from keepwarm.api.library.library import Library
from keepwarm.api.problems import bug, status_of
from keepwarm.api.routes import diagnoses, evidence, jobs, results, simulations
from keepwarm.api.schema.library import Problem

_SHOWN_CHARACTERS = 80


def create_app(library: Library | None = None) -> FastAPI:
    """The API over ``library``; nothing is read before it is asked for. Without one it describes itself."""
    app = FastAPI(
        title="keepwarm",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=ending_jobs,
    )
    app.state.jobs = Jobs()
    app.state.library = library
    app.state.shelf = None if library is None else Shelf(library)
    for module in (results, diagnoses, jobs, simulations, evidence):
        app.include_router(module.router)
    app.add_api_route("/api/openapi.json", lambda: reply(openapi(app)), include_in_schema=False)
    app.add_exception_handler(KeepwarmError, _ours)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(Exception, _bug)  # raised again afterwards, for the guard to tell the terminal
    return app


def api_document() -> dict[str, Any]:
    """OpenAPI, from the code."""
    return openapi(create_app())


def _ours(_request: Request, error: Exception) -> Response:
    """An error of ours is its own line; a bug goes on to whoever reports it."""
    status = status_of(error)
    if status is None:
        raise error
    return _problem(str(error), status)


def _unfit(_request: Request, error: Exception) -> Response:
    """The first parameter that is not what it must be, with its value."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"][1:]) or "it"
    value = clip(repr(first.get("input")), _SHOWN_CHARACTERS)
    return _problem(f"parameter {name!r} is {value}: {first['msg']}", 422)


def _no_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    allowed = (error.headers or {}).get("Allow", "")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        said = f"{request.method} is not for {request.url.path!r}; it takes {allowed}"
    elif error.status_code == HTTPStatus.NOT_FOUND:
        said = f"there is no {request.url.path!r}; /api/openapi.json lists what there is"
    else:
        said = str(error.detail)
    answer = _problem(said, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


def _bug(_request: Request, error: Exception) -> Response:
    return _problem(bug(error), 500)


def _problem(said: str, status: int) -> Response:
    return reply(Problem(problem=" ".join(said.split())), status=status)
