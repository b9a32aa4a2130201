"""A verdict, with the changed outputs and the approvals that lie beside it."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from keepwarm._errors import InputError
from keepwarm._json import from_json, without_surrogates
from keepwarm.api.library.library import Found, Library
from keepwarm.api.library.recognise import read_bytes
from keepwarm.api.problems import Conflict
from keepwarm.api.schema.evidence import OutputToApprove, VerdictAnswer
from keepwarm.guard.approvals import Approval, read_approvals
from keepwarm.guard.checks import CHECKS
from keepwarm.guard.outputs import SCHEMA as OUTPUTS_SCHEMA
from keepwarm.guard.outputs import ChangedOutput, ChangedOutputs, OutputText
from keepwarm.guard.verdict import Verdict, digest_holds
from keepwarm.repair.redaction import Redactor

APPROVALS = "approvals.json"
OUTPUTS = "outputs.json"
_COVERED = "covered: the verdict holds recorded values; start the server with --reveal to read it"
Key = tuple[str, str, str]


class SavedVerdict(NamedTuple):
    """A verdict as its file holds it. ``digest_holds``: nobody edited it since."""

    found: Found
    verdict: Verdict
    digest: str
    digest_holds: bool

    def approvable(self) -> set[Key]:
        """What waits for a person: check, case and SHA-256."""
        return {
            (answer.check, problem.where, problem.approvable_sha256)
            for answer in self.verdict.answers
            for problem in answer.problems
            if problem.approvable_sha256 is not None
        }

    def approved(self) -> dict[Key, Approval]:
        """What the guard has taken as approved already."""
        return {key_of(approval): approval for approval in self.verdict.approvals_used}


def key_of(approval: Approval | ChangedOutput) -> Key:
    """What it is about."""
    return (approval.check, approval.case, approval.sha256)


def read_verdict(library: Library, id: str) -> SavedVerdict:  # noqa: A002 - as the answer calls it
    """Raises NoSuchResult; InputError: it is no verdict that can be read."""
    found = library.find(id, "verdict")
    try:
        document: dict[str, Any] = json.loads(found.read())
        verdict = msgspec.convert(without_surrogates(document), Verdict)
        is_untouched = digest_holds(document)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{found.item.path!r} is no verdict that can be read: {error}; run keepwarm verify again"
        ) from None
    return SavedVerdict(found, verdict, str(document.get("digest", "")), is_untouched)


def verdict_answer(library: Library, id: str) -> VerdictAnswer:  # noqa: A002
    """The verdict as it may be shown, and what lies beside it.

    Raises NoSuchResult, InputError. Neighbours that cannot be read are said in ``problem``.
    """
    saved = read_verdict(library, id)
    problems = []
    try:
        outputs = _outputs(saved, revealed=library.revealed)
    except InputError as error:
        outputs, problems = ChangedOutputs(), [str(error)]
    try:
        approvals = approvals_beside(saved.found)
    except InputError as error:
        approvals, problems = (), [*problems, str(error)]
    given = saved.approved() | {key_of(approval): approval for approval in approvals}
    known = saved.approvable() | saved.approved().keys()
    covered = saved.verdict.values_revealed and not library.revealed
    return VerdictAnswer(
        id=id,
        verdict=_covered(saved.verdict) if covered else saved.verdict,
        digest=saved.digest,
        digest_holds=saved.digest_holds,
        outputs=tuple(
            OutputToApprove(output=output, approval=given.get(key_of(output)))
            for output in outputs.outputs
            if key_of(output) in known  # others are of another verdict
        ),
        approvals=approvals,
        approvals_path=_relative(library, saved.found),
        saved_masked=not saved.verdict.values_revealed,
        problem="; ".join(problems) or None,
    )


def approvals_beside(found: Found) -> tuple[Approval, ...]:
    """The approvals of the file beside a verdict; none without one.

    Raises Conflict: the file is none that the guard would take.
    """
    path = found.path.with_name(APPROVALS)
    if found.beside(APPROVALS) is None:
        if path.is_symlink() or path.exists():
            raise Conflict(f"{APPROVALS!r} beside {found.item.path!r} is no plain file; put one in its place")
        return ()
    try:
        return read_approvals(path, (check.name for check in CHECKS)).entries
    except InputError as error:
        raise Conflict(str(error)) from None


def _outputs(saved: SavedVerdict, *, revealed: bool) -> ChangedOutputs:
    """The file beside the verdict; covered again where it was written revealed and may not be shown so."""
    path = saved.found.beside(OUTPUTS)
    if path is None:
        return ChangedOutputs()
    where = f"{OUTPUTS!r} beside {saved.found.item.path!r}"
    try:
        outputs = from_json(read_bytes(str(path)), ChangedOutputs)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{where} cannot be read: {error}; run keepwarm verify again") from None
    if outputs.schema != OUTPUTS_SCHEMA:
        raise InputError(f"{where} is {outputs.schema!r}, no {OUTPUTS_SCHEMA}; run keepwarm verify again")
    if revealed or not outputs.values_revealed:
        return outputs
    redactor = Redactor()
    return replace(outputs, outputs=tuple(_redacted(output, redactor) for output in outputs.outputs))


def _redacted(output: ChangedOutput, redactor: Redactor) -> ChangedOutput:
    def text(given: OutputText) -> OutputText:
        calls = tuple(redactor.redact(call) for call in given.tool_calls)
        return OutputText(text=redactor.redact(given.text), tool_calls=calls)

    return replace(
        output,
        about=redactor.redact(output.about),
        before=tuple(text(given) for given in output.before),
        after=text(output.after),
    )


def _covered(verdict: Verdict) -> Verdict:
    """Without what the guard quotes of prompts and answers."""
    answers = tuple(
        replace(answer, problems=tuple(replace(problem, what=_COVERED) for problem in answer.problems))
        for answer in verdict.answers
    )
    return replace(verdict, answers=answers)


def _relative(library: Library, found: Found) -> str:
    path = found.path.with_name(APPROVALS).relative_to(library.root).as_posix()
    return str(without_surrogates(path))
