"""From requests to tokens with provenance, the parts of prompts that repeat encoded once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from keepwarm._errors import TemplateError
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


def choose_encoder(
    trace: Path,
    first: Request | None,
    *,
    tokenizer: str | None,
    chat_template: str | None,
    cache_bytes: int = CACHE_BYTES,
) -> PromptEncoder:
    """The tokenizer asked for, with the template asked for, recorded in ``first``, or its own, in this order.

    Raises:
        InputError: one of them cannot be loaded.
    """
    return open_encoder(tokenizer, chosen_template(trace, first, chat_template), cache_bytes=cache_bytes)


def chosen_template(trace: Path, first: Request | None, chat_template: str | None) -> Path | None:
    """The template asked for, else the one that ``first`` names, beside the trace. Raises TemplateError."""
    if chat_template is not None:
        if not Path(chat_template).exists():
            raise TemplateError(
                f"no chat template at {chat_template!r}; pass a .jinja file or a tokenizer folder"
            )
        return Path(chat_template)
    if first is None or first.chat_template is None:
        return None
    beside = trace.parent / Path(first.chat_template).name
    if not beside.is_file():
        raise TemplateError(
            f"{str(trace)!r} line {first.line} asks for the chat template {first.chat_template!r}, "
            "which is not beside the trace; put it there or pass one with --chat-template"
        )
    return beside


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


def hashes_info() -> EncodingInfo:
    """What to tell about a trace of block ids."""
    note = "the trace brings its own blocks: nothing was rendered or tokenised here"
    return EncodingInfo(tokenizer="none", chat_template="none", exact=True, note=note)


def recorded_ids_info(info: EncodingInfo) -> EncodingInfo:
    """What to tell where every request records its token ids; ``info`` is the encoder's."""
    note = "token ids as the trace records them; the template only tells which text they stand for"
    return EncodingInfo(tokenizer="recorded ids", chat_template=info.chat_template, exact=True, note=note)


def without_tools(info: EncodingInfo) -> EncodingInfo:
    """``info`` of an encoder whose template leaves out the tools of some request."""
    dropped = "this chat template prints no tools though requests bring some, so they count for nothing"
    return msgspec.structs.replace(info, note=f"{info.note}; {dropped}")


def drops_tools(rendered: Rendered) -> bool:
    """Whether the prompt of a request that brings tools shows none of them."""
    return not any((span.path or "").startswith("tools") for span in rendered.spans)
