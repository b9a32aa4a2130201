"""Which tokenizer and chat template a diagnosis uses, and what it says about them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from keepwarm._errors import TemplateError
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.encode import PromptEncoder, open_encoder
from keepwarm.trace.open import Trace
from keepwarm.trace.records import EncodingInfo, Request

_CACHE_BYTES = 128 << 20  # half of what an encoder keeps alone: a diagnosis holds the trace beside it


def choose_encoder(trace: Trace, options: Options, first: Request | None) -> PromptEncoder:
    """The tokenizer asked for, with the template asked for, recorded, or its own, in this order.

    Raises:
        InputError: one of them cannot be loaded.
    """
    template = _template(trace, options, first)
    return open_encoder(options.tokenizer, template, cache_bytes=_CACHE_BYTES)


def _template(trace: Trace, options: Options, first: Request | None) -> Path | None:
    if options.chat_template is not None:
        if not Path(options.chat_template).exists():
            raise TemplateError(
                f"no chat template at {options.chat_template!r}; pass a .jinja file or a tokenizer folder"
            )
        return Path(options.chat_template)
    if first is None or first.chat_template is None:
        return None
    beside = Path(trace.path).parent / Path(first.chat_template).name
    if not beside.is_file():
        raise TemplateError(
            f"{str(trace.path)!r} line {first.line} asks for the chat template {first.chat_template!r}, "
            "which is not beside the trace; put it there or pass one with --chat-template"
        )
    return beside


def encoding_info(trace: Trace, traffic: Traffic) -> EncodingInfo:
    """What to tell the reader about the tokens of a diagnosis."""
    if not trace.prompt_texts_known:
        note = "the trace brings its own blocks: nothing was rendered or tokenised here"
        return EncodingInfo(tokenizer="none", chat_template="none", exact=True, note=note)
    info = traffic.encoder.info
    if all(row.prompt_token_ids is not None for row in traffic.catalog.rows):
        note = "token ids as the trace records them; the template only tells which text they stand for"
        return EncodingInfo(tokenizer="recorded ids", chat_template=info.chat_template, exact=True, note=note)
    if not _drops_tools(traffic):
        return info
    dropped = "this chat template prints no tools though requests bring some, so they count for nothing"
    return msgspec.structs.replace(info, note=f"{info.note}; {dropped}")


def _drops_tools(traffic: Traffic) -> bool:
    """Whether the template leaves out the tools of the first request that brings some."""
    rows = (row for row in traffic.catalog.rows if row.tools and row.prompt_text is None)
    first = next((row for row in rows if row.prompt_token_ids is None), None)
    if first is None:
        return False
    spans = traffic.prompt(first.index).rendered.spans
    return not any((span.path or "").startswith("tools") for span in spans)
