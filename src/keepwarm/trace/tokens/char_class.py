"""Reads the characters, escapes and bracketed sets of the regexes that pre-tokenizers use."""

from __future__ import annotations

import unicodedata


class NotUnderstood(ValueError):
    """The regex has something that this reader does not cover."""


class Scanner:
    """A place in a regex."""

    def __init__(self, regex: str) -> None:
        self.regex = regex
        self.at = 0

    def peek(self, size: int = 1) -> str:
        """The next characters, fewer at the end. Does not move."""
        return self.regex[self.at : self.at + size]

    def take(self, size: int = 1) -> str:
        """The next characters; moves behind them. Raises ``NotUnderstood`` at the end."""
        taken = self.peek(size)
        if len(taken) < size:
            raise NotUnderstood("the regex ends early")
        self.at += size
        return taken


class CharClass:
    """A set of characters, known by asking."""

    def __init__(self) -> None:
        self.negated = False
        self.members: list[object] = []

    def __call__(self, char: str) -> bool:
        found = any(_is_member(member, char) for member in self.members)
        return found != self.negated


def _is_member(member: object, char: str) -> bool:
    if isinstance(member, CharClass):
        return member(char)
    if isinstance(member, tuple):
        return bool(member[0] <= char <= member[1])
    return member == char


def char_class(scanner: Scanner) -> CharClass:
    """Reads one character, escape or bracketed set. Raises ``NotUnderstood``."""
    first = scanner.take()
    found = CharClass()
    if first == "\\":
        found.members.append(_escape(scanner))
    elif first == "[":
        if scanner.peek() == "^":
            scanner.take()
            found.negated = True
        _members(scanner, found)
    elif first in "^$.":
        raise NotUnderstood(first)
    else:
        found.members.append(first)
    return found


def _members(scanner: Scanner, found: CharClass) -> None:
    while True:
        char = scanner.take()
        if char == "]":
            break
        if char == "[" or scanner.peek(2) == "&&":
            raise NotUnderstood("a set in a set")
        low: object = _escape(scanner) if char == "\\" else char
        if isinstance(low, str) and scanner.peek() == "-" and scanner.peek(2) != "-]":
            scanner.take()
            char = scanner.take()
            high = _escape(scanner) if char == "\\" else char
            if not isinstance(high, str):
                raise NotUnderstood("a range")
            found.members.append((low, high))
        else:
            found.members.append(low)


_SPECIALS = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}


def _escape(scanner: Scanner) -> object:
    """What follows a backslash: a character or a set."""
    char = scanner.take()
    if char in _SPECIALS:
        return _SPECIALS[char]
    if char in "pP":
        return _property(scanner, negated=char == "P")
    if char in "sSdDwW":
        return _Shorthand(char)
    if char.isalnum():
        raise NotUnderstood("\\" + char)
    return char


class _Shorthand(CharClass):
    def __init__(self, char: str) -> None:
        super().__init__()
        self._char = char

    def __call__(self, char: str) -> bool:
        kind = self._char.lower()
        if kind == "s":
            found = char.isspace()
        elif kind == "d":
            found = char.isdecimal()
        else:
            found = char.isalnum() or char == "_"
        return found != self._char.isupper()


class _Property(CharClass):
    def __init__(self, name: str, negated: bool) -> None:
        super().__init__()
        self._name = name
        self._no = negated

    def __call__(self, char: str) -> bool:
        return unicodedata.category(char).startswith(self._name) != self._no


def _property(scanner: Scanner, *, negated: bool) -> CharClass:
    """``{L}`` after a ``p``, and the like: general categories only."""
    if scanner.peek() != "{":
        name = scanner.take()
    else:
        scanner.take()
        name = ""
        while (char := scanner.take()) != "}":
            name += char
    if not (1 <= len(name) <= 2 and name[0] in "LMNPSZC"):
        raise NotUnderstood(name)
    return _Property(name, negated)
