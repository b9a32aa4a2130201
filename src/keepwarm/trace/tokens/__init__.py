"""Tokenizers: the built-in one, Hugging Face files, or a running server; whole texts or by parts."""

from __future__ import annotations

from keepwarm.trace.tokens.base import Cuts, Encoded, Place, Tokenizer
from keepwarm.trace.tokens.builtin import builtin_tokenizer
from keepwarm.trace.tokens.cache import PartCache
from keepwarm.trace.tokens.loading import is_server, load_tokenizer

__all__ = [
    "Cuts",
    "Encoded",
    "PartCache",
    "Place",
    "Tokenizer",
    "builtin_tokenizer",
    "is_server",
    "load_tokenizer",
]
