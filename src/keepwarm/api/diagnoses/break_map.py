"""The break map: a page of requests with the runs of their fates and sections."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from keepwarm.api.diagnoses.columns import Indices, RequestColumns
from keepwarm.diagnose.prompt_map import PromptMap
from keepwarm.diagnose.runs import MapRuns, RunColumn

Group = Literal["time", "call_site", "session"]


def grouped(columns: RequestColumns, positions: Indices, group: Group) -> Indices:
    """``positions`` in time, or group by group in the order of their first requests, in time within."""
    by_time = positions[np.argsort(columns.time_rank[positions], kind="stable")]
    if group == "time":
        return by_time
    code = (columns.call_site if group == "call_site" else columns.session).code[by_time]
    _, first, number = np.unique(code, return_index=True, return_inverse=True)
    return by_time[np.argsort(first[number], kind="stable")]


def break_map(columns: RequestColumns, runs: MapRuns, positions: Indices, page: slice) -> PromptMap:
    """The map of ``positions[page]``; what it says of all pages is of ``positions``."""
    shown = positions[page]
    sessions, session = _renumbered(columns.session.names, columns.session.code[shown])
    sites, site = _renumbered(columns.call_site.names, columns.call_site.code[shown])
    causes, cause = _renumbered(columns.cause_names, columns.first_cause(shown))
    fate_runs, fate, fate_end = _taken(runs.fate, shown)
    section_runs, section, section_end = _taken(runs.section, shown)
    return PromptMap(
        block_size=runs.block_size,
        total=len(positions),
        most_prompt_tokens=int(columns.prompt[positions].max(initial=0)),
        index=columns.index[shown].tolist(),
        id=columns.optional("id", shown),
        prompt_tokens=columns.prompt[shown].tolist(),
        time_s=columns.optional("time_s", shown),
        session=session,
        call_site=site,
        break_token=columns.optional("break_token", shown),
        cause=cause,
        fate_runs=fate_runs,
        section_runs=section_runs,
        sessions=sessions,
        call_sites=sites,
        causes=causes,
        fate=fate,
        fate_end=fate_end,
        section=section,
        section_end=section_end,
    )


def _renumbered(names: list[str], code: npt.NDArray[Any]) -> tuple[list[str], list[int]]:
    """Only the names that are used, in order of first use, and the numbers of these; below 0 stays -1."""
    used, first, number = np.unique(code, return_index=True, return_inverse=True)
    order = [place for place in np.argsort(first) if used[place] >= 0]
    new = np.full(len(used), -1, dtype=np.int64)
    new[order] = np.arange(len(order))
    return [names[used[place]] for place in order], new[number].tolist()


def _taken(column: RunColumn, positions: Indices) -> tuple[list[int], list[int], list[int]]:
    """How many runs each request has, then their codes and ends one after another."""
    start = column.offsets[positions]
    length = column.offsets[positions + 1] - start
    begin = np.cumsum(length) - length
    at = np.repeat(start - begin, length) + np.arange(int(length.sum()))
    return length.tolist(), column.code[at].tolist(), column.end[at].tolist()
