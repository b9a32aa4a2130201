"""From a finding to its task: examined again, simulated, located, redacted.

Nothing recorded leaves through here but what the redactor has seen: every text of the document goes
through one ``Redactor`` that knows the values of all slots of the trace.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError
from keepwarm._progress import Progress
from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.findings import Diagnosis, Evidence, Finding, Owner
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.wording import nearest
from keepwarm.repair.clues import clues_of
from keepwarm.repair.declared import implied
from keepwarm.repair.fragments import static_fragments
from keepwarm.repair.locate import Located, locate
from keepwarm.repair.redaction import Redactor
from keepwarm.repair.redaction.recorded import recorded_values
from keepwarm.repair.sources import Repository, open_repository
from keepwarm.repair.target import Plan, dynamic_paths, plan_repair, roles_of
from keepwarm.repair.task import DeclaredRepair, Preserve, ShownBreak, Task, TaskFinding

# A file may be edited if it has a location of this confidence, and nearly that of the best one.
_ALLOWED_FROM = 0.25
_ALLOWED_SHARE = 0.85
_SHOWN_VALUES = 3
_CONVERSATION_FROM = 1  # index of the first message that may be somebody's words


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for: which finding of which trace, for which checkout, allowed and declared by hand."""

    finding: str
    trace: str
    repository: Path
    options: Options = Options()
    allow: tuple[str, ...] = ()
    declared: tuple[DeclaredRepair, ...] = ()
    task_file: str = "task.json"  # as the commands that verify name it
    saved: Finding | None = None  # what a saved diagnosis says of the finding
    saved_sha256: str | None = None


class _Scope(NamedTuple):
    """Where the repair may be made."""

    repository: Repository
    located: Located
    allow: tuple[str, ...]


def make_task(order: Order, progress: Progress | None = None) -> Task:
    """The task for one finding. Reads the trace and the checkout; changes neither.

    Raises:
        InputError: trace, finding or checkout cannot be used, or nobody's source is at fault.
    """
    repository = open_repository(order.repository)
    allow = tuple(_allowed_path(path) for path in order.allow)
    examination = examine(order.trace, order.options, progress)
    if order.saved_sha256 not in (None, examination.diagnosis.input.sha256):
        raise InputError(f"{order.trace!r} is not the trace of the saved diagnosis; name that with --trace")
    finding = _find(examination.diagnosis, order)
    plan = plan_repair(examination.diagnosis, examination.accounts, finding)
    located = locate(
        repository,
        [clues_of(plan.view, f, c) for f, c in zip(plan.findings, plan.candidates, strict=True)],
    )
    values = _recorded(examination, plan)
    scope = _Scope(repository, located, allow)
    return _assemble(order, examination.diagnosis, plan, scope, values)


def _find(diagnosis: Diagnosis, order: Order) -> Finding:
    """The finding that is asked for, if it is one that a change of source or of a template removes."""
    by_id = {finding.id.casefold(): finding for finding in diagnosis.findings}
    finding = by_id.get(order.finding.casefold())
    if finding is None:
        close = nearest(order.finding, [f.id for f in diagnosis.findings])
        there = ", ".join(close or [f.id for f in diagnosis.findings][:10])
        hint = f"it has {there}" if there else "it has none: there is nothing to hand over"
        raise InputError(f"no finding {order.finding!r} in the diagnosis of {order.trace!r}; {hint}")
    if order.saved is not None and _identity(order.saved) != _identity(finding):
        raise InputError(
            f"finding {order.finding!r} of the saved diagnosis is not the one that the trace gives now; "
            "diagnose again with the same options (tokenizer, chat template, block size, capacity)"
        )
    if finding.owner is Owner.ENGINE:
        raise InputError(
            f"finding {finding.id!r} ({finding.cause}) is the engine's: no change of source removes it; "
            f"see 'keepwarm causes {finding.cause}'"
        )
    return finding


def _identity(finding: Finding) -> tuple[str, str, str | None]:
    return (finding.cause, finding.call_site, finding.path)


def _recorded(examination: Examination, plan: Plan) -> dict[str, str]:
    """Every recorded value with its kind: those of all slots, and those that findings show."""
    shown = [
        (value, finding.slot_type or "value")
        for finding in examination.diagnosis.findings
        if finding.path != "model"
        for value in finding.evidence.values
    ]
    shown += [(slot.first_value, slot.type.value) for slot in plan.view.slots]
    return recorded_values(examination.accounts, shown).all()


def _assemble(
    order: Order, diagnosis: Diagnosis, plan: Plan, scope: _Scope, values: Mapping[str, str]
) -> Task:
    redactor = Redactor(values)
    repository, located, allow = scope
    finding = plan.findings[0]
    shown = _shown(finding, redactor)
    meant = [d for f, c in zip(plan.findings, plan.candidates, strict=True) for d in implied(f, c)]
    return Task(
        id=_task_id(diagnosis, finding, repository),
        trace_sha256=diagnosis.input.sha256,
        base_commit=repository.commit,
        finding=_task_finding(finding, diagnosis, redactor),
        shown=shown,
        locations=located.locations,
        not_located=None if located.locations else _sought_in_vain(plan, located),
        allowed_files=tuple(dict.fromkeys([*_likely_files(located), *allow])),
        moves_allowed=True,
        declared=tuple(_redacted(repair, redactor) for repair in (*meant, *order.declared)),
        preserve=_preserve(plan, redactor, values),
        target=plan.target,
        verify=_verify(repository, diagnosis, order.task_file),
        placeholders=redactor.counts,
        together_with=tuple(f.id for f in plan.findings[1:]),
        searched=located.reading.said(),
    )


