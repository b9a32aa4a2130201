"""The changed outputs of golden cases, side by side: ``outputs.json`` beside a verdict."""

from __future__ import annotations

import msgspec

SCHEMA = "keepwarm.outputs/1"


class OutputText(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of the model as it may be shown: its text, and its tool calls a line each."""

    text: str
    tool_calls: tuple[str, ...] = ()


class ChangedOutput(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of AFTER that no run of BEFORE gave; an approval names ``check``, ``case`` and ``sha256``.

    ``before`` are the different answers of BEFORE.
    """

    check: str
    case: str
    about: str
    sha256: str
    before: tuple[OutputText, ...]
    after: OutputText


class ChangedOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """The document. ``values_revealed``: texts are as recorded; else secrets and personal data are covered."""

    schema: str = SCHEMA
    values_revealed: bool
    outputs: tuple[ChangedOutput, ...]
