"""Reads a labelled case and judges a diagnosis against its label, as the cases' README says."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm.diagnose import Options
from keepwarm.diagnose.engine import examine
from keepwarm.diagnose.findings import Diagnosis, Finding
from keepwarm.diagnose.report.files import Report, report_of

NOTHING = "(nothing)"
HEALTHY = "(healthy)"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A ``*.label.json``: of ``breaks/`` with a cause, of ``healthy/`` without."""

    cause: str | None = None
    owner: str | None = None
    fixable: bool | None = None
    path: str | None = None
    path_also: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    capacity_blocks: int | None = None
    block_size: int | None = None
    chat_template: str | None = None
    min_recoverable_tokens: int = 0


class Case(NamedTuple):
    """A trace with its label and what the diagnosis said of it, in the open; nothing of the trace itself."""

    name: str
    path: Path
    label: Label
    report: Report

    @property
    def diagnosis(self) -> Diagnosis:
        """What the diagnosis said."""
        return self.report.diagnosis

    @property
    def first(self) -> Finding | None:
        """The finding that recovers most."""
        return self.diagnosis.findings[0] if self.diagnosis.findings else None

    @property
    def causes(self) -> tuple[str, ...]:
        """What may be answered."""
        return (self.label.cause or "", *self.label.also)

    @property
    def is_right(self) -> bool:
        """Whether the first finding names the cause and the place."""
        return (
            self.first is not None and self.first.cause in self.causes and path_fits(self.label, self.first)
        )

    @property
    def recovered_tokens(self) -> int:
        """The sum over the findings of the labelled cause."""
        return sum(f.recoverable_tokens for f in self.diagnosis.findings if f.cause in self.causes)


def path_fits(label: Label, finding: Finding) -> bool:
    """Whether the path is one of the label's or lies below one; a label without a path takes any."""
    if label.path is None:
        return True
    return any(_lies_below(finding.path or "", right) for right in (label.path, *label.path_also))


def _lies_below(path: str, above: str) -> bool:
    pattern = re.escape(above).replace(r"\[\*\]", r"\[\d+\]")
    return re.match(pattern + r"(?:$|[.\[])", path) is not None


def options_of(label: Label, folder: Path) -> Options:
    """What the label says is to be passed on the command line."""
    return Options(
        capacity_blocks=label.capacity_blocks,
        block_size=label.block_size,
        chat_template=None if label.chat_template is None else str(folder / label.chat_template),
    )


def run_case(label_file: Path) -> Case:
    """Diagnose the trace beside a label."""
    label = msgspec.json.decode(label_file.read_bytes(), type=Label)
    name = label_file.name.removesuffix(".label.json")
    (trace,) = (p for p in label_file.parent.glob(f"{name}.jsonl*"))
    examination = examine(str(trace), options_of(label, trace.parent))
    return Case(name, trace, label, report_of(examination, revealed=True))


def confusion_table(cases: Iterable[Case], codes: Sequence[str]) -> str:
    """Label by first finding, with counts; columns are numbered as the rows are."""
    counts: Counter[tuple[str, str]] = Counter()
    for case in cases:
        found = case.first
        if case.label.cause is None and found is not None and found.owner == "engine":
            found = None  # no mistake where nothing is wrong
        counts[case.label.cause or HEALTHY, NOTHING if found is None else found.cause] += 1
    columns = [*codes, NOTHING]
    rows = [*codes, HEALTHY]
    width = max(len(name) for name in (*rows, *columns))
    lines = [" " * (width + 5) + "".join(f"{n:>3}" for n in range(1, len(columns) + 1))]
    for number, row in enumerate(rows, 1):
        cells = "".join(f"{counts[row, column] or '.':>3}" for column in columns)
        lines.append(f"{number:>3}  {row:<{width}}{cells}")
    lines.append(f"column {len(columns)}: no finding that counts")
    return "\n".join(lines)
