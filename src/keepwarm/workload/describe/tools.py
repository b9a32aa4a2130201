"""How long tools run, by tool and by what they are asked to do."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.predictor import Cluster, ReuseModel
from keepwarm.reuse.terms import tool_of
from keepwarm.workload.base import Trigger
from keepwarm.workload.describe.figures import Tools, ToolTimes
from keepwarm.workload.recording import Recording

MIN_CALLS = 10
_LABEL_TERMS = 3
_LABEL_CHARACTERS = 40
_MOST_LOOKED_AT = 2_000
_JOINS = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_WRAPPERS = frozenset(("sudo", "env", "nohup", "time", "exec", "command"))
_SETTING_OUT = frozenset(("cd", "export", "source", ".", "set", "pushd"))


def tool_times(
    durations: Sequence[ToolDuration], *, source: str | None = None, model: ReuseModel | None = None
) -> Tools | None:
    """By tool, and by cluster of ``model``, else by the program that a command runs. None of no calls."""
    if not durations:
        return None
    kind_of = program_of if model is None else _cluster_namer(model)
    by_tool: defaultdict[str, list[ToolDuration]] = defaultdict(list)
    by_kind: defaultdict[tuple[str, str], list[ToolDuration]] = defaultdict(list)
    for duration in durations:
        tool = tool_of(duration.call)
        by_tool[tool].append(duration)
        if kind := kind_of(duration.call):
            by_kind[tool, kind].append(duration)
    kinds = [_times(tool, kind, held) for (tool, kind), held in by_kind.items() if len(held) >= MIN_CALLS]
    rest = [duration for held in by_kind.values() if len(held) < MIN_CALLS for duration in held]
    return Tools(
        source=source,
        kinds="programs" if model is None else "clusters",
        calls=len(durations),
        cut_off=sum(duration.cut_off for duration in durations),
        min_calls=MIN_CALLS,
        by_tool=_sorted([_times(tool, None, held) for tool, held in by_tool.items()]),
        by_kind=(*_sorted(kinds), *([_times("", None, rest)] if rest else [])),
    )


def calls_of_trace(recording: Recording) -> list[ToolDuration]:
    """Gaps after calls that the trace names, where it says how long they were."""
    return [
        ToolDuration(turn.call, turn.gap_s, session.id)
        for session, moments in zip(recording.workload.sessions, recording.moments, strict=True)
        if all(moment.start_s is not None for moment in moments)
        for turn in session.turns[1:]
        if turn.trigger is Trigger.TOOL and turn.call is not None
    ]


def program_of(call: ToolCall) -> str:
    """The program that a shell command is about, without its folder; "" of arguments that are no command.

    Of a list of commands it is that of the first that does more than change folder or environment.
    """
    found = ""
    for command in _JOINS.split(_command_of(call)[:_MOST_LOOKED_AT]):
        words = [word for word in command.split() if not _ASSIGNMENT.match(word) and word not in _WRAPPERS]
        if words:
            found = found or words[0]
            if words[0] not in _SETTING_OUT:
                found = words[0]
                break
    return PurePosixPath(found).name[:_LABEL_CHARACTERS] or found


def _command_of(call: ToolCall) -> str:
    """The command of a shell call, be its arguments that text or JSON around it; "" of other tools."""
    if tool_of(call) != "bash":
        return ""
    if call.arguments.lstrip()[:1] not in ("{", "["):
        return call.arguments
    try:
        given = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return ""
    command = given.get("command", given.get("cmd")) if isinstance(given, dict) else given
    if isinstance(command, list) and command:
        command = command[-1]
    return command if isinstance(command, str) else ""


def _cluster_namer(model: ReuseModel) -> Callable[[ToolCall], str]:
    """Names a call's cluster by its heaviest terms; "" where it is in none."""
    names = {
        id(cluster.curve): _label(tool.terms, cluster)
        for tool in model.tools.values()
        for cluster in tool.clusters
    }
    return lambda call: names.get(id(model.ladder(call)[0]), "")


def _label(terms: Sequence[str], cluster: Cluster) -> str:
    heaviest = sorted(zip(cluster.weights, cluster.terms, strict=True), key=lambda held: (-held[0], held[1]))
    return ", ".join(terms[term] for _, term in heaviest[:_LABEL_TERMS])


def _times(tool: str, kind: str | None, durations: Sequence[ToolDuration]) -> ToolTimes:
    """A call that was cut off outlasts all that ended."""
    ordered = sorted(durations, key=lambda duration: (duration.cut_off, duration.duration_s))
    last = len(ordered)

    def quantile_s(percent: int) -> float | None:
        found = ordered[max(0, -(-percent * last // 100) - 1)]
        return None if found.cut_off else found.duration_s

    return ToolTimes(
        tool=tool,
        kind=kind,
        calls=last,
        cut_off=sum(duration.cut_off for duration in ordered),
        mean_s=sum(duration.duration_s for duration in ordered) / last,
        p50_s=quantile_s(50),
        p90_s=quantile_s(90),
        p99_s=quantile_s(99),
    )


def _sorted(times: Sequence[ToolTimes]) -> tuple[ToolTimes, ...]:
    return tuple(sorted(times, key=lambda row: (-row.calls, row.tool, row.kind or "")))
