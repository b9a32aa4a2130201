"""Finds a tokenizer by what the user typed."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from keepwarm._errors import TemplateError, TokenizerError
from keepwarm.trace.hub import tokenizer_folder
from keepwarm.trace.render.loading import special_tokens_of
from keepwarm.trace.tokens.base import Tokenizer
from keepwarm.trace.tokens.builtin import builtin_tokenizer
from keepwarm.trace.tokens.hugging_face import HuggingFaceTokenizer


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer that ``spec`` names: a folder, a Hugging Face name, a server; None is the built-in one.

    A name is looked up in the local Hugging Face cache first and fetched only if it is not there.
    Raises ``TokenizerError``.
    """
    if spec is None:
        return builtin_tokenizer()
    if is_server(spec):
        from keepwarm.trace.tokens.server import ServerTokenizer

        return ServerTokenizer(spec)
    return from_folder(tokenizer_folder(spec), name=spec)


def is_server(spec: str) -> bool:
    """True if ``spec`` is the address of a server."""
    return spec.startswith(("http://", "https://"))


def from_folder(folder: Path, *, name: str) -> Tokenizer:
    """The tokenizer of a folder with ``tokenizer.json``. Raises ``TokenizerError``."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise TokenizerError(f"no tokenizer.json in {str(folder)!r}; pass the folder of a fast tokenizer")
    try:
        model = tokenizers.Tokenizer.from_file(str(file))
        tokens = special_tokens_of(folder)
    except TemplateError as error:
        raise TokenizerError(str(error)) from error
    except Exception as error:
        raise TokenizerError(
            f"cannot load {str(file)!r}: {error}; fetch the tokenizer's files again"
        ) from error
    note = f"tokens of {name}; exact if that is the tokenizer of the served model"
    return HuggingFaceTokenizer(model, name=name, exact=True, note=note, special_tokens=tokens)
