"""Renders requests with a chat template and says where every character came from."""

from __future__ import annotations

import datetime as dt
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import jinja2
import msgspec

from keepwarm._errors import TemplateError
from keepwarm.trace.prompt import Rendered
from keepwarm.trace.records import Request
from keepwarm.trace.render.content_format import walks_over_parts
from keepwarm.trace.render.conversation import Conversation
from keepwarm.trace.render.environment import PlainEnvironment, TracedEnvironment
from keepwarm.trace.render.runs import spans_of
from keepwarm.trace.render.search import recover
from keepwarm.trace.render.traced import runs_of
from keepwarm.trace.render.values import Wrapper

# Tool lists kept wrapped, in characters of JSON; wrapped they take some fifty times that.
_TOOL_CHARS_KEPT = 1 << 20


class Renderer:
    """One chat template, ready to render. Not for use by several threads at once.

    ``templates`` holds at least ``default``; ``tool_use`` is taken for requests with tools, as
    transformers does. ``special_tokens`` are the names a template may print (``bos_token``, ...).
    Raises ``TemplateError`` if a template does not compile.
    """

    def __init__(
        self,
        name: str,
        templates: Mapping[str, str],
        special_tokens: Mapping[str, str],
        *,
        is_builtin: bool = False,
    ) -> None:
        self.name = name
        self.is_builtin = is_builtin
        self.special_tokens = dict(special_tokens)
        self._now_s = 0.0
        self._traced = TracedEnvironment(self._strftime_now)
        self._plain = PlainEnvironment(self._strftime_now)
        self.source = templates.get("default") or next(iter(templates.values()))
        self._compiled = {key: self._compile(key, source) for key, source in templates.items()}
        self._tools = _ToolSets()

    def render(
        self, request: Request, *, add_generation_prompt: bool = True, now_s: float | None = None
    ) -> Rendered:
        """The prompt of ``request`` with its spans.

        ``now_s`` is what the template's clock shows, in UTC; by default the request's own
        ``time_s``, or the epoch where that is unknown. Raises ``TemplateError``.
        """
        text, messages, tools = self._print(request, add_generation_prompt, now_s, traced=True)
        plain = str.__str__(text)
        runs = recover(plain, list(runs_of(text)), (messages, tools))
        return Rendered(text=plain, spans=tuple(spans_of(runs)))

    def text(
        self, request: Request, *, add_generation_prompt: bool = True, now_s: float | None = None
    ) -> str:
        """The same text as ``render``, faster, without spans. Raises ``TemplateError``."""
        return self._print(request, add_generation_prompt, now_s, traced=False)[0]

    def conversation(self, request: Request) -> list[Any]:
        """The plain messages that the template is given for ``request``, as far as is known now.

        A template that wants tool-call arguments as text is found out by rendering some.
        Raises ``TemplateError``.
        """
        chosen = self._choose(request)
        return chosen.conversation(Wrapper(plain=True)).messages(request)

    def _compile(self, key: str, source: str) -> _Compiled:
        try:
            return _Compiled(
                traced=self._traced.from_string(source),
                plain=self._plain.from_string(source),
                parts=walks_over_parts(self._plain.parse(source)),
                # Ours prints arguments as recorded, so that spacing lost on replay shows.
                decode_arguments=not self.is_builtin,
            )
        except Exception as error:
            at = f"line {error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
            reason = at + str(getattr(error, "message", None) or error)
            raise TemplateError(
                f"chat template {self.name!r} ({key}) does not compile: {reason}; "
                "pass the template that the server uses with --chat-template"
            ) from error

    def _choose(self, request: Request) -> _Compiled:
        if request.tools and "tool_use" in self._compiled:
            return self._compiled["tool_use"]
        return self._compiled.get("default") or next(iter(self._compiled.values()))

    def _print(
        self, request: Request, add_generation_prompt: bool, now_s: float | None, *, traced: bool
    ) -> tuple[str, list[Any], Any]:
        """The text, and the wrapped messages and tools that it was made of."""
        chosen, wrap = self._choose(request), Wrapper(plain=not traced)
        template = chosen.traced if traced else chosen.plain
        self._now_s = now_s if now_s is not None else request.time_s or 0.0
        try:
            tools = self._tools.wrapped(request.tools, wrap)
            context = self._context(request, tools, add_generation_prompt)
            conversation = chosen.conversation(wrap)
            messages = conversation.messages(request)
            try:
                return template.render(context, messages=messages), messages, tools
            except TypeError:
                if not conversation.has_decoded:
                    raise
            # The template takes arguments as the text they are in the body, or not at all.
            messages = Conversation(wrap, parts=chosen.parts, decode_arguments=False).messages(request)
            text = template.render(context, messages=messages)
            chosen.decode_arguments = False
            return text, messages, tools
        except TemplateError:
            raise
        except Exception as error:
            raise TemplateError(
                f"chat template {self.name!r} cannot render request {request.id!r} (line {request.line}): "
                f"{str(error) or type(error).__name__}; check that this is the template of the recorded model"
            ) from error

    def _context(self, request: Request, tools: Any, add_generation_prompt: bool) -> dict[str, Any]:
        params = request.params
        context: dict[str, Any] = dict(self.special_tokens)
        context["tools"] = tools
        context["documents"] = params.get("documents")
        context["add_generation_prompt"] = add_generation_prompt and params.get("add_generation_prompt", True)
        kwargs = params.get("chat_template_kwargs")
        if isinstance(kwargs, dict):
            context.update((str(key), value) for key, value in kwargs.items() if key != "messages")
        return context

    def _strftime_now(self, format: str) -> str:  # noqa: A002  (its name in templates)
        return dt.datetime.fromtimestamp(self._now_s, dt.UTC).replace(tzinfo=None).strftime(format)


class _Compiled:
    """A template compiled both ways, and what was learnt about it."""

    def __init__(
        self, *, traced: jinja2.Template, plain: jinja2.Template, parts: bool, decode_arguments: bool
    ) -> None:
        self.traced = traced
        self.plain = plain
        self.parts = parts
        self.decode_arguments = decode_arguments  # until the template proves to want text

    def conversation(self, wrap: Wrapper) -> Conversation:
        return Conversation(wrap, parts=self.parts, decode_arguments=self.decode_arguments)


class _ToolSets:
    """Wrapped tool lists by content: most requests of a trace repeat one of a few."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[bool, bytes], Any] = OrderedDict()
        self._chars = 0

    def wrapped(self, tools: list[Any], wrap: Wrapper) -> Any:
        if not tools:
            return None
        try:
            key = (wrap.plain, msgspec.json.encode(tools))
        except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
            return wrap.shared(tools, "tools")
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = wrap.shared(tools, "tools")
            self._chars += len(key[1])
            while self._chars > _TOOL_CHARS_KEPT and len(self._kept) > 1:
                self._chars -= len(self._kept.popitem(last=False)[0][1])
        self._kept.move_to_end(key)
        return found
