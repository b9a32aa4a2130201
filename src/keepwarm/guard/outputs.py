"""The changed outputs of golden cases, side by side: ``outputs.json`` beside a verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from keepwarm.guard.base import Evidence
from keepwarm.guard.checks.golden_cases import GoldenCases
from keepwarm.guard.golden import (
    GoldenCase,
    Output,
    ToolCall,
    arguments_of,
    canonical_output,
    output_sha256,
    read_golden,
)
from keepwarm.guard.shown import Shown

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
    """The document. ``values_revealed``: texts are as recorded, else secrets and personal data covered."""

    schema: str = SCHEMA
    values_revealed: bool = False
    outputs: tuple[ChangedOutput, ...] = ()


def changed_outputs(evidence: Evidence) -> ChangedOutputs:
    """The changed answers of the golden cases of ``evidence``, as they may be shown; none without cases.

    Raises InputError: a case cannot be read.
    """
    shown = Shown(reveal=evidence.reveal)
    cases = () if evidence.golden is None else read_golden(evidence.golden).cases
    outputs = tuple(output for case in cases for output in _changed(case, shown))
    return ChangedOutputs(values_revealed=evidence.reveal, outputs=outputs)


def _changed(case: GoldenCase, shown: Shown) -> Iterator[ChangedOutput]:
    before = {canonical_output(output): output for output in case.before}
    for digest, output in {output_sha256(output): output for output in case.after}.items():
        if canonical_output(output) not in before:
            yield ChangedOutput(
                check=GoldenCases.name,
                case=case.case,
                about=shown.output(case.about),
                sha256=digest,
                before=tuple(_text(other, shown) for other in before.values()),
                after=_text(output, shown),
            )


def _text(output: Output, shown: Shown) -> OutputText:
    calls = tuple(shown.output(f"{call.name}({_arguments(call)})") for call in output.tool_calls)
    return OutputText(text=shown.output(output.content or ""), tool_calls=calls)


def _arguments(call: ToolCall) -> str:
    found = arguments_of(call)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)
