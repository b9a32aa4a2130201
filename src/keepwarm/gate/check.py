"""The check from a trace to the answer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from keepwarm._progress import Progress
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.mask import masked
from keepwarm.gate.baseline import Baseline, read_baseline
from keepwarm.gate.taking import take
from keepwarm.gate.verdict import Verdict, judge, matched


class Fresh(NamedTuple):
    """What a new baseline would be, and the diagnosis it is of."""

    diagnosis: Diagnosis  # masked
    baseline: Baseline  # call sites that an earlier baseline knows keep their keys


def check_trace(
    trace: str,
    options: Options,
    baseline: Path,
    *,
    max_drop_points: float = 1.0,
    progress: Progress | None = None,
) -> Verdict:
    """Diagnose ``trace`` and compare it with the file ``baseline``; writes nothing.

    Raises:
        InputError: the trace or the baseline cannot be used, or they cannot be compared.
    """
    then = read_baseline(baseline)  # before the long work
    examination = examine(trace, options, progress)
    shown = masked(examination.diagnosis)
    return judge(shown, take(examination, options.ttl_s), then, max_drop_points)


def fresh_baseline(trace: str, options: Options, earlier: Path, *, progress: Progress | None = None) -> Fresh:
    """Diagnose ``trace`` for a new baseline in place of ``earlier``, if that file is there; writes nothing.

    Raises:
        InputError: the trace cannot be used, or ``earlier`` is there and is no baseline.
    """
    then = read_baseline(earlier) if os.path.lexists(earlier) else None
    examination = examine(trace, options, progress)
    now = take(examination, options.ttl_s)
    if then is not None:
        now = matched(now, then)
    return Fresh(masked(examination.diagnosis), now.baseline)
