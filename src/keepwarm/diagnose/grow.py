"""Prompts as they would be if the rendering of a turn were the beginning of the next one's."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.prompt import Prompt, TokenIds

_KEPT = 256  # grown prompts: sessions that take turns need one each
_GENERATION_TOKENS = 16  # of what prompts end alike in, at most so many are taken for their generation prompt
_SEAM_TOKENS = (8, 4, 2)  # looked for in this order: the longer a match, the less it is chance


class GrowPrompt:
    """Token ids of a session that only grow: earlier ids stay, the ids of new messages follow.

    Stands for a chat template (or tokenizer path) that renders history as it was first sent.
    Requests have to be asked for in recorded order.
    """

    def __init__(self, parents: Mapping[int, int]) -> None:
        self._parents = parents  # rows whose messages continue those of the parent, which is mapped to
        self._grown: dict[int, TokenIds] = {}
        self._needed = frozenset(parents.values())

    @property
    def rows(self) -> frozenset[int]:
        """Rows that change."""
        return frozenset(self._parents)

    def ids(self, traffic: Traffic, index: int) -> TokenIds:
        """The ids of a row as they would be. Mutates: remembers them for the rows that continue it."""
        parent = self._parents.get(index)
        ids = traffic.ids(index)
        if parent is not None:
            ids = self._continued(traffic, parent, index, ids)
        if index in self._needed:
            answer = traffic.past_ids(index)[len(traffic.ids(index)) :]
            self._grown[index] = np.concatenate([ids, answer])
            while len(self._grown) > _KEPT:
                del self._grown[next(iter(self._grown))]
        return ids

    def _continued(self, traffic: Traffic, parent: int, index: int, ids: TokenIds) -> TokenIds:
        count = len(traffic.catalog.rows[parent].messages)
        before, after = traffic.prompt(parent), traffic.prompt(index)
        past = traffic.past_ids(parent)
        grown = self._grown.get(parent)
        if grown is None:
            grown = past
        if len(past) > len(before.ids):  # the answer is known as tokens: it is kept as it was sampled
            # Encoded again it has about as many tokens; where they end in recorded ids no text tells.
            return np.concatenate([grown, ids[len(past) :]])
        if traffic.catalog.rows[index].prompt_token_ids is not None:
            behind, news = _recorded_seam(before.ids, after.ids)
            return np.concatenate([grown[: len(grown) - behind], ids[news:]])
        end_before, end_after = content_end(before, count), content_end(after, count)
        if end_before is None or end_after is None:
            return ids
        behind = len(before.ids) - end_before  # the generation prompt is not repeated
        kept = grown[: len(grown) - behind]
        return np.concatenate([kept, _without_tools(after, end_after)])


def _recorded_seam(before: TokenIds, after: TokenIds) -> tuple[int, int]:
    """Tokens of ``before`` that are its generation prompt, and the token of ``after`` where news begins.

    Recorded ids do not tell which text they are. Prompts end alike, in the generation prompt; what
    stands in front of it is looked for in ``after``, nearest to where it would be if every token
    were the same.
    """
    most = min(_GENERATION_TOKENS, len(before), len(after))
    unequal = np.flatnonzero(before[::-1][:most] != after[::-1][:most])
    behind = int(unequal[0]) if len(unequal) else most
    end = len(before) - behind
    for width in _SEAM_TOKENS:
        if width <= min(end, len(after) - behind):
            windows = np.lib.stride_tricks.sliding_window_view(after[: len(after) - behind], width)
            found = np.flatnonzero((windows == before[end - width : end]).all(axis=1)) + width
            if len(found):
                return behind, int(found[np.argmin(abs(found - end))])
    return behind, min(end, len(after))


def _without_tools(prompt: Prompt, start: int) -> TokenIds:
    """Tokens from ``start`` on, less tool definitions: those were sent before."""
    keep = np.ones(len(prompt.ids), dtype=bool)
    for span in prompt.rendered.spans:
        if span.path is not None and span.path.startswith("tools"):
            low, high = np.searchsorted(prompt.char_starts, [span.start, span.end])
            keep[low:high] = False
    keep[:start] = False
    return prompt.ids[keep]


def content_end(prompt: Prompt, messages: int) -> int | None:
    """The token behind the last character that the first ``messages`` messages put into the prompt."""
    prefixes = tuple(f"messages[{i}]" for i in range(max(0, messages - 2), messages))
    ends = [
        span.end for span in prompt.rendered.spans if span.path is not None and span.path.startswith(prefixes)
    ]
    if not ends:
        return None
    return int(np.searchsorted(prompt.char_starts, max(ends), side="left"))
