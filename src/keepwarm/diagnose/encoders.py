"""Which tokenizer and chat template a diagnosis uses, and what it says about them."""

from __future__ import annotations

from pathlib import Path

from keepwarm._errors import TemplateError
from keepwarm.diagnose.findings import EncodingInfo
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.open import Trace
from keepwarm.trace.records import Request
from keepwarm.trace.render import Renderer, builtin_renderer, load_renderer
from keepwarm.trace.tokens import Tokenizer, load_tokenizer


def choose_encoder(trace: Trace, options: Options, first: Request | None) -> PromptEncoder:
    """The tokenizer asked for, with the template asked for, recorded, or its own, in this order.

    Raises:
        InputError: one of them cannot be loaded.
    """
    tokenizer = load_tokenizer(options.tokenizer)
    return PromptEncoder(_renderer(trace, options, first, tokenizer), tokenizer)


def _renderer(trace: Trace, options: Options, first: Request | None, tokenizer: Tokenizer) -> Renderer:
    if options.chat_template is not None:
        if not Path(options.chat_template).exists():
            raise TemplateError(
                f"no chat template at {options.chat_template!r}; pass a .jinja file or a tokenizer folder"
            )
        return load_renderer(Path(options.chat_template), special_tokens=tokenizer.special_tokens)
    if first is not None and first.chat_template is not None:
        beside = Path(trace.path).parent / Path(first.chat_template).name
        if not beside.is_file():
            raise TemplateError(
                f"{str(trace.path)!r} line {first.line} asks for the chat template {first.chat_template!r}, "
                "which is not beside the trace; put it there or pass one with --chat-template"
            )
        return load_renderer(beside, special_tokens=tokenizer.special_tokens)
    if options.tokenizer is None or options.tokenizer.startswith(("http://", "https://")):
        return builtin_renderer()
    return load_renderer(options.tokenizer)


def encoding_info(trace: Trace, traffic: Traffic) -> EncodingInfo:
    """What to tell the reader about the tokens of a diagnosis."""
    if not trace.prompt_texts_known:
        note = "the trace brings its own blocks: nothing was rendered or tokenised here"
        return EncodingInfo(tokenizer="none", chat_template="none", exact=True, note=note)
    info = traffic.encoder.info
    if all(row.prompt_token_ids is not None for row in traffic.catalog.rows):
        note = "token ids as the trace records them; the template only tells which text they stand for"
        return EncodingInfo(tokenizer="recorded ids", chat_template=info.chat_template, exact=True, note=note)
    return EncodingInfo(
        tokenizer=info.tokenizer, chat_template=info.chat_template, exact=info.exact, note=info.note
    )
