"""From requests to tokens with provenance, the parts of prompts that repeat encoded once."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keepwarm.trace.prompt import Origin, Prompt, Rendered, Span, TokenIds
from keepwarm.trace.records import EncodingInfo, Request
from keepwarm.trace.render import Renderer, builtin_renderer, load_renderer
from keepwarm.trace.tokens import PartCache, Tokenizer, is_server, load_tokenizer

# What is kept of earlier prompts, in bytes, unless the caller says otherwise.
CACHE_BYTES = 256 << 20


def open_encoder(
    tokenizer: str | None = None,
    chat_template: str | Path | None = None,
    *,
    cache_bytes: int = CACHE_BYTES,
) -> PromptEncoder:
    """The encoder for what a user passed as ``--tokenizer`` and ``--chat-template``.

    Without a template a tokenizer folder or name brings its own; a server, which does not tell its
    template, and nothing at all get the built-in one. Raises ``TokenizerError``, ``TemplateError``.
    """
    found = load_tokenizer(tokenizer)
    if chat_template is not None:
        renderer = load_renderer(chat_template, special_tokens=found.special_tokens or None)
    elif tokenizer is None or is_server(tokenizer):
        renderer = builtin_renderer()
    else:
        renderer = load_renderer(tokenizer)
    return PromptEncoder(renderer, found, cache_bytes)


class PromptEncoder:
    """Renders and encodes requests. ``cache_bytes`` bounds what is kept of earlier prompts.

    Not for use by several threads at once. What it returns stays valid and is not mutated.
    """

    def __init__(self, renderer: Renderer, tokenizer: Tokenizer, cache_bytes: int = CACHE_BYTES) -> None:
        self._renderer = renderer
        self._tokenizer = tokenizer
        self._parts = PartCache(tokenizer, cache_bytes)

    @property
    def info(self) -> EncodingInfo:
        """What to tell the user about the tokens."""
        tokenizer, template = self._tokenizer, self._renderer
        note = tokenizer.note
        if tokenizer.exact and template.is_builtin:
            note = (
                f"tokens of {tokenizer.name} in the built-in chat template: token counts are approximate; "
                "pass --chat-template for exact figures"
            )
        return EncodingInfo(
            tokenizer=tokenizer.name,
            chat_template=template.name,
            exact=tokenizer.exact and not template.is_builtin,
            note=note,
        )

    def rendered(self, request: Request) -> Rendered:
        """The prompt text with its spans; a recorded ``prompt_text`` is taken as it is.

        Raises ``TemplateError``.
        """
        if request.prompt_text is None:
            return self._renderer.render(request)
        text = request.prompt_text
        return Rendered(text=text, spans=(Span(0, len(text), Origin.APP, "prompt", 0),) if text else ())

    def prompt(self, request: Request) -> Prompt:
        """The prompt's tokens, each with the character at which it starts.

        Token ids in the record win over our own; their starts are then spread evenly over the
        rendered text: sorted, and right at both ends only. Raises ``TemplateError``,
        ``TokenizerError``.
        """
        rendered = self.rendered(request)
        if request.prompt_token_ids is not None:
            ids = np.array(request.prompt_token_ids, dtype=np.int32)
            starts = np.arange(len(ids), dtype=np.int64) * len(rendered.text) // max(len(ids), 1)
            return Prompt(rendered=rendered, ids=ids, char_starts=starts.astype(np.int32))
        encoded = self._parts.encode(rendered.text)
        return Prompt(rendered=rendered, ids=encoded.ids, char_starts=encoded.char_starts)

    def ids(self, request: Request) -> TokenIds:
        """The ids of ``prompt(request)``, without spans and starts; faster. Raises the same."""
        if request.prompt_token_ids is not None:
            return np.array(request.prompt_token_ids, dtype=np.int32)
        text = request.prompt_text
        return self._parts.ids(self._renderer.text(request) if text is None else text)
