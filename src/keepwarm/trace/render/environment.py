"""The jinja2 sandbox of chat templates: what transformers gives them, with or without traces."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.ext import Extension, loopcontrols
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from keepwarm.trace.render import traced as text_of
from keepwarm.trace.render.formatting import trace_formatting
from keepwarm.trace.render.json_text import plain_tojson, tojson
from keepwarm.trace.render.traced import Traced
from keepwarm.trace.render.values import TracedDict

_MISSING = object()
_DICT_NAMES = frozenset(dir(dict))
# Formatting is not among them: the sandbox watches over it.
_TEXT_METHODS = frozenset(name for name in dir(str) if not name.startswith(("_", "format")))


class _Generation(Extension):
    """``{% generation %}`` blocks mark text for training; here they print their body."""

    tags = {"generation"}  # noqa: RUF012  (declared so by jinja2)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body, lineno=line)


class PlainEnvironment(ImmutableSandboxedEnvironment):
    """Renders to plain text, as a server does."""

    def __init__(self, strftime_now: Callable[[str], str]) -> None:
        super().__init__(trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols])
        self.filters["tojson"] = plain_tojson
        self.globals["raise_exception"] = _raise_exception
        self.globals["strftime_now"] = strftime_now

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The sandbox's answer, found sooner: a member of a message, a method of a text."""
        kind = type(obj)
        if kind is TracedDict or kind is dict:
            if attribute not in _DICT_NAMES and not attribute.startswith("_"):
                found = obj.get(attribute, _MISSING)
                return self.undefined(obj=obj, name=attribute) if found is _MISSING else found
        elif (kind is Traced or kind is str) and attribute in _TEXT_METHODS:
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)


class _TracedCode(CodeGenerator):
    """Compiles ``a ~ b`` to a join that keeps traces."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802  (jinja2's name)
        self.write("environment.join_texts((")
        for item in node.nodes:
            self.visit(item, frame)
            self.write(", ")
        self.write("))")


class TracedEnvironment(PlainEnvironment):
    """Renders the same text, as ``Traced`` wherever a value of the request went into it."""

    code_generator_class = _TracedCode
    concat = staticmethod(text_of.concat)
    intercepted_binops = frozenset("%")

    def __init__(self, strftime_now: Callable[[str], str]) -> None:
        super().__init__(strftime_now)
        self.filters.update(tojson=tojson, join=_join, replace=_replace, format=_format, indent=_indent)

    @staticmethod
    def join_texts(values: tuple[Any, ...]) -> str:
        return text_of.concat(map(str, values))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if type(left) is str or type(left) is Traced:
            return trace_formatting(lambda text, values: text % values, left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        stock = super().wrap_str_format
        if isinstance(value, MethodType) and type(value.__self__) is Traced:
            value = getattr(str.__str__(value.__self__), value.__name__)
        checked = stock(value)
        if checked is None or isinstance(value.__self__, Markup) or value.__name__ == "format_map":
            return checked

        def run(text: str, values: tuple[tuple[Any, ...], dict[str, Any]]) -> str:
            safely = stock(text.format)
            assert safely is not None
            return safely(*values[0], **values[1])

        return lambda *args, **kwargs: trace_formatting(run, value.__self__, (args, kwargs))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        # A method of plain text (``", ".join(parts)``) must keep the traces of its arguments.
        owner = getattr(__obj, "__self__", None)
        if type(owner) is str and not kwargs:
            name = __obj.__name__
            if name == "join" and len(args) == 1:
                return text_of.join(owner, args[0])
            if name == "replace" and len(args) in (2, 3):
                return text_of.replace(owner, *args)
        return super().call(__context, __obj, *args, **kwargs)


def _raise_exception(message: str) -> None:
    raise jinja2.exceptions.TemplateError(message)


@jinja2.pass_eval_context
def _join(context: nodes.EvalContext, value: Any, d: str = "", attribute: Any = None) -> str:
    if attribute is not None:
        value = map(jinja2.filters.make_attrgetter(context.environment, attribute), value)
    return text_of.join(str(d), map(str, value))


def _replace(s: Any, old: str, new: str, count: int | None = None) -> str:
    return text_of.replace(str(s), str(old), str(new), -1 if count is None else count)


def _format(value: Any, *args: Any, **kwargs: Any) -> str:
    if isinstance(value, Markup) or (args and kwargs):
        return str(FILTERS["format"](value, *args, **kwargs))
    return trace_formatting(lambda text, values: text % values, str(value), kwargs or args)


def _indent(s: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    if type(s) is not Traced:
        return str(FILTERS["indent"](s, width, first, blank))
    margin = width if isinstance(width, str) else " " * width
    lines = (s + "\n").splitlines()
    padded = [
        line if index == 0 or not (line or blank) else margin + line for index, line in enumerate(lines)
    ]
    text = text_of.join("\n", padded)
    return margin + text if first else text
