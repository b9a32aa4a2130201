"""Which call site of now is which of then, and which finding.

A call site is known by its name in the metadata, else by its text: it may be reworded, renamed or used
earlier, as long as a fifth of its stable text is what it was. A finding is known by cause, call site and
JSON path; where only positions in lists changed (a message was put in front), it is the same one, moved.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepwarm.gate.baseline import FindingMark, SiteMark
from keepwarm.gate.sketches import SAME_SITE, likeness, tools_agree

_POSITION = re.compile(r"\[\d+\]")


def match_sites(before: Sequence[SiteMark], now: Sequence[SiteMark]) -> dict[str, str]:
    """Keys of now to keys of then, for the call sites in both; each is used once, the surest first."""
    pairs = []
    for new in now:
        for old in before:
            same_name = new.name is not None and new.name == old.name
            alike = likeness(new.text, old.text) if tools_agree(new.tools, old.tools) else 0.0
            if same_name or alike >= SAME_SITE:
                same_key = new.key == old.key
                pairs.append(
                    (-same_name, -same_key, -alike, abs(new.requests - old.requests), old.key, new.key)
                )
    matched: dict[str, str] = {}
    for *_, old_key, new_key in sorted(pairs):
        if new_key not in matched and old_key not in matched.values():
            matched[new_key] = old_key
    return matched


class MatchedFindings(NamedTuple):
    """``known`` and ``moved`` give the mark of then for each finding of now that has one."""

    known: Mapping[str, FindingMark]
    moved: Mapping[str, FindingMark]
    new: Sequence[str]
    vanished: Sequence[FindingMark]


def match_findings(before: Sequence[FindingMark], now: Mapping[str, FindingMark]) -> MatchedFindings:
    """Match the marks of now, by finding id, under keys of then."""
    left = {_identity(mark): mark for mark in before}
    known = {finding: left.pop(_identity(mark)) for finding, mark in now.items() if _identity(mark) in left}
    moved: dict[str, FindingMark] = {}
    for finding, mark in now.items():
        if finding in known:
            continue
        alike = [old for old in left.values() if _place(old) == _place(mark)]
        if alike:
            moved[finding] = left.pop(_identity(alike[0]))
    new = [finding for finding in now if finding not in known and finding not in moved]
    return MatchedFindings(known, moved, new, list(left.values()))


def _identity(mark: FindingMark) -> tuple[str, str, str | None]:
    return mark.call_site, mark.cause, mark.path


def _place(mark: FindingMark) -> tuple[str, str, str | None]:
    """The identity without positions in lists."""
    return mark.call_site, mark.cause, None if mark.path is None else _POSITION.sub("[]", mark.path)
