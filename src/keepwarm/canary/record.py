"""What a canary leaves on disk: all of it, as data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from keepwarm._errors import GateRefusal, InputError
from keepwarm._files import write_whole
from keepwarm._json import from_json, plain, to_json
from keepwarm.canary.acceptance import Decision
from keepwarm.canary.checks import Check
from keepwarm.canary.options import CanaryOptions
from keepwarm.canary.rollback import Drill
from keepwarm.canary.runs import Run
from keepwarm.server.identity import Identity

SCHEMA = "keepwarm.canary/1"
_Record = TypeVar("_Record")


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What was served, and the pool of blocks it was served from."""

    name: str
    max_model_len: int  # tokens
    block_size: int  # tokens
    capacity_blocks: int  # usable: the null block is not among them


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended. ``mode`` is what may be served with; ``checks`` only if the last start went wrong."""

    mode: str
    left_running: bool
    checks: tuple[Check, ...] = ()


class CanaryRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The document ``keepwarm.canary/1``. ``candidate`` is None if its server did not serve."""

    recorded_at: str
    model: Model
    identity: Identity
    options: CanaryOptions
    settings: Mapping[str, str]
    baseline: Run
    candidate: Run | None
    decision: Decision
    drill: Drill
    final: Final

    @classmethod
    def made(
        cls,
        *,
        identity: Identity,
        options: CanaryOptions,
        candidate_settings: Mapping[str, str],
        baseline: Run,
        candidate: Run | None,
        decision: Decision,
        drill: Drill,
        final: Final,
    ) -> CanaryRecord:
        """The record of now."""
        return cls(
            recorded_at=now(),
            model=model_of(baseline),
            identity=identity,
            options=options,
            settings=candidate_settings,
            baseline=baseline,
            candidate=candidate,
            decision=decision,
            drill=drill,
            final=final,
        )

    @property
    def accepted(self) -> bool:
        """Whether the candidate may stay: accepted, rolled back, and started again if that was asked for."""
        return self.decision.accepted and self.drill.passed and not self.final.checks

    def reasons(self) -> list[Check]:
        """Every check that refuses, of decision, drill and end."""
        return [*self.decision.reasons(), *self.drill.reasons(), *self.final.checks]


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def model_of(run: Run) -> Model:
    """What the server of ``run`` served."""
    told = run.pressure
    return Model(
        name=told.model,
        max_model_len=told.max_model_len,
        block_size=told.block_size,
        capacity_blocks=told.capacity_blocks,
    )


def canary_document(record: CanaryRecord) -> dict[str, Any]:
    """The record as JSON holds it, its schema first, the identity's fields beside the others."""
    document: dict[str, Any] = plain(record)
    return {
        "schema": SCHEMA,
        "recorded_at": document.pop("recorded_at"),
        "accepted": record.accepted,
        "final_mode": record.final.mode,
        "model": document.pop("model"),
        **document.pop("identity"),
        **document,
    }


def canary_from(content: bytes, name: str) -> CanaryRecord:
    """The record of the document called ``name``. Raises InputError: it is no ``keepwarm.canary/1``."""
    return record_from(content, SCHEMA, CanaryRecord, name)


def record_from(content: bytes, schema: str, kind: type[_Record], name: str) -> _Record:
    """A record with its identity's fields beside the others. Raises InputError: ``name`` is no such thing."""
    try:
        document = from_json(content, dict[str, Any])
        if document.get("schema") != schema:
            raise InputError(f"{name!r} is {document.get('schema')!r} and no {schema}; name another file")
        identity = {name: document.get(name) for name in Identity.__struct_fields__}
        return msgspec.convert({**document, "identity": identity}, kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"{name!r} is no {schema}: {error}; take an untouched copy") from None


def make_folder(directory: Path) -> None:
    """Make the folder for a record, before the long work. Raises InputError: it cannot be, or not written."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--out: cannot make {str(directory)!r}: {reason}; name another folder") from error
    if not os.access(directory, os.W_OK | os.X_OK):
        raise InputError(f"--out {str(directory)!r} is not writable; name another folder")


class Written(NamedTuple):
    """Where a record is."""

    json: Path
    markdown: Path


def write_record(document: Mapping[str, Any], markdown: str, directory: Path, name: str) -> Written:
    """``NAME.json`` and ``NAME.md`` in a folder that exists, each whole or not at all. Raises InputError."""
    written = Written(directory / f"{name}.json", directory / f"{name}.md")
    write_whole(written.json, to_json(dict(document)))
    write_whole(written.markdown, markdown.encode())
    return written


def gate(accepted: bool, reasons: list[Check], what: str) -> None:
    """Raises GateRefusal with the reasons, if there is one to refuse."""
    if not accepted:
        said = "; ".join(f"{reason.code} ({reason.message})" for reason in reasons) or "see the record"
        raise GateRefusal(f"{what}: {said}")
