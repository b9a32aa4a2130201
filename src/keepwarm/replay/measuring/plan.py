"""The requests of a trace, each with the tokens that the server will see, before anything is sent."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from keepwarm._errors import InputError, TemplateError
from keepwarm._progress import Progress
from keepwarm.replay.measuring.bodies import Sendable, sendable
from keepwarm.replay.measuring.options import ReplayOptions
from keepwarm.replay.measuring.quoting import unquoted
from keepwarm.replay.measuring.record import Input, Row, ServerFacts
from keepwarm.server.client import RequestFailed, VllmClient
from keepwarm.trace.blocks import read_skipping_param
from keepwarm.trace.hashes import BlockHashes, block_hashes
from keepwarm.trace.open import Trace, open_trace
from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.records import Request


class Planned(NamedTuple):
    """A request to send. ``row`` says so far what is known of it; one that is ``not-sent`` is left out."""

    row: Row
    sendable: Sendable
    time_s: float | None

    @property
    def is_sent(self) -> bool:
        """Whether it fits the server."""
        return self.row.status != "not-sent"


class Plan(NamedTuple):
    """The whole trace. ``sha256`` is of everything that will be sent, in order."""

    input: Input
    entries: tuple[Planned, ...]
    sha256: str


def template_text(path: Path | None) -> str | None:
    """The chat template to send along. Raises TemplateError."""
    if path is None:
        return None
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise TemplateError(
            f"cannot read the chat template {str(path)!r}: {error}; name a text file"
        ) from None


def read_requests(trace: Trace, limit: int | None) -> tuple[Request, ...]:
    """The requests to send, in recorded order. Raises InputError: only block ids are recorded."""
    kept: list[Request] = []
    for request in trace.requests():
        if request.hashed is not None:
            raise InputError(
                f"{str(trace.path)!r} holds block ids and no prompts, so there is nothing to send; "
                "record the requests themselves, or use keepwarm simulate cache"
            )
        if limit is None or len(kept) < limit:
            kept.append(request)
    return tuple(kept)


def make_plan(
    client: VllmClient,
    server: ServerFacts,
    path: str,
    options: ReplayOptions,
    progress: Progress,
) -> Plan:
    """Read the trace and let the server count each prompt. Raises InputError: the trace cannot be sent."""
    trace = open_trace(path, options.format)
    requests = read_requests(trace, options.limit)
    if options.recorded_timing:
        _check_times(trace, requests)
    template = template_text(options.chat_template)
    planner = _Planner(client, server, options, template)
    progress.stage("counting tokens", len(requests))
    entries = []
    for index, request in enumerate(requests):
        entries.append(planner.planned(index, request))
        progress.advance()
    found = Input(
        path=str(trace.path),
        sha256=trace.sha256,
        format=trace.format,
        requests=len(requests),
        models=len({request.model for request in requests}),
        prompt_complete=trace.prompt_complete,
        skipped=trace.skipped,
    )
    return Plan(found, tuple(entries), _digest(entry.row for entry in entries))


class _Planner:
    """Plans one request after another; names blocks by content in the order they are met."""

    def __init__(
        self, client: VllmClient, server: ServerFacts, options: ReplayOptions, template: str | None
    ) -> None:
        self._client = client
        self._server = server
        self._options = options
        self._template = template
        self._names: dict[int, int] = {}

    def planned(self, index: int, request: Request) -> Planned:
        """The request at ``index``. Mutates."""
        to_send = sendable(request, self._server.model, self._options, self._template)
        row = Row(
            index=index,
            line=request.line,
            id=request.id,
            session=request.session,
            call_site=request.call_site,
            api="chat" if to_send.is_chat else "completion",
            body_sha256=hashlib.sha256(msgspec.json.encode(to_send.body)).hexdigest(),
            max_tokens=to_send.body["max_tokens"],
            skip_reads=read_skipping_param(to_send.body, is_chat=to_send.is_chat) is not None,
            tokenized_prompt_tokens=None,
            status="failed",
            error="not answered",
        )
        try:
            ids = to_send.token_ids or self._client.tokenize_body(to_send.tokenize)
        except RequestFailed as error:
            reason = f"the server cannot tokenise it: {unquoted(str(error), to_send.body)}"
            return Planned(_not_sent(row, reason), to_send, request.time_s)
        return self._fitted(row, ids, to_send, request)

    def _fitted(self, row: Row, ids: list[int], to_send: Sendable, request: Request) -> Planned:
        room = self._server.max_model_len - len(ids)
        row = msgspec.structs.replace(
            row, tokenized_prompt_tokens=len(ids), blocks=self._blocks(ids, request)
        )
        if room < 1:
            reason = f"{len(ids)} tokens, but the server's max_model_len is {self._server.max_model_len}"
            return Planned(_not_sent(row, reason), to_send, request.time_s)
        most = min(row.max_tokens, room)
        to_send.body["max_tokens"] = most
        return Planned(msgspec.structs.replace(row, max_tokens=most), to_send, request.time_s)

    def _blocks(self, ids: list[int], request: Request) -> tuple[int, ...]:
        hashes = sent_blocks(np.array(ids, dtype=np.int32), request, self._server.block_size)
        return tuple(self._names.setdefault(each, len(self._names)) for each in hashes.tolist())


def sent_blocks(ids: TokenIds, request: Request, block_size: int) -> BlockHashes:
    """The full blocks of a prompt as the server tells them apart: all are sent to one model, no adapter."""
    salt = request.params.get("cache_salt")
    return block_hashes(ids, block_size, salt=None if salt is None else str(salt))


def _not_sent(row: Row, reason: str) -> Row:
    return msgspec.structs.replace(row, status="not-sent", error=reason)


def _digest(rows: Iterable[Row]) -> str:
    digest = hashlib.sha256()
    for row in rows:
        digest.update(f"{row.body_sha256} {row.max_tokens}\n".encode())
    return digest.hexdigest()


def _check_times(trace: Trace, requests: tuple[Request, ...]) -> None:
    if not trace.one_clock:
        raise InputError(
            f"{str(trace.path)!r} has no clock that its sessions share; leave --timing recorded out"
        )
    untimed = next((request for request in requests if request.time_s is None), None)
    if untimed is not None:
        raise InputError(
            f"{str(trace.path)!r} line {untimed.line} has no time, so it cannot be sent as recorded; "
            "leave --timing recorded out"
        )
