"""Fixes of tools, parameters, model and clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from keepwarm.diagnose.callsites import tool_name
from keepwarm.diagnose.fixes.base import Fix, Stage
from keepwarm.diagnose.fixes.draft import Draft
from keepwarm.trace.contents import ContentId
from keepwarm.trace.records import JsonObject


class ReplaceTools(Fix):
    """Send tool definitions as they were first written: each recorded one in another form.

    Several fixes may replace parts of one tool; each keeps what the others have changed.
    """

    stage = Stage.TOOL_CONTENT

    def __init__(self, tools: Mapping[ContentId, JsonObject], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._tools = tools

    def apply(self, draft: Draft) -> None:
        for i, content in enumerate(draft.row.tools):
            if content in self._tools:
                draft.tools[i] = _merged(draft.tools[i], draft.recorded.tools[i], self._tools[content])


class AddTools(Fix):
    """Offer tools from the start that are otherwise toggled: missing ones per row."""

    stage = Stage.TOOL_SET

    def __init__(self, missing: Mapping[int, Sequence[JsonObject]], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._missing = missing

    def apply(self, draft: Draft) -> None:
        draft.tools += self._missing.get(draft.row.index, ())


class OrderTools(Fix):
    """Send tools in one order: that of their first appearance, by name."""

    stage = Stage.TOOL_ORDER

    def __init__(self, ranks: Mapping[str, int], rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._ranks = ranks

    def apply(self, draft: Draft) -> None:
        draft.tools.sort(key=lambda tool: self._ranks.get(tool_name(tool), len(self._ranks)))


class DropParam(Fix):
    """Leave a body parameter out."""

    stage = Stage.SETTINGS

    def __init__(self, name: str, rows: Iterable[int]) -> None:
        super().__init__(rows)
        self.name = name

    def apply(self, draft: Draft) -> None:
        draft.params.pop(self.name, None)


class SetModel(Fix):
    """Stay with one model: given per row."""

    stage = Stage.SETTINGS

    def __init__(self, models: Mapping[int, str]) -> None:
        super().__init__(models)
        self._models = models

    def apply(self, draft: Draft) -> None:
        draft.model = self._models[draft.row.index]


class FreezeClock(Fix):
    """Let the chat template see one time for all requests."""

    stage = Stage.SETTINGS

    def __init__(self, time_s: float | None, rows: Iterable[int]) -> None:
        super().__init__(rows)
        self._time_s = time_s

    def apply(self, draft: Draft) -> None:
        draft.time_s = self._time_s


def _merged(now: Any, recorded: Any, wanted: Any) -> Any:
    """``now`` with whatever ``wanted`` has otherwise than ``recorded``, the order of keys included."""
    if now is recorded:
        return wanted
    if isinstance(now, dict) and isinstance(recorded, dict) and isinstance(wanted, dict):
        order = now if list(wanted) == list(recorded) else wanted
        return {key: _merged(now.get(key), recorded.get(key), wanted[key]) for key in order if key in wanted}
    lists = isinstance(now, list) and isinstance(recorded, list) and isinstance(wanted, list)
    if lists and len(now) == len(recorded) == len(wanted):
        return [_merged(*items) for items in zip(now, recorded, wanted, strict=True)]
    return now if wanted == recorded else wanted
