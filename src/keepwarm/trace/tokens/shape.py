"""What of a Hugging Face tokenizer allows texts to be cut, and how the parts must be encoded."""

from __future__ import annotations

import re
from typing import NamedTuple

import tokenizers

from keepwarm.trace.tokens.added_tokens import cut_tokens
from keepwarm.trace.tokens.base import Cuts
from keepwarm.trace.tokens.inner_cuts import Steps, inner_cuts
from keepwarm.trace.tokens.word_trie import one_of

# What the library takes for white space when a token swallows its neighbours.
_WHITE = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"


class Shape(NamedTuple):
    """``left_mark``: a token to stand left of parts that do not begin their text ("": none needed).

    ``drops_blank``: a part after an inner cut is encoded without the blank it begins with.
    """

    cuts: Cuts
    left_mark: str
    drops_blank: bool


def shape_of(model: tokenizers.Tokenizer) -> Shape:
    """How texts may be cut for ``model``: only where it is certain that nothing changes."""
    steps = Steps.of(model)
    tokens = [token for token in model.get_added_tokens_decoder().values() if token.content]
    cut_at = cut_tokens(tokens, keeps_text=not steps.normalizers)
    kept = {token.content for token in cut_at}
    inside = inner_cuts(model, steps, [token for token in tokens if token.content not in kept])
    first_only = any(
        step["type"] == "Metaspace" and step.get("prepend_scheme") == "first" for step in steps.splitters
    )
    pattern = one_of({token.content: _WHITE + "*" if token.rstrip else "" for token in cut_at})
    cuts = Cuts(
        tokens=re.compile(pattern) if pattern else None,
        inside=re.compile(inside) if inside else None,
        by_place=(first_only and bool(cut_at)) or (steps.prepends_always and bool(inside)),
    )
    mark = next((token.content for token in cut_at if not token.rstrip), "")
    if first_only and not mark:
        cuts = cuts._replace(tokens=None)
    return Shape(cuts, mark if first_only else "", steps.prepends_always)