def _task_finding(finding: Finding, diagnosis: Diagnosis, redactor: Redactor) -> TaskFinding:
    site = next(site for site in diagnosis.call_sites if site.id == finding.call_site)
    return TaskFinding(
        id=finding.id,
        cause=finding.cause,
        owner=finding.owner,
        call_site=finding.call_site,
        call_site_name=redactor.redact(site.name),
        path=finding.path,
        slot_type=finding.slot_type,
        requests=finding.requests,
        recoverable_tokens=finding.recoverable_tokens,
        suggestion=redactor.redact(finding.suggestion),
    )


def _likely_files(located: Located) -> list[str]:
    """Files that are likely enough to be the place, measured by the likeliest."""
    best = max((place.confidence for place in located.locations), default=0.0)
    least = max(_ALLOWED_FROM, _ALLOWED_SHARE * best)
    return [place.file for place in located.locations if place.confidence >= least]


def _sought_in_vain(plan: Plan, located: Located) -> str:
    clues = (clues_of(plan.view, f, c) for f, c in zip(plan.findings, plan.candidates, strict=True))
    sought = " and ".join(dict.fromkeys(clue.said for clue in clues))
    return f"{sought} was looked for in vain; {located.reading.said()}"


def _shown(finding: Finding, redactor: Redactor) -> ShownBreak:
    """The break without anything recorded; text of a conversation is covered whole, as in reports."""
    evidence: Evidence = finding.evidence
    kind = finding.slot_type or "value"
    is_setting = finding.path == "model"
    values = tuple(
        redactor.redact(value) if is_setting else redactor.cover(value, kind)
        for value in evidence.values[:_SHOWN_VALUES]
    )
    if _is_conversation(finding.path):
        before, after = redactor.cover(evidence.before, "text"), redactor.cover(evidence.after, "text")
    else:
        before, after = redactor.redact(evidence.before), redactor.redact(evidence.after)
    return ShownBreak(before=before, values=values, after=after)


def _is_conversation(path: str | None) -> bool:
    if path is None or not path.startswith("messages["):
        return False
    index = path[len("messages[") :].partition("]")[0]
    return index.isdigit() and int(index) >= _CONVERSATION_FROM


def _preserve(plan: Plan, redactor: Redactor, values: Mapping[str, str]) -> Preserve:
    fragments = static_fragments(plan.view)
    return Preserve(
        static_fragments=len(fragments),
        static_fragment_sha256=tuple(
            hashlib.sha256(fragment.encode("utf-8", "surrogatepass")).hexdigest()
            for fragment in fragments
            if redactor.redact(fragment) == fragment
        ),
        dynamic_paths=dynamic_paths(plan.findings, plan.view),
        tools=_tool_names(plan, redactor, values),
        roles=roles_of(plan.view),
    )


def _tool_names(plan: Plan, redactor: Redactor, values: Mapping[str, str]) -> tuple[str, ...]:
    """Names of tools are the application's own: a plain word in one that is also a recorded value stays."""
    telling = Redactor({v: kind for v, kind in values.items() if not (v.isalpha() and v.islower())})
    names = plan.view.tools.names
    return tuple(name if telling.redact(name) == name else redactor.redact(name) for name in names)


def _redacted(repair: DeclaredRepair, redactor: Redactor) -> DeclaredRepair:
    return msgspec.structs.replace(
        repair, text=redactor.redact(repair.text), reason=redactor.redact(repair.reason)
    )


def _task_id(diagnosis: Diagnosis, finding: Finding, repository: Repository) -> str:
    parts = (diagnosis.input.sha256, *map(str, _identity(finding)), repository.commit or "")
    return "task-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _allowed_path(path: str) -> str:
    """A path or pattern relative to the repository, with slashes."""
    plain = path.replace(os.sep, "/").removeprefix("./")
    if not plain or plain.startswith("/") or ".." in plain.split("/"):
        raise InputError(f"--allow {path!r} is not a path inside the repository; write it relative to --repo")
    return plain


def _verify(repository: Repository, diagnosis: Diagnosis, task_file: str) -> tuple[str, ...]:
    """The commands that decide, to be run in the repository after the repair."""
    inside, root = Path(diagnosis.input.path).resolve(), repository.root.resolve()
    trace = str(inside.relative_to(root)) if inside.is_relative_to(root) else inside.name
    base = repository.commit or "BASE"
    verify = (
        f"keepwarm verify --repo . --base {base} --head HEAD --before {shlex.quote(trace)}"
        f" --after after.jsonl --task {shlex.quote(task_file)}"
    )
    return ("keepwarm record --upstream URL --out after.jsonl", verify)
