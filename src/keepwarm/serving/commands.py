"""Tool calls for a workload that names none, and a predictor that has not seen the tasks they are of."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.fit import fit
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.workload.base import Workload
from keepwarm.workload.commands import attach_commands


class Commanded(NamedTuple):
    """The workload with a call for each tool gap; ``model`` if one was wanted."""

    workload: Workload
    model: ReuseModel | None


def with_commands(
    workload: Workload, durations: Path, *, gap_scale: float, wants_model: bool, sources: tuple[str, ...] = ()
) -> Commanded:
    """By the rule of ``attach_commands``, the same commands for every run.

    A model is fitted on the other tasks, in the gaps of the run: gaps and predictions are on one clock.
    Raises what reading and fitting raise.
    """
    attached = attach_commands(workload, read_durations([durations]).durations)
    if not wants_model:
        return Commanded(attached.workload, None)
    training = [one._replace(duration_s=one.duration_s * gap_scale) for one in attached.training]
    return Commanded(attached.workload, fit(training, sources=sources))
