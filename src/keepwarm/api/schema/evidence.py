"""Evidence as its view asks for it: the documents, the rows behind their figures, and approvals."""

from __future__ import annotations

import msgspec

from keepwarm.canary.record import CanaryRecord
from keepwarm.canary.tune import TuningRecord
from keepwarm.guard.approvals import Approval
from keepwarm.guard.outputs import ChangedOutput
from keepwarm.guard.verdict import Verdict
from keepwarm.repair.task import Task
from keepwarm.replay.comparing.comparison import Comparison
from keepwarm.replay.comparing.pairs import PairRow
from keepwarm.replay.measuring.record import Row, Run


class Integrity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the files are as they were written. ``chain_sha256``: None where there is no manifest."""

    as_written: bool
    chain_sha256: str | None
    mismatches: tuple[str, ...] = ()


class TaskAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A task of repair."""

    id: str
    task: Task


class ReplayAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One measured run."""

    id: str
    run: Run
    integrity: Integrity


class ReplayRows(msgspec.Struct, frozen=True, kw_only=True):
    """A page of its requests, in recorded order; block numbers are left out."""

    rows: tuple[Row, ...]
    total: int


class ComparisonAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """BEFORE against AFTER; ids of both runs where they are in the folder."""

    id: str
    comparison: Comparison
    integrity: Integrity
    before: str | None
    after: str | None


class PairRows(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the pairs behind a comparison, in the order asked for."""

    pairs: tuple[PairRow, ...]
    total: int


class OutputToApprove(msgspec.Struct, frozen=True, kw_only=True):
    """A changed output, and the approval it has; None: it waits for one."""

    output: ChangedOutput
    approval: Approval | None


class VerdictAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The guard's verdict. ``digest_holds``: nobody edited it since.

    ``approvals`` are those of the file beside it, ``approvals_path`` where that is, relative to the folder:
    what ``keepwarm verify --approve`` is to be given next. ``saved_masked``: outputs were masked when
    written. ``problem``: why what lies beside it cannot be read.
    """

    id: str
    verdict: Verdict
    digest: str
    digest_holds: bool
    outputs: tuple[OutputToApprove, ...]
    approvals: tuple[Approval, ...]
    approvals_path: str
    saved_masked: bool
    problem: str | None = None


class ApprovalCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's word for one output: who, and why."""

    check: str
    case: str
    sha256: str
    approver: str
    reason: str


class CanaryAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a canary: baseline, candidate, decision, rollback drill."""

    id: str
    accepted: bool
    record: CanaryRecord


class TuningAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a search for the scan limit."""

    id: str
    accepted: bool
    tuning: TuningRecord
