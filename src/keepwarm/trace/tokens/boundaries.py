"""Proves where a pre-tokenizer always ends a word, whatever stands around.

A text may be cut in front of a blank that follows a letter if no match of the splitting regex can
hold a letter with a blank behind it, and a letter is always matched. Then every match ends there,
left of the cut nothing depends on what comes after the blank, and right of it nothing depends on
what came before (no look-behind, no anchors; look-ahead of one character at most). The proof reads
the structure of the regex; a regex that it does not understand proves nothing.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class NotUnderstood(ValueError):
    """The regex has something that the proof does not cover."""


class _Facts(NamedTuple):
    """What the texts matched by a piece of regex can look like.

    ``empty``: the empty text is one; ``skips``: that one matches whatever stands there;
    ``has_letter``: some hold a letter; ``starts_right``: some start with the right-hand character;
    ``ends_letter``: some end with a letter; ``joins``: some hold a letter followed by the
    right-hand character; ``takes``: letters that match alone, whatever follows.
    """

    empty: bool
    skips: bool
    has_letter: bool
    starts_right: bool
    ends_letter: bool
    joins: bool
    takes: frozenset[str]


_NONE: frozenset[str] = frozenset()
_NOTHING = _Facts(True, True, False, False, False, False, _NONE)
_LOOK_AHEAD = _NOTHING._replace(skips=False)


def never_joins(regex: str, right: str) -> bool:
    """True if a match of ``regex`` never holds a letter followed by ``right``."""
    facts = _facts(regex, right)
    return facts is not None and not facts.joins


def always_splits(regex: str, right: str) -> bool:
    """True if matches of ``regex``, found one after another, always end between a letter and ``right``."""
    facts = _facts(regex, right)
    return facts is not None and not facts.joins and facts.takes == set(LETTERS)


def _facts(regex: str, right: str) -> _Facts | None:
    try:
        facts = _Reader(regex, right).all()
    except NotUnderstood:
        return None
    return None if facts.empty else facts


def _either(a: _Facts, b: _Facts) -> _Facts:
    return _Facts(*(x | y for x, y in zip(a, b, strict=True)))


def _then(a: _Facts, b: _Facts) -> _Facts:
    return _Facts(
        empty=a.empty and b.empty,
        skips=a.skips and b.skips,
        has_letter=a.has_letter or b.has_letter,
        starts_right=a.starts_right or (a.empty and b.starts_right),
        ends_letter=b.ends_letter or (b.empty and a.ends_letter),
        joins=a.joins or b.joins or (a.ends_letter and b.starts_right),
        takes=(a.takes if b.skips else _NONE) | (b.takes if a.skips else _NONE),
    )


def _unyielding(facts: _Facts) -> _Facts:
    """A possessive or atomic piece: once it took a letter it does not give it back."""
    return facts._replace(skips=facts.skips and not facts.has_letter)


class _Reader:
    """A recursive-descent reader of the regexes that pre-tokenizers use."""

    def __init__(self, regex: str, right: str) -> None:
        self._regex = regex
        self._right = right
        self._at = 0

    def all(self) -> _Facts:
        facts = self._alternatives()
        if self._at != len(self._regex):
            raise NotUnderstood(self._regex[self._at :])
        return facts

    def _peek(self, size: int = 1) -> str:
        return self._regex[self._at : self._at + size]

    def _take(self, size: int = 1) -> str:
        taken = self._peek(size)
        if len(taken) < size:
            raise NotUnderstood("the regex ends early")
        self._at += size
        return taken

    def _alternatives(self) -> _Facts:
        facts = self._sequence()
        while self._peek() == "|":
            self._take()
            facts = _either(facts, self._sequence())
        return facts

    def _sequence(self) -> _Facts:
        facts = _NOTHING
        while self._peek() not in ("", "|", ")"):
            facts = _then(facts, self._repeated(self._atom()))
        return facts

    def _repeated(self, facts: _Facts) -> _Facts:
        low, high = self._bounds()
        if low > 1:
            facts = facts._replace(takes=_NONE)
        if high > 1:
            facts = facts._replace(joins=facts.joins or (facts.ends_letter and facts.starts_right))
        if low == 0:
            facts = facts._replace(empty=True, skips=True)
        if (low, high) != (1, 1) and self._peek() in ("?", "+"):
            return _unyielding(facts) if self._take() == "+" else facts
        return facts

    def _bounds(self) -> tuple[int, int]:
        """How often the last piece may repeat; two stands for often."""
        sign = self._peek()
        if sign in ("?", "*", "+"):
            self._take()
            return int(sign == "+"), 1 if sign == "?" else 2
        if sign != "{":
            return 1, 1
        end = self._regex.find("}", self._at)
        low, comma, high = self._regex[self._at + 1 : max(end, 0)].partition(",")
        if not low.isdigit() or not (high.isdigit() or not high):
            raise NotUnderstood("a brace")
        self._at = end + 1
        return int(low), int(high) if high else 2 if comma else int(low)

    def _atom(self) -> _Facts:
        if self._peek() == "(":
            return self._group()
        chars = _class(self)
        letters = frozenset(letter for letter in LETTERS if chars(letter))
        found = bool(letters)
        return _Facts(False, False, found, chars(self._right), found, False, letters)

    def _group(self) -> _Facts:
        if self._peek(3) in ("(?!", "(?="):
            self._take(3)
            _class(self)  # one character at most
            self._close()
            return _LOOK_AHEAD
        opening = next((mark for mark in ("(?:", "(?i:", "(?>") if self._peek(len(mark)) == mark), "(")
        if opening == "(" and self._peek(2) == "(?":
            raise NotUnderstood(self._peek(4))
        self._take(len(opening))
        facts = self._alternatives()
        self._close()
        # (?i: ): another case of a letter is a letter too, and the right-hand character has none.
        return _unyielding(facts)._replace(takes=_NONE) if opening == "(?>" else facts

    def _close(self) -> None:
        if self._peek() != ")":
            raise NotUnderstood("a group that does not end")
        self._take()


class _Class:
    """A set of characters, known by asking."""

    def __init__(self) -> None:
        self.negated = False
        self.members: list[object] = []

    def __call__(self, char: str) -> bool:
        found = any(_is_member(member, char) for member in self.members)
        return found != self.negated


def _is_member(member: object, char: str) -> bool:
    if isinstance(member, _Class):
        return member(char)
    if isinstance(member, tuple):
        return bool(member[0] <= char <= member[1])
    return member == char


def _class(reader: _Reader) -> _Class:
    """Reads one character, escape or bracketed set. Raises ``NotUnderstood``."""
    first = reader._take()
    found = _Class()
    if first == "\\":
        found.members.append(_escape(reader))
    elif first == "[":
        if reader._peek() == "^":
            reader._take()
            found.negated = True
        _members(reader, found)
    elif first in "^$.":
        raise NotUnderstood(first)
    else:
        found.members.append(first)
    return found


def _members(reader: _Reader, found: _Class) -> None:
    while True:
        char = reader._take()
        if char == "]":
            break
        if char == "[" or reader._peek(2) == "&&":
            raise NotUnderstood("a set in a set")
        low: object = _escape(reader) if char == "\\" else char
        if isinstance(low, str) and reader._peek() == "-" and reader._peek(2) != "-]":
            reader._take()
            char = reader._take()
            high = _escape(reader) if char == "\\" else char
            if not isinstance(high, str):
                raise NotUnderstood("a range")
            found.members.append((low, high))
        else:
            found.members.append(low)


_SPECIALS = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}


def _escape(reader: _Reader) -> object:
    """What follows a backslash: a character or a set."""
    char = reader._take()
    if char in _SPECIALS:
        return _SPECIALS[char]
    if char in "pP":
        return _property(reader, negated=char == "P")
    if char in "sSdDwW":
        return _Shorthand(char)
    if char.isalnum():
        raise NotUnderstood("\\" + char)
    return char


class _Shorthand(_Class):
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


class _Property(_Class):
    def __init__(self, name: str, negated: bool) -> None:
        super().__init__()
        self._name = name
        self._no = negated

    def __call__(self, char: str) -> bool:
        return unicodedata.category(char).startswith(self._name) != self._no


def _property(reader: _Reader, *, negated: bool) -> _Class:
    """``\\p{L}`` and the like, general categories only."""
    if reader._peek() != "{":
        name = reader._take()
    else:
        reader._take()
        name = ""
        while (char := reader._take()) != "}":
            name += char
    if not (1 <= len(name) <= 2 and name[0] in "LMNPSZC"):
        raise NotUnderstood(name)
    return _Property(name, negated)
