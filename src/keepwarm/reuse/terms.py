"""The words of a tool call, the same for fitting and for a call that runs: a bounded look at its text."""

from __future__ import annotations

import re

from keepwarm.reuse.calls import ToolCall

MAX_CHARACTERS = 512  # of the arguments; what a call does stands at its beginning
MAX_WORDS = 40
_MAX_WORD_CHARACTERS = 32

_SHELLS = frozenset(
    (
        *("bash", "shell", "sh", "terminal", "execute_bash", "run", "local_shell", "exec_command"),
        *("execute_command", "run_command", "run_shell_command", "container.exec", "run_terminal_cmd"),
    )
)
# Words of letters, digits and what names and flags are made of; shell operators, which say what is joined.
_WORD = re.compile(r"[A-Za-z0-9_.+-]+|<<|>>|&&|\|\||[|<>&;]")
_ESCAPE = re.compile(r"\\[nrt]")
_LONG_NUMBER = re.compile(r"\d{4,}")
# What agents wrap a command in: {"command": ["bash", "-lc", "..."]}.
_WRAPPER = re.compile(r'\s*(?:\{\s*"(?:command|cmd)"\s*:)?\s*(?:\[\s*"[a-z/]*sh"\s*,\s*"-l?c"\s*,)?')
_BEGINNING = "^"
_JOINS = frozenset(("&&", "||", ";", "|"))


def tool_of(call: ToolCall) -> str:
    """The tool a call is counted under: what agents call their shell is one tool, ``bash``."""
    name = call.tool.lower()
    return "bash" if name in _SHELLS else call.tool


def terms_of(arguments: str) -> list[str]:
    """Words and pairs of neighbours in the first ``MAX_CHARACTERS``: at most 80. Never raises.

    The beginning of each command counts as a neighbour: ``^ pip`` tells ``pip install`` from a mention of it.
    Escaped line ends of JSON are blanks; four digits or more are a ``#``.
    """
    text = arguments[:MAX_CHARACTERS]
    wrapper = _WRAPPER.match(text)
    words = _WORD.findall(_ESCAPE.sub(" ", text[wrapper.end() if wrapper else 0 :]).lower())
    terms: list[str] = []
    before = _BEGINNING
    for word in map(_short, words[:MAX_WORDS]):
        terms.append(word)
        terms.append(f"{before} {word}")
        before = _BEGINNING if word in _JOINS else word
    return terms


def _short(word: str) -> str:
    return _LONG_NUMBER.sub("#", word[:_MAX_WORD_CHARACTERS]) if len(word) > 3 else word
