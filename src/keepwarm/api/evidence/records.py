"""Documents that are answered as they stand."""

from __future__ import annotations

from keepwarm.api.library.library import Library
from keepwarm.api.schema.evidence import CanaryAnswer, TaskAnswer, TuningAnswer
from keepwarm.canary.record import canary_from
from keepwarm.canary.tune import tuning_from
from keepwarm.guard.strict import read_document
from keepwarm.repair.task import SCHEMA, Task


def task_answer(library: Library, id: str) -> TaskAnswer:  # noqa: A002 - as the answer calls it
    """A task of repair. Raises NoSuchResult, InputError."""
    found = library.find(id, "task")
    return TaskAnswer(id=id, task=read_document(found.read(), Task, SCHEMA, f"task {found.item.path!r}"))


def canary_answer(library: Library, id: str) -> CanaryAnswer:  # noqa: A002
    """The record of a canary. Raises NoSuchResult, InputError."""
    found = library.find(id, "canary")
    record = canary_from(found.read(), found.item.path)
    return CanaryAnswer(id=id, accepted=record.accepted, record=record)


def tuning_answer(library: Library, id: str) -> TuningAnswer:  # noqa: A002
    """The record of a search for the scan limit. Raises NoSuchResult, InputError."""
    found = library.find(id, "tuning")
    record = tuning_from(found.read(), found.item.path)
    return TuningAnswer(id=id, accepted=record.accepted, tuning=record)
