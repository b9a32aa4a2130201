"""Which tool call ended when a request came: from the messages of the request itself.

The engine sees tokens alone. In the API server's process the call is put into ``SamplingParams.extra_args``
under one key, as a short text, and it travels with the request; the engine takes it out again on arrival, so
that nothing behind sees it. Only ``to_sampling_params`` of two request classes is replaced, whose answer
changes in nothing else; the request itself is read and never written.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from keepwarm.policies.sessions import SessionId
from keepwarm.reuse.calls import MOST_ARGUMENT_CHARACTERS, MOST_TOOL_CHARACTERS, ToolCall
from keepwarm.reuse.messages import calls_of, calls_of_input
from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm import fingerprints

logger = logging.getLogger("vllm.cachewise")

KEY = "keepwarm_call"
_MOST_CHARACTERS = 6 * (MOST_TOOL_CHARACTERS + MOST_ARGUMENT_CHARACTERS) + 16  # JSON escapes one as six
CHAT = "vllm/entrypoints/openai/chat_completion/protocol.py"
RESPONSES = "vllm/entrypoints/openai/responses/protocol.py"
FINGERPRINTS: dict[str, dict[str, str]] = {
    CHAT: {"ChatCompletionRequest.to_sampling_params": "14d23b2ab6b28981"},
    RESPONSES: {"ResponsesRequest.to_sampling_params": "200b52ec81e0f61f"},
}
_logged: set[str] = set()


def attach(params: Any, call: ToolCall) -> None:
    """Let ``params`` (SamplingParams) carry the call. Mutates it, not the mapping it was made with."""
    extra_args = params.extra_args or {}
    params.extra_args = {**extra_args, KEY: json.dumps(call.bounded(), ensure_ascii=False)}


def take(request: Any) -> ToolCall | None:
    """The call that a request of the engine carries, which carries it no longer. Mutates; never raises."""
    extra_args = getattr(getattr(request, "sampling_params", None), "extra_args", None)
    if not isinstance(extra_args, dict) or KEY not in extra_args:
        return None
    rest = {key: value for key, value in extra_args.items() if key != KEY}
    request.sampling_params.extra_args = rest or None
    text = extra_args[KEY]  # of ours, or of a client that sent it in vllm_xargs
    if not isinstance(text, str) or len(text) > _MOST_CHARACTERS:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(told, list) and len(told) == 2 and all(isinstance(part, str) for part in told) and told[0]:
        return ToolCall(*told).bounded()
    return None


def tell(table: SessionTable, session: SessionId, request: Any) -> None:
    """Note what ``session`` did until ``request`` of it came; call it before ``table.arrived``. Mutates.

    What somebody said while the tool ran stands: it also knows when the tool started.
    """
    call = take(request)
    known = table.get(session)
    if call is not None and known is not None and not known.requests and known.call is None:
        table.doing(session, call, known.since_s)


def hook_requests() -> None:
    """Make requests of this process carry their calls, if it has such. Never raises; what is wrong is logged.

    Only an API server has loaded these modules by the time vLLM loads plugins; nothing is imported for them.
    """
    for file, class_name, messages_of in (
        (CHAT, "ChatCompletionRequest", lambda request: calls_of(request.messages)),
        (RESPONSES, "ResponsesRequest", lambda request: calls_of_input(request.input)),
    ):
        try:
            module = sys.modules.get(file.removesuffix(".py").replace("/", "."))
            if module is None or hasattr(getattr(module, class_name).to_sampling_params, "keepwarm"):
                continue
            wrong = fingerprints.differences({file: module}, {file: FINGERPRINTS[file]})
            if wrong:
                raise LookupError(f"other source than that of vLLM {fingerprints.VERSION}: {wrong[0]}")
            _wrap(getattr(module, class_name), messages_of)
        except Exception as error:  # noqa: BLE001 - a server starts whatever happens here
            _log_once(class_name, f"tool calls of {class_name} are not read: {error}")


def _wrap(request_class: Any, call_of: Callable[[Any], ToolCall | None]) -> None:
    stock = request_class.to_sampling_params

    @wraps(stock)
    def to_sampling_params(self: Any, *args: Any, **options: Any) -> Any:
        params = stock(self, *args, **options)
        try:
            call = call_of(self)
            if call is not None:
                attach(params, call)
        except Exception as error:  # noqa: BLE001 - the request is served without it
            _log_once("attach", f"a request's tool calls could not be read: {error!r}")
        return params

    to_sampling_params.keepwarm = stock  # type: ignore[attr-defined]
    request_class.to_sampling_params = to_sampling_params


def _log_once(kind: str, message: str) -> None:
    if kind not in _logged:
        _logged.add(kind)
        logger.warning("CacheWise: %s", message)
