"""Whether everything about a request but its text is as it was."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from keepwarm._text import counted
from keepwarm.diagnose.callsites import tool_name
from keepwarm.guard.base import Evidence, GuardCheck, Look, Problem
from keepwarm.guard.content.pieces import canonical
from keepwarm.guard.shown import Shown
from keepwarm.guard.traces import Comparison, Pair, Recording
from keepwarm.repair.task import Task
from keepwarm.trace.catalog import Row

# Causes whose repair is another order of tools, another set of them, another model.
_TOOL_ORDER, _TOOL_SET, _MODEL = "tool-order", "tool-set", "model-switch"
_MOST_SHOWN = 25
_UNSET = "not set"


class _Found(NamedTuple):
    """A difference, and what an approval of it would name; empty if it cannot be approved."""

    site: str
    what: str
    next_step: str
    approvable: str = ""


class ToolsAndRoles(GuardCheck):
    """Every request has the tools, roles, model and parameters it had.

    Tools are compared by name, description and schema as canonical JSON. Their order may differ if the task
    is about it, or about the set of tools; tools that a request did not have but its call site offered
    elsewhere need an approval where the set is what is repaired. The roles must follow each other as before;
    where moves are allowed one message may become two of its role, and a message of a known role at another
    turn needs an approval. Model and all parameters (``tool_choice``, ``response_format``, temperature and
    the rest) must be equal; another model needs an approval if model switches are what is repaired. These
    allowances are for the finding's call site; elsewhere nothing may differ.
    """

    name = "tools-and-roles"
    needs = ("before", "after")

    def look(self, evidence: Evidence) -> Look:
        comparison = evidence.comparison
        shown = Shown(reveal=evidence.reveal)
        offered = _offered(comparison)
        found: dict[_Found, list[str]] = {}
        for pair in comparison.pairs:
            site = comparison.site(pair.before)
            mended = site.id == evidence.task.finding.call_site
            causes = _causes(evidence.task) if mended else frozenset()
            request = _Request(comparison, pair, site.id, causes, shown)
            for difference in (
                *request.tools(offered[site.id]),
                *request.roles(moves=mended and evidence.task.moves_allowed),
                *request.settings(),
            ):
                found.setdefault(difference, []).append(pair.before.id)
        ranked = sorted(found.items(), key=lambda item: (-len(item[1]), item[0]))
        problems = [_problem(difference, ids) for difference, ids in ranked]
        if not comparison.pairs:
            problems.append(
                Problem(where="traces", what="no request has a counterpart", next_step="record both alike")
            )
        return Look(
            f"tools, roles, model and parameters of {counted(len(comparison.pairs), 'pair')} of requests",
            tuple(problems),
        )


class _Request(NamedTuple):
    """One request before and after; ``causes`` are those repaired at its call site."""

    comparison: Comparison
    pair: Pair
    site: str
    causes: frozenset[str]
    shown: Shown

    def tools(self, offered: Counter[str]) -> Iterator[_Found]:
        before = _tools(self.comparison.before, self.pair.before)
        after = _tools(self.comparison.after, self.pair.after)
        if before == after:
            return
        gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
        if not gone and not new:
            if not self.causes & {_TOOL_ORDER, _TOOL_SET}:
                yield self._found("the tools come in another order", "send them in the order they had")
        elif _TOOL_SET in self.causes and not gone and not new - offered and max(new.values()) == 1:
            names = ", ".join(sorted(_name(tool) for tool in new))
            yield self._found(
                f"offers tools it did not have before: {names}",
                "approve it if the model may have them here",
                canonical(sorted(after)),
            )
        else:
            for what, tools in (("lost or changed", gone), ("new or changed", new)):
                if tools:
                    names = ", ".join(sorted(_name(tool) for tool in tools.elements()))
                    yield self._found(f"tools {what}: {names}", "offer the same tools, word for word")

    def roles(self, *, moves: bool) -> Iterator[_Found]:
        before = _roles(self.comparison.before, self.pair.before)
        after = _roles(self.comparison.after, self.pair.after)
        if before == after or (moves and _merged(before) == _merged(after)):
            return
        change = f"the roles were {_words(before)} and are {_words(after)}"
        if moves and set(after) <= set(before) and _within(_merged(before), after):
            yield self._found(
                change, "approve it if the template and the model take it", canonical([before, after])
            )
        else:
            yield self._found(change, "send the same messages in the same order")

    def settings(self) -> Iterator[_Found]:
        first, second = self.pair
        if first.model != second.model:
            approvable = canonical([first.model, second.model]) if _MODEL in self.causes else ""
            yield self._found(
                f"the model was {first.model!r} and is {second.model!r}", "ask the same model", approvable
            )
        before = self.comparison.before.catalog.params(first)
        after = self.comparison.after.catalog.params(second)
        for name in sorted({*before, *after}):
            old, new = (_value(params, name) for params in (before, after))
            if old != new:
                yield self._found(
                    f"{self.shown.own(name)} was {self._short(old)} and is {self._short(new)}",
                    "send the same parameters",
                )

    def _short(self, value: str) -> str:
        plain = value == _UNSET or value in ("true", "false", "null") or value.replace(".", "", 1).isdigit()
        return value if plain else self.shown.value(value, "json")

    def _found(self, what: str, next_step: str, approvable: str = "") -> _Found:
        return _Found(self.site, what, next_step, approvable)


def _causes(task: Task) -> frozenset[str]:
    """What is repaired. A declared move of tools stands for a finding that is repaired together with it."""
    moves_tools = any(r.kind == "moved" and r.text.startswith("tools") for r in task.declared)
    return frozenset({task.finding.cause, *([_TOOL_ORDER] if moves_tools else [])})


def _tools(recording: Recording, row: Row) -> tuple[str, ...]:
    return tuple(canonical(recording.catalog.store.get(tool)) for tool in row.tools)


def _offered(comparison: Comparison) -> dict[str, Counter[str]]:
    """Per call site, every tool that any of its requests offered before."""
    offered: dict[str, Counter[str]] = {site.id: Counter() for site in comparison.sites}
    for pair in comparison.pairs:
        offered[comparison.site(pair.before).id] |= Counter(_tools(comparison.before, pair.before))
    return offered


def _name(tool: str) -> str:
    return tool_name(json.loads(tool)) or "a tool without a name"


def _roles(recording: Recording, row: Row) -> tuple[str, ...]:
    return tuple(str(recording.catalog.message(content).get("role")) for content in row.messages)


def _merged(roles: Sequence[str]) -> tuple[str, ...]:
    return tuple(role for role, _ in itertools.groupby(roles))


def _within(inner: Sequence[str], outer: Sequence[str]) -> bool:
    rest = iter(outer)
    return all(role in rest for role in inner)


def _words(roles: Sequence[str]) -> str:
    runs = [(role, len(list(run))) for role, run in itertools.groupby(roles)]
    return ", ".join(role if number == 1 else f"{number} {role}" for role, number in runs) or "none"


def _value(params: dict[str, Any], name: str) -> str:
    return canonical(params[name]) if name in params else _UNSET


def _problem(found: _Found, ids: Sequence[str]) -> Problem:
    digest = hashlib.sha256(found.approvable.encode("utf-8", "surrogatepass")).hexdigest()
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return Problem(
        where=f"{found.site}, {ids[0]}{more}",
        what=found.what,
        next_step=found.next_step,
        approvable_sha256=digest if found.approvable else None,
    )
