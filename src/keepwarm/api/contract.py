"""How OpenAPI learns the types of answers and bodies: from the records themselves, said once.

A route says ``**answer(Type)`` and ``**body(Type)``; ``openapi`` puts their JSON schemas where the routes
refer to them. Nothing is converted on the way: answers are encoded by msgspec, bodies are decoded by it.
"""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
from fastapi import FastAPI, Request
from fastapi.responses import Response

from keepwarm import __version__
from keepwarm._errors import InputError
from keepwarm._json import decoded, without_surrogates
from keepwarm.api.problems import TooLong
from keepwarm.api.schema.library import Problem

MOST_BODY_BYTES = 1 << 20
_REFERENCE = "keepwarm:"
_UNFIT = re.compile(r"[^A-Za-z0-9_]")
_Body = TypeVar("_Body")
_types: list[type] = []

PROBLEMS: dict[int, str] = {
    400: "The call is wrong.",
    401: "No token, or a wrong one.",
    403: "Wrong Host or Origin.",
    404: "There is no such thing.",
    409: "It was changed meanwhile, or cannot be had as things stand.",
    413: "The body is too long.",
    422: "A parameter or the body is not what it must be.",
}


def answer(kind: type, *, status: int = 200) -> dict[str, Any]:
    """Arguments of a route that answers with ``kind``, or with a problem."""
    fine = {status: {"description": "The answer.", **_content(kind)}}
    return {"response_model": None, "responses": fine | _problems(), "status_code": status}


def events() -> dict[str, Any]:
    """Arguments of a route that answers with server-sent events, or with a problem."""
    fine = {200: {"description": "Events.", "content": {"text/event-stream": {"schema": {"type": "string"}}}}}
    return {"response_model": None, "response_class": Response, "responses": fine | _problems()}


def body(kind: type) -> dict[str, Any]:
    """Arguments of a route that takes ``kind``; read it with ``read_body``."""
    return {"openapi_extra": {"requestBody": {"required": True, **_content(kind)}}}


async def read_body(request: Request, kind: type[_Body]) -> _Body:
    """The body. Raises TooLong, or InputError: it is no such document."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BODY_BYTES:
            raise TooLong(f"the body is longer than {MOST_BODY_BYTES} bytes; send less")
    try:
        return decoded(content, kind)
    except msgspec.DecodeError as error:
        raise InputError(f"the body is no {kind.__name__}: {error}; see /api/openapi.json") from None


def reply(document: Any, *, status: int = 200) -> Response:
    """``document`` as JSON: what is not a finite number is null, what UTF-8 cannot carry is escaped."""
    try:
        content = msgspec.json.encode(document)
    except UnicodeEncodeError:
        content = msgspec.json.encode(without_surrogates(msgspec.to_builtins(document)))
    return Response(content, status_code=status, media_type="application/json")


def openapi(app: FastAPI) -> dict[str, Any]:
    """The document, with the schemas of every type that a route named. Does not mutate ``app``."""
    from fastapi.openapi.utils import get_openapi

    document = get_openapi(title="keepwarm", version=__version__, routes=app.routes)
    schemas, components = msgspec.json.schema_components(_types, ref_template="#/components/schemas/{name}")
    names = {name: _UNFIT.sub("_", name) for name in components}
    known = document.setdefault("components", {}).setdefault("schemas", {})
    known.update({names[name]: _renamed(schema, names) for name, schema in components.items()})
    for unused in ("HTTPValidationError", "ValidationError"):
        known.pop(unused, None)
    resolved: dict[str, Any] = _resolved(document, [_renamed(schema, names) for schema in schemas])
    return resolved


def _problems() -> dict[int, dict[str, Any]]:
    return {code: {"description": said, **_content(Problem)} for code, said in PROBLEMS.items()}


def _content(kind: type) -> dict[str, Any]:
    if kind not in _types:
        _types.append(kind)
    return {"content": {"application/json": {"schema": {"$ref": f"{_REFERENCE}{_types.index(kind)}"}}}}


def _renamed(schema: Any, names: dict[str, str]) -> Any:
    """``schema`` with references to components by their new names."""
    if isinstance(schema, dict):
        return {
            key: _new_reference(value, names) if key == "$ref" else _renamed(value, names)
            for key, value in schema.items()
        }
    return [_renamed(item, names) for item in schema] if isinstance(schema, list) else schema


def _new_reference(reference: str, names: dict[str, str]) -> str:
    head, _, name = reference.rpartition("/")
    return f"{head}/{names[name]}"


def _resolved(part: Any, schemas: list[Any]) -> Any:
    if isinstance(part, dict):
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith(_REFERENCE):
            return schemas[int(reference.removeprefix(_REFERENCE))]
        return {key: _resolved(value, schemas) for key, value in part.items()}
    return [_resolved(item, schemas) for item in part] if isinstance(part, list) else part
