"""Writing an approval: into ``approvals.json`` beside the verdict, where the guard is told to read it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from keepwarm._errors import InputError
from keepwarm._json import plain, to_json
from keepwarm.api.evidence.verdicts import (
    APPROVALS,
    SavedVerdict,
    approvals_beside,
    key_of,
    read_verdict,
    verdict_answer,
)
from keepwarm.api.library.library import Library
from keepwarm.api.problems import Conflict
from keepwarm.api.schema.evidence import ApprovalCall, VerdictAnswer
from keepwarm.guard.approvals import SCHEMA, Approval, is_blank

_MOST_APPROVER_CHARS = 200
_MOST_REASON_CHARS = 2_000
_one_at_a_time = threading.Lock()


def approve(library: Library, id: str, call: ApprovalCall) -> VerdictAnswer:  # noqa: A002 - as the answer says
    """Append an approval to the file beside the verdict, which is written whole; the verdict as it is then.

    Nothing else is written, and nothing at all if this raises.

    Raises:
        NoSuchResult: there is no such verdict.
        Conflict: it was edited, the output is another by now, it is approved already, or the file that is
            there is none that the guard would take.
        InputError: no name, no reason, or nothing that can be approved.
    """
    approval = _approval(call)
    saved = read_verdict(library, id)
    with _one_at_a_time, _locked(saved.found.path.parent):
        entries = approvals_beside(saved.found)
        _check(saved, entries, approval)
        _write(saved.found.path.with_name(APPROVALS), (*entries, approval))
    return verdict_answer(library, id)


def _approval(call: ApprovalCall) -> Approval:
    approver, reason = call.approver.strip(), call.reason.strip()
    for name, text, most_chars in (
        ("approver", approver, _MOST_APPROVER_CHARS),
        ("reason", reason, _MOST_REASON_CHARS),
    ):
        if is_blank(text):
            raise InputError(f"{name} is empty; an approval says who approves what and why")
        if len(text) > most_chars:
            raise InputError(f"{name} has {len(text)} characters; {most_chars} are enough, write less")
    return Approval(check=call.check, case=call.case, sha256=call.sha256, approver=approver, reason=reason)


def _check(saved: SavedVerdict, entries: Sequence[Approval], approval: Approval) -> None:
    """Raises Conflict, InputError: this approval would help nothing."""
    name, key = saved.found.item.path, key_of(approval)
    if not saved.digest_holds:
        raise Conflict(f"{name!r} was edited since the guard wrote it; run keepwarm verify again")
    if key in saved.approved() or any(key == key_of(entry) for entry in entries):
        raise Conflict(f"{approval.case!r} is approved already, this very output; there is nothing to add")
    approvable = saved.approvable()
    if key in approvable:
        return
    if any(key[:2] == other[:2] for other in approvable):
        raise Conflict(
            f"{approval.case!r} waits for an approval of another output, not {approval.sha256!r}; look again"
        )
    raise InputError(
        f"nothing of check {approval.check!r}, case {approval.case!r} waits for an approval in {name!r}; "
        "approve what the verdict lists"
    )


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Alone among the servers that serve this folder. Raises Conflict."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(folder / APPROVALS, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _write(path: Path, approvals: Sequence[Approval]) -> None:
    """The whole file or none of it, for its owner's eyes. Raises Conflict."""
    content = to_json({"schema": SCHEMA, "approvals": plain(list(approvals))})
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _unwritable(path: Path, error: OSError) -> Conflict:
    reason = error.strerror or error
    return Conflict(f"cannot write {path.name!r} beside the verdict: {reason}; make its folder writable")
