"""A recorded request as it is sent again: the same prompt, greedy, streamed."""

from __future__ import annotations

from typing import Any, NamedTuple

from keepwarm.replay.measuring.options import ReplayOptions
from keepwarm.trace.records import JsonObject, Request

_DEFAULT_OUTPUT_TOKENS = 128  # where neither a limit nor a count is recorded
_LIMITS = ("max_completion_tokens", "max_tokens", "max_output_tokens")
# How an answer is drawn and delivered is the replay's to say, and what only the provider acts on is left out.
_LEFT_OUT = frozenset(
    (
        *_LIMITS,
        *("stream", "stream_options", "n", "best_of", "use_beam_search"),
        *("temperature", "top_p", "top_k", "min_p", "seed"),
        *("logprobs", "top_logprobs", "functions", "function_call"),
        *("store", "metadata", "service_tier", "include", "truncation", "prompt_cache_key"),
    )
)
# What shapes the prompt of a chat besides messages and tools (vllm/entrypoints/serve/tokenize/protocol.py).
_SHAPES_CHAT = (
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "mm_processor_kwargs",
)
# These reach the chat template as if they had been among its arguments.
_TEMPLATE_ARGUMENTS = ("documents", "reasoning_effort")


class Sendable(NamedTuple):
    """A request ready to be sent: where, what, and what ``/tokenize`` is asked first.

    ``token_ids`` are set where the prompt is recorded as ids, so that nobody need be asked.
    """

    path: str
    body: dict[str, Any]
    tokenize: dict[str, Any]
    token_ids: list[int] | None = None

    @property
    def is_chat(self) -> bool:
        """Whether it goes to chat completions."""
        return self.path == "/v1/chat/completions"


def sendable(
    request: Request, model: str, options: ReplayOptions, chat_template: str | None = None
) -> Sendable:
    """``request`` for ``model``. ``chat_template``: the text of one, to be rendered by the server."""
    params = {
        key: value for key, value in request.params.items() if key not in _LEFT_OUT and value is not None
    }
    body: dict[str, Any] = {
        "model": model,
        **params,
        "max_tokens": _output_tokens(request, options.max_tokens),
        "temperature": 0,
        "seed": options.seed,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.messages:
        return _chat(request, body, options, chat_template)
    prompt: str | list[int] = request.prompt_token_ids or request.prompt_text or ""
    body["prompt"] = prompt
    asked = {"model": model, "prompt": prompt}
    if "add_special_tokens" in params:
        asked["add_special_tokens"] = params["add_special_tokens"]
    ids = prompt if isinstance(prompt, list) else None
    return Sendable("/v1/completions", body, asked, ids)


def _chat(
    request: Request, body: dict[str, Any], options: ReplayOptions, chat_template: str | None
) -> Sendable:
    body["messages"] = request.messages
    if chat_template is not None:
        body["chat_template"] = chat_template
    if request.tools:
        body["tools"] = request.tools
        if options.tool_choice == "none":
            body["tool_choice"] = "none"
    else:
        body.pop("tool_choice", None)  # no server takes it without tools
    return Sendable("/v1/chat/completions", body, _chat_tokenize(body))


def _chat_tokenize(body: JsonObject) -> dict[str, Any]:
    shape = ("model", "messages", "tools", "chat_template", *_SHAPES_CHAT)
    asked = {key: body[key] for key in shape if key in body}
    arguments = {key: body[key] for key in _TEMPLATE_ARGUMENTS if key in body}
    given = body.get("chat_template_kwargs")
    arguments |= given if isinstance(given, dict) else {}
    return {**asked, "chat_template_kwargs": arguments} if arguments else asked


def _output_tokens(request: Request, most: int | None) -> int:
    """The recorded limit, else what was generated then, else a default; capped."""
    limits = (request.params.get(name) for name in _LIMITS)
    limit = next((value for value in limits if type(value) is int and value > 0), None)
    wanted = limit or request.usage.output_tokens or _DEFAULT_OUTPUT_TOKENS
    return wanted if most is None else min(wanted, most)
