"""What to look for in the source: the text on both sides of a slot, names of tools, words of code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepwarm.diagnose.findings import Evidence, Finding
from keepwarm.diagnose.fixes import text_at
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.view import SiteView
from keepwarm.repair.source_words import words_of

_CUT_AT_CHARS = (60, 80)  # evidence is cut there, perhaps inside a word
_MOST_WORDS = 24
_TOOL_CAUSES = frozenset({"tool-order", "tool-set", "schema-key-order"})
_CODE = {
    "args-key-order": (
        r"(?:arguments|tool_calls).{0,80}(?:dumps|stringify|sort_keys)"
        r"|(?:dumps|stringify).{0,80}arguments"
    ),
    "media-reencode": r"image_url|b64encode|toDataURL|data:image/",
    "template-clock": r"strftime_now|date_string",
    "template-history": r"</think>|loop\.last|last_query_index|reasoning_content",
}


class Sides(NamedTuple):
    """Words in front of a slot and behind it, the nearest last and first."""

    before: tuple[str, ...]
    after: tuple[str, ...]


class Clues(NamedTuple):
    """What is looked for; any of them may be empty."""

    sides: tuple[Sides, ...]
    tools: tuple[str, ...]
    code: str | None  # a pattern
    said: str  # what they are, in words


def clues_of(view: SiteView, finding: Finding, candidate: Candidate) -> Clues:
    """The clues of a finding, from the recorded requests. Does not mutate."""
    sides = tuple(dict.fromkeys(side for side in _sides(view, finding) if side.before or side.after))
    tools = view.tools.names if finding.cause in _TOOL_CAUSES or _is_tool_path(finding) else ()
    code = _CODE.get(finding.cause)
    if finding.path == "model":
        code = "|".join(re.escape(name) for name in candidate.evidence.values if len(name) > 3) or None
    parts = []
    if sides:
        parts.append("the text around the slot")
    if tools:
        parts.append(f"the {len(tools)} tools by name")
    if code:
        parts.append("code that handles what varies")
    return Clues(sides, tuple(tools), code, " and ".join(parts) or "nothing: the trace shows no text here")


def _is_tool_path(finding: Finding) -> bool:
    return finding.path is not None and finding.path.startswith("tools")


def _sides(view: SiteView, finding: Finding) -> Iterator[Sides]:
    yield _around(finding.evidence)
    for slot in view.slots:
        if slot.place.path() == finding.path and slot.type.value == finding.slot_type:
            yield Sides(_last(slot.before), _first(slot.after))
    if not finding.evidence.before and not finding.evidence.after:
        yield Sides(_last(_message_text(view, finding)), ())


def _around(evidence: Evidence) -> Sides:
    return Sides(_last(evidence.before), _first(evidence.after))


def _message_text(view: SiteView, finding: Finding) -> str:
    """The beginning of the message that moves or changes as a whole."""
    match = re.match(r"messages\[(\d+)\]", finding.path or "")
    row = next((row for row in view.rows if row.id == finding.evidence.request), None)
    if match is None or row is None or int(match[1]) >= len(row.messages):
        return ""
    text = text_at(view.catalog.message(row.messages[int(match[1])]), None) or ""
    return text[: _CUT_AT_CHARS[1]]


def _last(text: str) -> tuple[str, ...]:
    words: Sequence[str] = words_of(text)
    if len(text) in _CUT_AT_CHARS:
        words = words[1:]
    return tuple(words[-_MOST_WORDS:])


def _first(text: str) -> tuple[str, ...]:
    words: Sequence[str] = words_of(text)
    if len(text) in _CUT_AT_CHARS:
        words = words[:-1]
    return tuple(words[:_MOST_WORDS])
