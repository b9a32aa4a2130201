"""The words of a tool call, the same for fitting and for a call that runs: a bounded look at its text."""

from __future__ import annotations

import re
from itertools import pairwise

from keepwarm.reuse.calls import ToolCall

MAX_CHARACTERS = 512  # of the arguments; what a call does stands at its beginning
MAX_WORDS = 64
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


def tool_of(call: ToolCall) -> str:
    """The tool a call is counted under: what agents call their shell is one tool, ``bash``."""
    name = call.tool.lower()
    return "bash" if name in _SHELLS else call.tool


def terms_of(arguments: str) -> list[str]:
    """Words and pairs of neighbours in the first ``MAX_CHARACTERS``: at most 127. Never raises.

    Escaped line ends of JSON are blanks; a number of four digits or more is a ``#``.
    """
    text = _ESCAPE.sub(" ", arguments[:MAX_CHARACTERS]).lower()
    words = [_short(word) for word in _WORD.findall(text)[:MAX_WORDS]]
    return [*words, *(f"{left} {right}" for left, right in pairwise(words))]


def _short(word: str) -> str:
    return _LONG_NUMBER.sub("#", word[:_MAX_WORD_CHARACTERS]) if len(word) > 3 else word
