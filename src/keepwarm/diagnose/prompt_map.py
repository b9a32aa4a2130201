"""The map of a diagnosis: which tokens of each prompt met which fate, and which part of it they are.

A prompt is a sequence of runs, each from the end of the one before to its own ``end``, in tokens. The runs of
a request by fate add up to its ``TokenFates``, token for token.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA = "keepwarm.prompt-map/1"
Fate = Literal["hit", "forced", "partial", "cold", "diverged", "evicted"]
Section = Literal["tools", "system", "history", "user", "unknown"]
FATES: tuple[Fate, ...] = ("hit", "forced", "partial", "cold", "diverged", "evicted")
SECTIONS: tuple[Section, ...] = ("tools", "system", "history", "user", "unknown")


class PromptMap(msgspec.Struct, frozen=True, kw_only=True):
    """Requests as columns, in the order asked for; all lists but the last eight have one entry a request.

    ``session``, ``call_site`` and ``cause`` number the entries of ``sessions``, ``call_sites`` and
    ``causes``, ``cause`` is -1 where there is none. ``fate_runs`` and ``section_runs`` say how many entries
    of ``fate``, ``fate_end`` and ``section``, ``section_end`` belong to each request, one after another;
    ``fate`` numbers ``FATES``, ``section`` numbers ``SECTIONS``.
    """

    block_size: int
    total: int  # requests of all pages
    most_prompt_tokens: int  # of all pages
    index: list[int]
    id: list[str]
    prompt_tokens: list[int]
    time_s: list[float | None]
    session: list[int]
    call_site: list[int]
    break_token: list[int | None]
    cause: list[int]
    fate_runs: list[int]
    section_runs: list[int]
    sessions: list[str]
    call_sites: list[str]
    causes: list[str]
    fate: list[int]
    fate_end: list[int]
    section: list[int]
    section_end: list[int]
