"""Recorded text made safe to show, and numbers made easy to read.

Prompts are hostile input: they may carry terminal escape sequences, invisible characters
and direction overrides. ``visible`` is the one door through which such text reaches a person.
"""

from __future__ import annotations

import re
import unicodedata

# ECMA-48: CSI, then the string sequences (OSC, DCS, SOS, PM, APC), then two-character escapes.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)
# Characters that show nothing, or change how their neighbours show.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200b\u200e\u200f"
    "\u2028-\u202f\u205f-\u206f\u3000\u3164\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_NAMED = {"\n": "⏎", "\t": "⇥", " ": "␣"}
ELLIPSIS = "…"


def visible(text: str) -> str:
    """``text`` on one line: escape sequences removed, control characters made visible.

    Line ends become ``⏎``, tabs ``⇥``, other control characters their Unicode picture, and
    invisible or direction-changing characters ``⟨U+202E⟩``. A text of spaces only shows each.
    """
    plain = _ESCAPE_SEQUENCE.sub("", text)
    if plain and not plain.strip():
        plain = plain.replace(" ", _NAMED[" "])
    return _INVISIBLE.sub(_picture, plain)


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def encodable(text: str) -> str:
    """``text`` with lone surrogates, which UTF-8 cannot carry, written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def columns(text: str) -> int:
    """Terminal columns that ``text`` takes: wide characters count two, combining ones none."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def shorten(text: str, width: int) -> str:
    """At most ``width`` columns of ``text``, cut in the middle: both ends of a path or id tell it apart.

    A text that was cut at its end already is cut there again.
    """
    if columns(text) <= width:
        return text
    if text.endswith(ELLIPSIS):
        head, tail = text[: width - 1], ""
    else:
        head, tail = text[: (width - 1) // 2], text[len(text) - width // 2 :]
    while head and columns(head) + 1 + columns(tail) > width:
        head, tail = head[:-1], tail[1:]
    return f"{head}{ELLIPSIS}{tail}"


def clip(text: str, length: int, *, keep_end: bool = False) -> str:
    """The first ``length`` characters of ``text``, or the last, with ``…`` where it was cut."""
    if len(text) <= length:
        return text
    return ELLIPSIS + text[len(text) - length + 1 :] if keep_end else text[: length - 1] + ELLIPSIS


def count(number: int) -> str:
    """``1234567`` as ``1,234,567``."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """``1 request``, ``1,200 requests``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plural(number: int, noun: str) -> str:
    """``request`` for one, else ``requests``."""
    return noun if number == 1 else f"{noun}s"


def percent(rate: float) -> str:
    """One decimal; never ``0.0%`` or ``100.0%`` for what is not exactly that."""
    if 0 < rate < 0.001:
        return "<0.1%"
    if 0.999 < rate < 1:
        return ">99.9%"
    return f"{rate:.1%}"


def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` as a percentage; of nothing it is ``0.0%``."""
    return percent(part / whole if whole else 0.0)
