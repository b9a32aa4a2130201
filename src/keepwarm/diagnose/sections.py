"""Which part of a prompt each token belongs to: tools, system text, history, the newest turn.

Of a rendered prompt the spans tell. Template text belongs to what it introduces, behind everything to what
it closes. Where a trace records its own token ids, nobody knows which characters they stand for: unknown.

Of a hash-only prompt the record may say how much of its head is tools and system text. Behind that, a
request that continues an earlier one has the blocks it shares with it as history and the rest as its new
turn. Any other request is unknown there: what it shares may be text of any kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from keepwarm.diagnose.measured import Measured
from keepwarm.diagnose.prompt_map import SECTIONS
from keepwarm.diagnose.runs import Runs, joined
from keepwarm.diagnose.sessions import Lineage
from keepwarm.diagnose.traffic import Traffic, common_prefix
from keepwarm.trace.catalog import HEAD_ROLES, Row
from keepwarm.trace.prompt import Prompt, Span
from keepwarm.trace.records import HashedPrompt

TOOLS, SYSTEM, HISTORY, USER, UNKNOWN = range(len(SECTIONS))


class SectionTeller:
    """Tells the sections of requests, in any order. Does not mutate what it is given."""

    def __init__(self, traffic: Traffic, measured: Measured, lineage: Lineage) -> None:
        self._traffic = traffic
        self._measured = measured
        self._lineage = lineage

    def tell(self, row: Row) -> Runs:
        """The sections of each token of the row, up to its last one."""
        total = self._measured.prompt[row.index]
        if row.hashed is not None:
            return _hashed_sections(row.hashed, self._continued_tokens(row), total)
        if row.prompt_token_ids is not None:
            return joined([UNKNOWN], [total])
        catalog = self._traffic.catalog
        roles = [str(catalog.message(content).get("role", "")) for content in row.messages]
        return prompt_sections(self._traffic.prompt(row.index), roles)

    def _continued_tokens(self, row: Row) -> int | None:
        """Tokens of the blocks shared with the request that this one continues, None if it continues none.

        It does if it begins with all full blocks of an earlier request of its session.
        """
        sessions = self._lineage.sessions
        related = (self._lineage.parents[row.index], self._measured.shared[row.index].request_index)
        shared_tokens = []
        for index in related:
            if index is None or index < 0 or sessions[index] != sessions[row.index]:
                continue
            before = self._traffic.encoded[index].blocks
            shared = common_prefix(before, self._traffic.encoded[row.index].blocks)
            if shared == len(before) > 0:
                shared_tokens.append(shared * self._measured.block_size)
        return max(shared_tokens, default=None)


def prompt_sections(prompt: Prompt, roles: Sequence[str]) -> Runs:
    """The sections of a rendered prompt whose messages have these ``roles``."""
    codes, ends = _char_sections(prompt.rendered.spans, message_sections(roles))
    # A token belongs to the section it starts in.
    tokens = np.searchsorted(prompt.char_starts, np.asarray(ends[:-1], dtype=np.int64), side="left")
    return joined(codes or [UNKNOWN], [*tokens.tolist(), len(prompt.ids)])


def message_sections(roles: Sequence[str]) -> list[int]:
    """The section of each message: head roles are system, what follows the last answer is the newest turn.

    An answer begun by the application, last of all, belongs to that turn.
    """
    count = len(roles)
    while count and roles[count - 1] == "assistant":
        count -= 1
    answered = max((i for i in range(count) if roles[i] == "assistant"), default=-1)
    turns = [HISTORY if i <= answered else USER for i in range(len(roles))]
    return [SYSTEM if role in HEAD_ROLES else turn for role, turn in zip(roles, turns, strict=True)]


def _char_sections(spans: Sequence[Span], messages: Sequence[int]) -> tuple[list[int], list[int]]:
    """Codes and ends, in characters, of the stretches of spans of one section; the last end is not exact."""
    codes: list[int] = []
    ends: list[int] = []
    read = 0  # end of the newest span with a path: template text behind it belongs to what follows
    last: str | None = None
    for span in spans:
        path = span.path
        if path is None:
            continue
        if path != last:
            last = path
            code = _section(path, messages)
            if not codes or codes[-1] != code:
                if codes:
                    ends.append(read)
                codes.append(code)
        read = span.end
    return codes, [*ends, read]


def _section(path: str, messages: Sequence[int]) -> int:
    if path.startswith("tools"):
        return TOOLS
    if path.startswith("messages["):
        number = int(path[len("messages[") : path.index("]")])
        if number < len(messages):
            return messages[number]
    return UNKNOWN


def _hashed_sections(hashed: HashedPrompt, continued: int | None, total: int) -> Runs:
    tools = hashed.tool_tokens or 0
    head = tools + (hashed.system_tokens or 0)
    if continued is None:
        codes, ends = [TOOLS, SYSTEM, UNKNOWN], [tools, head, total]
    else:
        codes, ends = [TOOLS, SYSTEM, HISTORY, USER], [tools, head, continued, total]
    return joined(codes, list(itertools.accumulate((min(end, total) for end in ends), max)))
