"""Recorded requests as tokens, with the prefix of each and what it reuses of the earlier ones."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keepwarm._errors import InputError
from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.options import Options
from keepwarm.gate.prefixes.recording import RecordedRequests
from keepwarm.trace.blocks import adapter
from keepwarm.trace.prompt import Prompt, TokenIds
from keepwarm.trace.records import JsonObject

_MESSAGE = re.compile(r"messages\[(\d+)\]")


class Part(NamedTuple):
    """A value of the request in the prompt: its JSON path, its first token and its length."""

    path: str
    first_token: int
    chars: int


class Examined(NamedTuple):
    """One request. ``scope`` keeps its cache apart from that of others: model, adapter, salt."""

    session: str
    scope: tuple[str, str, str]
    prompt: Prompt
    prefix_tokens: int
    reused_tokens: int
    parts: tuple[Part, ...]

    @property
    def prefix_ids(self) -> TokenIds:
        """The token ids of the prefix."""
        return self.prompt.ids[: self.prefix_tokens]


class Recorded(NamedTuple):
    """All requests of a test, and what a diagnosis says of them."""

    requests: tuple[Examined, ...]
    diagnosis: Diagnosis  # not masked
    accounts: Accounts

    @property
    def block_size(self) -> int:
        """Tokens per block."""
        return self.diagnosis.cache.block_size


def examine_requests(recorded: RecordedRequests, options: Options) -> Recorded:
    """Diagnose what was recorded. Raises InputError: nothing was, or some of it cannot be read."""
    if not len(recorded):
        raise InputError(
            "nothing was recorded; pass the fixture's hook to the HTTP client, or give each body to record()"
        )
    with tempfile.TemporaryDirectory(prefix="keepwarm-") as folder:
        trace = Path(folder) / "requests.jsonl"
        trace.write_bytes(recorded.lines())
        diagnosis, accounts = examine(str(trace), options)
    skipped = diagnosis.input.skipped
    if skipped:
        raise InputError(
            f"request {skipped[0].line} of {len(recorded)} cannot be read: {skipped[0].reason}; "
            "record it as it is sent"
        )
    requests = tuple(_examined(accounts, diagnosis, row.index) for row in diagnosis.rows)
    return Recorded(requests, diagnosis, accounts)


def _examined(accounts: Accounts, diagnosis: Diagnosis, index: int) -> Examined:
    catalog = accounts.traffic.catalog
    row = catalog.rows[index]
    if row.hashed is not None:
        raise InputError(f"request {index + 1} is recorded as block hashes; its prompt is not known")
    prompt = accounts.traffic.prompt(index)
    found = accounts.breaks[index]
    shared = 0 if found is None else found.token
    messages = [catalog.message(content) for content in row.messages]
    params = catalog.params(row)
    return Examined(
        session=row.session or "",
        scope=(row.model, adapter(params) or "", str(params.get("cache_salt") or "")),
        prompt=prompt,
        prefix_tokens=max(_before_newest_turn(prompt, messages), shared),
        reused_tokens=diagnosis.rows[index].tokens.hit,
        parts=_parts(prompt),
    )


def _before_newest_turn(prompt: Prompt, messages: Sequence[JsonObject]) -> int:
    """Tokens up to the last value in front of the newest turn; all of a prompt without messages."""
    if not messages:
        return len(prompt.ids)
    newest = _newest_turn(messages)
    end = 0
    for span in prompt.rendered.spans:
        if span.path is None:
            continue
        message = _MESSAGE.match(span.path)
        if message and int(message[1]) >= newest:
            break
        end = span.end
    return int(np.searchsorted(prompt.char_starts, end, side="left"))


def _newest_turn(messages: Sequence[JsonObject]) -> int:
    """The number of the first message that a person or a tool brought since the model last spoke."""
    for number in range(len(messages), 0, -1):
        if messages[number - 1].get("role") not in ("user", "tool", "function"):
            return number
    return 0


def _parts(prompt: Prompt) -> tuple[Part, ...]:
    """The values in order of the prompt; spans of one value that follow each other are one part."""
    merged: list[tuple[str, int, int]] = []
    for span in prompt.rendered.spans:
        if span.path is None:
            continue
        if merged and merged[-1][0] == span.path:
            merged[-1] = (span.path, merged[-1][1], span.end)
        else:
            merged.append((span.path, span.start, span.end))
    starts = np.searchsorted(prompt.char_starts, [start for _, start, _ in merged], side="right")
    return tuple(
        Part(path, max(0, int(token) - 1), end - start)
        for (path, start, end), token in zip(merged, starts, strict=True)
    )
