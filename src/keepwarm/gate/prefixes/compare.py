"""Where the prefixes of a test's requests differ from those of its snapshot."""

from __future__ import annotations

from typing import Literal, NamedTuple

from keepwarm.diagnose.breaks import path_at, text_of
from keepwarm.diagnose.findings import Finding
from keepwarm.diagnose.report.secrets import find_secrets
from keepwarm.diagnose.times import states_time
from keepwarm.diagnose.values import Seen
from keepwarm.gate.prefixes.examined import Examined, Part, Recorded
from keepwarm.gate.prefixes.snapshot import (
    PartMark,
    RequestMark,
    Snapshot,
    chain_of,
    common_blocks,
    scope_of,
)

_CONTEXT_TOKENS = 48  # more than is shown: what is private is known by its surroundings


class Cause(NamedTuple):
    """Why a prefix moved; sure where the test's requests show it among themselves, else read off the text."""

    code: str
    is_sure: bool


class Moved(NamedTuple):
    """A prefix that is no longer what it was: number of the request (from 1), tokens and texts of now.

    ``first_token`` to ``last_token`` is the first block that differs, of which the snapshot has only a hash.
    """

    request: int
    what: Literal["text", "scope", "reuse"]
    session: str
    path: str | None
    first_token: int
    last_token: int
    before: str
    here: str
    chars_then: int | None  # of the value at ``path``
    chars_now: int | None
    reused_then: int
    reused_now: int
    prompt_tokens: int
    cause: Cause | None
    also: tuple[int, ...] = ()  # later requests that moved in the same place


def compare(recorded: Recorded, snapshot: Snapshot) -> tuple[Moved, ...]:
    """One entry per place, in order of requests; both must have as many requests."""
    found: list[Moved] = []
    chains = snapshot.chains()
    for index, (request, mark) in enumerate(zip(recorded.requests, snapshot.requests, strict=True)):
        moved = _moved(recorded, index, request, snapshot, mark, chains[index])
        if moved is None:
            continue
        same = next((i for i, other in enumerate(found) if _is_same(other, moved)), None)
        if same is None:
            found.append(moved)
        else:
            found[same] = found[same]._replace(also=(*found[same].also, index + 1))
    return tuple(found)


def _is_same(a: Moved, b: Moved) -> bool:
    return (a.what, a.path, a.first_token, a.here) == (b.what, b.path, b.first_token, b.here)


def _moved(
    recorded: Recorded,
    index: int,
    request: Examined,
    snapshot: Snapshot,
    mark: RequestMark,
    then: tuple[str, ...],
) -> Moved | None:
    block = recorded.block_size
    now = chain_of(request, block)
    common = common_blocks(then, now)
    is_text = common < max(len(then), len(now))
    is_scope = scope_of(request) != mark.scope
    if not is_text and not is_scope and request.reused_tokens >= mark.reused_tokens:
        return None
    first = common * block if is_text else 0 if is_scope else request.reused_tokens
    last = min(first + block, len(request.prompt.ids)) - 1
    known = _parts_then(snapshot, mark)
    part = _part(request, known, first, last) if is_text else None
    path = part.path if part else path_at(request.prompt, first) if not is_scope else None
    here = text_of(request.prompt, first, last + 1)
    same_path = [old for old in known if old.path == path]
    return Moved(
        request=index + 1,
        what="text" if is_text else "scope" if is_scope else "reuse",
        session=request.session,
        path=path,
        first_token=first,
        last_token=max(first, last),
        before=text_of(request.prompt, first - _CONTEXT_TOKENS, first),
        here=here,
        chars_then=same_path[0].chars if same_path else None,
        chars_now=next((part.chars for part in request.parts if part.path == path), None),
        reused_then=mark.reused_tokens,
        reused_now=request.reused_tokens,
        prompt_tokens=len(request.prompt.ids),
        cause=_cause(recorded, index, path, range(first - block, last + block + 1), here),
    )


def _parts_then(snapshot: Snapshot, mark: RequestMark) -> list[PartMark]:
    """The values of the prefix: the request's own, then those kept with an earlier request."""
    parts = list(mark.parts)
    limit = mark.same_blocks * snapshot.block_size
    while mark.same_as:
        mark = snapshot.requests[mark.same_as - 1]
        parts += [part for part in mark.parts if part.first_token < limit]
        limit = min(limit, mark.same_blocks * snapshot.block_size)
    return parts


def _part(request: Examined, then: list[PartMark], first: int, last: int) -> Part | None:
    """The value in which the block differs: the first one of another length, else the one it begins in."""
    ends = [part.first_token for part in request.parts[1:]] + [len(request.prompt.ids)]
    inside = [
        part
        for part, end in zip(request.parts, ends, strict=True)
        if part.first_token <= last and end > first
    ]
    lengths = {(part.path, part.chars) for part in then}
    other = (part for part in inside if (part.path, part.chars) not in lengths)
    return next(other, inside[0] if inside else None)


def _cause(recorded: Recorded, index: int, path: str | None, near: range, here: str) -> Cause | None:
    """The finding about this place, if the test's own requests show one, else what the text looks like."""
    row = recorded.diagnosis.rows[index]
    for finding in recorded.diagnosis.findings:
        if finding.call_site == row.call_site and _is_about(finding, path) and finding.token_offset in near:
            return Cause(finding.cause, is_sure=True)
    if states_time(Seen(here, here, "", None)):
        return Cause("clock", is_sure=False)
    if any(found.kind in ("id", "key", "number", "token") for found in find_secrets(here)):
        return Cause("random-id", is_sure=False)
    return None


def _is_about(finding: Finding, path: str | None) -> bool:
    return path is not None and finding.path is not None and path.startswith(finding.path)
