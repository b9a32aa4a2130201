"""What a test is told: that its prefixes are as they were, or where they moved and what to do next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from keepwarm._text import clip, count, counted, visible
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.mask import mask
from keepwarm.gate.prefixes.compare import Cause, Moved, compare
from keepwarm.gate.prefixes.examined import Recorded, examine_requests
from keepwarm.gate.prefixes.recording import RecordedRequests
from keepwarm.gate.prefixes.snapshot import Snapshot, read_snapshot, snapshot_of, write_snapshot
from keepwarm.repair.redaction import Redactor
from keepwarm.repair.redaction.recorded import recorded_values

UPDATE = "--keepwarm-update"
_CONVERSATION = re.compile(r"messages\[[1-9]")
_CONTEXT_CHARS = 60
_MOST_PLACES = 5
_KINDS = {"clock": "time", "random-id": "id"}


def update_snapshot(requests: RecordedRequests, path: Path, options: Options) -> None:
    """Write what was recorded as the snapshot. Raises InputError."""
    write_snapshot(path, snapshot_of(examine_requests(requests, options)))


def check_requests(requests: RecordedRequests, path: Path, options: Options, shown: str) -> str | None:
    """Compare what was recorded with the snapshot in ``path``, which is called ``shown``.

    None if no prefix moved, else what to tell the developer. Raises InputError.
    """
    recorded = examine_requests(requests, options)
    then = read_snapshot(path)
    if then is None:
        return f"no snapshot of the prefixes in {shown}; write it with {UPDATE}, look at it and commit it"
    now = snapshot_of(recorded)
    setup = _other_setup(then, now)
    if setup:
        return f"{shown} was made with another {setup}; read alike, or write it again with {UPDATE}"
    if [mark.session for mark in then.requests] != [mark.session for mark in now.requests]:
        return (
            f"the test made {_requests(now)}, {shown} has {_requests(then)}; if that is meant, write it "
            f"again with {UPDATE}"
        )
    moved = compare(recorded, then)
    return _told(moved, recorded, shown) if moved else None


def _requests(snapshot: Snapshot) -> str:
    sessions = len({mark.session for mark in snapshot.requests})
    return f"{counted(len(snapshot.requests), 'request')} in {counted(sessions, 'session')}"


def _other_setup(then: Snapshot, now: Snapshot) -> str:
    """What prompts became tokens with, where that differs."""
    for name in ("tokenizer", "chat_template", "block_size"):
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            return f"{name.replace('_', ' ')} ({before!r}, now {after!r})"
    return ""


def _told(moved: Sequence[Moved], recorded: Recorded, shown: str) -> str:
    redact = Redactor(recorded_values(recorded.accounts).all())
    lines = [f"the cached prefix moved, compared with {shown}"]
    for place in moved[:_MOST_PLACES]:
        lines += ["", *_place(place, len(recorded.requests), redact)]
    if len(moved) > _MOST_PLACES:
        lines += ["", f"and in {counted(len(moved) - _MOST_PLACES, 'other place')}"]
    codes = dict.fromkeys(place.cause.code for place in moved if place.cause)
    steps = [f"`keepwarm causes {code}` says how it is fixed" for code in codes]
    steps.append(f"if the change is meant: pytest {UPDATE}, and commit the snapshot")
    lines += ["", *(f"{'next' if not number else '':<8}{step}" for number, step in enumerate(steps))]
    return "\n".join(lines)


def _place(moved: Moved, total: int, redact: Redactor) -> list[str]:
    session = f" of session {visible(moved.session)!r}" if moved.session else ""
    also = f" (and {', '.join(map(str, moved.also))})" if moved.also else ""
    rows = [("request", f"{moved.request}{also} of {total}{session}")]
    if moved.what == "scope":
        rows.append(("where", "another model, adapter or cache_salt: caches of its own, whatever the text"))
    else:
        rows += _context(moved, redact)
    if moved.cause is not None:
        rows.append(("cause", moved.cause.code if moved.cause.is_sure else f"looks like {moved.cause.code}"))
    rows.append(("reuse", _reuse(moved)))
    return [f"{name:<8}{text}" for name, text in rows]


def _context(moved: Moved, redact: Redactor) -> list[tuple[str, str]]:
    """Where it is, and the text around it: of the application before it, all else by kind and length."""
    path = visible(moved.path) if moved.path else "text of the chat template"
    tokens = f"tokens {count(moved.first_token)} to {count(moved.last_token)}"
    rows = [("where", f"{path}, in {tokens} of the prompt")]
    is_private = moved.path is None or _CONVERSATION.match(moved.path) is not None
    if moved.before:
        before = mask(moved.before) if is_private else redact(moved.before)
        rows.append(("before", clip(visible(before), _CONTEXT_CHARS, keep_end=True)))
    rows.append(("here", mask(moved.here, _kind(moved.cause)) or "the prefix ends"))
    rows.append(("there", _there(moved)))
    return rows


def _there(moved: Moved) -> str:
    """The snapshot holds no text: what can be said is how long the value was."""
    if moved.what == "reuse":
        return "the same text was shared with an earlier request"
    if moved.chars_then is None:
        return "no such value in the prefix"
    if moved.chars_now == moved.chars_then:
        return f"another text in a value of the same {counted(moved.chars_then, 'character')}"
    now = "" if moved.chars_now is None else f", now of {count(moved.chars_now)}"
    return f"another text, in a value of {counted(moved.chars_then, 'character')}{now}"


def _reuse(moved: Moved) -> str:
    now, then = count(moved.reused_now), count(moved.reused_then)
    of = f"of {counted(moved.prompt_tokens, 'prompt token')}"
    if moved.reused_now < moved.reused_then:
        return f"{now} {of} come from earlier requests of this test, {then} before (simulated)"
    return f"{now} {of} come from earlier requests of this test, as before: caches fill anew once (simulated)"


def _kind(cause: Cause | None) -> str | None:
    return None if cause is None else _KINDS.get(cause.code)
