"""The tokenizer that ships with keepwarm, for when no other is named."""

from __future__ import annotations

from importlib import resources

import tokenizers

from keepwarm.trace.render.loading import BUILTIN_SPECIAL_TOKENS
from keepwarm.trace.tokens.hugging_face import HuggingFaceTokenizer

BUILTIN_NOTE = (
    "built-in tokenizer and template: token counts are approximate; positions, causes and ratios carry over; "
    "pass --tokenizer for exact figures"
)


def builtin_tokenizer() -> HuggingFaceTokenizer:
    """A byte-level BPE with 16,384 tokens, trained by ``scripts/train_tokenizer.py``."""
    data = resources.files("keepwarm.trace.tokens").joinpath("builtin.json").read_text("utf-8")
    return HuggingFaceTokenizer(
        tokenizers.Tokenizer.from_str(data),
        name="built-in",
        exact=False,
        note=BUILTIN_NOTE,
        special_tokens=BUILTIN_SPECIAL_TOKENS,
    )
