"""Where a request leaves the longest prefix that any earlier request had."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from keepwarm.cache.holders import SharedPrefix
from keepwarm.diagnose.traffic import Traffic, common_prefix
from keepwarm.trace.prompt import Prompt, TokenIds

_CONTEXT_TOKENS = 12


class Excerpt(NamedTuple):
    """Some tokens as text, and how many characters each has; none where nobody knows where they start.

    A character that is split over several tokens counts for the last of them.
    """

    text: str
    token_chars: tuple[int, ...]


class Break(NamedTuple):
    """The break of one request, in tokens and in text; ``baseline`` is the earlier request.

    ``byte`` counts the UTF-8 bytes of the rendered prompt up to the character in which token ``token``
    starts, None where nobody knows which that is.
    """

    baseline: int
    token: int
    byte: int | None
    path: str | None
    before: Excerpt
    here: Excerpt
    there: Excerpt


def find_break(
    traffic: Traffic, index: int, shared: SharedPrefix, related: Iterable[int | None]
) -> Break | None:
    """The break of request ``index``; ``None`` for a first request, a full hit, or a hash-only trace.

    ``related`` are earlier requests it is to be compared with even where they share no whole block.
    """
    if traffic.catalog.rows[index].hashed is not None:
        return None
    candidates = {i for i in (shared.request_index, *related) if i is not None and 0 <= i < index}
    if not candidates:
        return None
    prompt = traffic.prompt(index)
    lengths = {i: common_prefix(prompt.ids, _past_ids(traffic, i)) for i in candidates}
    baseline = max(lengths, key=lambda i: (lengths[i], i))
    token = lengths[baseline]
    if token >= len(prompt.ids):
        return None
    before, here = (
        _excerpt(traffic, index, start, start + _CONTEXT_TOKENS) for start in (token - _CONTEXT_TOKENS, token)
    )
    return Break(
        baseline=baseline,
        token=token,
        byte=_byte_at(prompt, token) if _has_exact_starts(traffic, index) else None,
        path=path_at(prompt, token),
        before=before,
        here=here,
        there=_excerpt(traffic, baseline, token, token + _CONTEXT_TOKENS),
    )


def _has_exact_starts(traffic: Traffic, index: int) -> bool:
    """Whether the tokens are ours: where a trace records them, their characters are a guess."""
    return traffic.catalog.rows[index].prompt_token_ids is None


def _excerpt(traffic: Traffic, index: int, start: int, end: int) -> Excerpt:
    prompt = traffic.prompt(index)
    text = text_of(prompt, start, end)
    if not text or not _has_exact_starts(traffic, index):
        return Excerpt(text, ())
    starts = prompt.char_starts[max(0, start) : end]
    lengths: list[int] = np.diff(starts, append=int(starts[0]) + len(text)).tolist()
    return Excerpt(text, tuple(lengths))


def _byte_at(prompt: Prompt, token: int) -> int:
    return len(prompt.rendered.text[: int(prompt.char_starts[token])].encode("utf-8", "surrogatepass"))


def _past_ids(traffic: Traffic, index: int) -> TokenIds:
    """What the cache holds of an earlier request: its prompt, and its answer where both are known as ids."""
    is_recorded = traffic.catalog.rows[index].prompt_token_ids is not None
    return traffic.past_ids(index) if is_recorded else traffic.prompt(index).ids


def text_of(prompt: Prompt, start: int, end: int) -> str:
    """Text of tokens ``start:end``, cut to the prompt."""
    starts = prompt.char_starts
    low, high = max(0, start), min(end, len(starts))
    if low >= high:
        return ""
    stop = int(starts[high]) if high < len(starts) else len(prompt.rendered.text)
    return prompt.rendered.text[int(starts[low]) : stop]


def path_at(prompt: Prompt, token: int) -> str | None:
    """The JSON path of a token, or of the next text behind it where the template printed it."""
    if token >= len(prompt.char_starts):
        return None
    char = int(prompt.char_starts[token])
    for span in prompt.rendered.spans:
        if span.end > char and span.path is not None:
            return span.path
    return None


def token_at(prompt: Prompt, path: str, char: int) -> int | None:
    """The token that holds character ``char`` of the value at ``path`` (or of what lies below it)."""
    for span in prompt.rendered.spans:
        if span.path is None or not _is_below(span.path, path):
            continue
        if span.path != path or span.value_start < 0:
            return _token(prompt, span.start)
        if span.value_start <= char < span.value_start + (span.end - span.start):
            return _token(prompt, span.start + char - span.value_start)
    return None


def _is_below(path: str, above: str) -> bool:
    return path == above or (path.startswith(above) and path[len(above)] in ".[")


def _token(prompt: Prompt, char: int) -> int:
    return max(0, int(np.searchsorted(prompt.char_starts, char, side="right")) - 1)
