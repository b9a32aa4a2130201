"""Whether every prompt still says everything, and nothing else."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from keepwarm._text import counted
from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.content.declared import Declarations, declarations
from keepwarm.guard.content.differences import Allowed, Difference, Kind, differences
from keepwarm.guard.content.messages import Message
from keepwarm.guard.content.moves import Rules
from keepwarm.guard.content.pieces import Piece, message_pieces, reading_for, text_pieces
from keepwarm.guard.content.stability import SitePieces
from keepwarm.guard.shown import Shown
from keepwarm.guard.traces import Comparison, Pair, Recording
from keepwarm.repair.task import Task
from keepwarm.trace.catalog import Row
from keepwarm.trace.contents import ContentId

_MOST_SHOWN = 25
_INDEX = re.compile(r"messages\[(\d+)\]")
_REORDERED = frozenset({"example-order", "moving-block"})  # causes whose repair is another order of values
_PROMPT = "prompt"  # path, and stands for a role, where only the rendered prompt is recorded
_NOTHING_MOVES = Rules(moves_allowed=False, movable=lambda _index: False, any_order=False)
_NOTHING_DECLARED = Declarations((), ())
_WHAT: dict[Kind, str] = {
    "lost": "is lost from the {role} text",
    "new": "is new in the {role} text and not declared",
    "other-role": "moved from the {role} role into the {other} role",
    "order": "is not in the order it had in the {role} text",
    "moved": "moved to another {role} message, which the task does not allow",
    "white-space": "of the {role} text differs in white space",
}
_NEXT: dict[Kind, str] = {
    "lost": "put it back, or declare it in the task as removed with its reason",
    "new": "take it out, or declare it in the task as added with its reason",
    "other-role": "leave it in its role; a repair never changes who says something",
    "order": "keep the application's own text in its order; move only the value that the finding names",
    "moved": "leave it in its message; only values of the message that the finding names may move",
    "white-space": "write it as it was; only a repair of white space may change white space",
}


class ContentPreserved(GuardCheck):
    """Every prompt still carries everything it carried, and nothing new but the declared repairs.

    Each request of BEFORE is compared with the same request of AFTER, paired by id, else by session and
    position in it. Text is cut into pieces, lines and the sentences in them, counted per role: none may be
    lost, changed, doubled or added. At the finding's call site a piece that varies between requests may stand
    elsewhere in the same role, if the task allows moves and names the message; text that does not vary keeps
    its order. A piece in another role is a fail, and so is a request without a counterpart. Amounts of white
    space inside a piece may differ only if white space is what is repaired, the order of keys in JSON only if
    that is.
    """

    name = "content-preserved"
    needs = ("before", "after")

    def look(self, evidence: Evidence) -> Look:
        comparison = evidence.comparison
        problems = list(_usable(comparison, evidence.task))
        found: dict[_Key, list[Row]] = {}
        shown = Shown(reveal=evidence.reveal)
        reader = _Reader(comparison, evidence.task)
        for pair in comparison.pairs:
            site = comparison.site_of[pair.before.index]
            for difference in dict.fromkeys(reader.differences(pair)):
                found.setdefault(_Key(site, difference), []).append(pair.before)
        problems += _problems(found, reader, shown)
        sites = counted(len(comparison.sites), "call site")
        return Look(
            f"{counted(len(comparison.pairs), 'pair')} of requests of {sites}, "
            f"paired by {comparison.paired_by}",
            tuple(problems),
        )


class _Key(NamedTuple):
    site: int
    difference: Difference


class _Shown(NamedTuple):
    site: int
    kind: Kind
    what: str


class _Reader:
    """The pieces of both recordings, each message cut once."""

    def __init__(self, comparison: Comparison, task: Task) -> None:
        self._comparison = comparison
        self._task = task
        self._reading = reading_for(task.finding.cause)
        self._rules = _rules(task)
        self._declared = declarations(task.declared, self._reading)
        self._cut: dict[tuple[bool, ContentId], Message] = {}
        self._pairs: dict[int, list[Pair]] = {}
        for pair in comparison.pairs:
            self._pairs.setdefault(comparison.site_of[pair.before.index], []).append(pair)
        self.pieces = functools.cache(self._pieces)
        self.pieces_after = functools.cache(self._pieces_after)

    def _pieces(self, site: int) -> SitePieces:
        rows = [pair.before for pair in self._pairs[site]]
        return SitePieces(rows, self._role_pieces(self._comparison.before))

    def _pieces_after(self, site: int) -> SitePieces:
        rows = [pair.after for pair in self._pairs[site]]
        return SitePieces(rows, self._role_pieces(self._comparison.after))

    def differences(self, pair: Pair) -> tuple[Difference, ...]:
        first = self._messages(self._comparison.before, pair.before)
        second = self._messages(self._comparison.after, pair.after)
        if first == second:
            return ()  # most requests of other call sites: their pieces need not be known
        number = self._comparison.site_of[pair.before.index]
        mended = self._comparison.sites[number].id == self._task.finding.call_site
        allowed = Allowed(
            self._rules if mended else _NOTHING_MOVES,
            self._declared if mended else _NOTHING_DECLARED,
            self.pieces(number),
        )
        return differences(first, second, allowed)

    def _role_pieces(self, recording: Recording) -> Callable[[Row], Iterator[tuple[str, Piece]]]:
        return lambda row: (
            (message.role, piece) for message in self._messages(recording, row) for piece in message.pieces
        )

    def _messages(self, recording: Recording, row: Row) -> list[Message]:
        if row.prompt_text is not None:
            text = str(recording.catalog.store.get(row.prompt_text))
            return [Message(_PROMPT, tuple(text_pieces(text, self._reading)))]
        return [self._message(recording, content) for content in row.messages]

    def _message(self, recording: Recording, content: ContentId) -> Message:
        key = (recording is self._comparison.after, content)
        if key not in self._cut:
            message = recording.catalog.message(content)
            self._cut[key] = Message(str(message.get("role")), message_pieces(message, self._reading))
        return self._cut[key]


def _rules(task: Task) -> Rules:
    """What may move: values of the messages that the finding and the declared moves name."""
    paths = [task.finding.path or "", *(r.text for r in task.declared if r.kind == "moved")]
    indices = {int(match[1]) for path in paths if (match := _INDEX.match(path))}
    indices |= {0 for path in paths if path == _PROMPT}
    everywhere = task.finding.cause == "moving-block"
    return Rules(
        moves_allowed=task.moves_allowed,
        movable=lambda index: everywhere or index in indices,
        any_order=task.finding.cause in _REORDERED,
    )


def _usable(comparison: Comparison, task: Task) -> Iterator[Problem]:
    """What keeps the traces from being compared in full."""
    if task.finding.call_site not in {site.id for site in comparison.sites}:
        yield Problem(
            where="--before",
            what=f"has no call site {task.finding.call_site!r}, which the task is about",
            next_step="give the trace that the task was made from",
        )
    if task.trace_sha256 != comparison.before.sha256:
        yield Problem(
            where="--before",
            what=f"is not the trace the task was made from (SHA-256 {task.trace_sha256})",
            next_step="give that trace, or export the task from this one",
        )
    for name, recording in (("--before", comparison.before), ("--after", comparison.after)):
        if not recording.texts_known:
            yield Problem(
                where=name,
                what="does not hold the whole text of the prompts, so nothing can be said of their content",
                next_step="record the requests themselves, for instance with keepwarm record",
            )
        for skipped in recording.skipped[:_MOST_SHOWN]:
            yield Problem(
                where=f"{name}, line {skipped.line}",
                what="could not be read, so it was not compared",
                next_step="mend or leave out the line in both traces",
            )
    for ids, here, there in (
        (comparison.only_before, "BEFORE", "AFTER"),
        (comparison.only_after, "AFTER", "BEFORE"),
    ):
        if ids:
            yield Problem(
                where=_some(ids),
                what=f"{counted(len(ids), 'request')} of {here} without a counterpart in {there}",
                next_step="record both from the same inputs, with the same ids or the same sessions",
            )


def _problems(found: dict[_Key, list[Row]], reader: _Reader, shown: Shown) -> Iterator[Problem]:
    """One problem per call site and what is shown of a difference, the most frequent first."""
    grouped: dict[_Shown, dict[int, str]] = {}
    for key, rows in found.items():
        group = grouped.setdefault(_as_shown(key, reader, shown), {})
        group.update((row.index, row.id) for row in rows)
    ranked = sorted(grouped.items(), key=lambda item: (-len(item[1]), item[0]))
    for (site, kind, what), group in ranked[:_MOST_SHOWN]:
        requests = [name for _, name in sorted(group.items())]
        yield Problem(where=f"site-{site + 1}, {_some(requests)}", what=what, next_step=_NEXT[kind])
    rest = Counter(key.kind for key, _ in ranked[_MOST_SHOWN:])
    if rest:
        yield Problem(
            where="all call sites",
            what="and more: " + ", ".join(f"{number} {kind}" for kind, number in sorted(rest.items())),
            next_step="mend those above first",
        )


def _as_shown(key: _Key, reader: _Reader, shown: Shown) -> _Shown:
    kind, role, piece, other = key.difference
    known = reader.pieces_after if kind == "new" else reader.pieces
    own = not piece.field and known(key.site).is_stable(role, piece)
    text = shown.own(piece.text) if own else shown.value(piece.text)
    name = f"{piece.field} " if piece.field else ""
    return _Shown(key.site, kind, f"{name}“{text}” {_WHAT[kind].format(role=role, other=other)}")


def _some(ids: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(ids[:3])
    return shown if len(ids) <= 3 else f"{shown} and {len(ids) - 3} more"
