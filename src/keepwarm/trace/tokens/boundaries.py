"""Proves where a pre-tokenizer always ends a word, whatever stands around.

A text may be cut in front of a blank that follows a letter if no match of the splitting regex can
hold a letter with a blank behind it, and a letter is always matched. Then every match ends there,
left of the cut nothing depends on what comes after the blank, and right of it nothing depends on
what came before (no look-behind, no anchors; look-ahead of one character at most). The proof reads
the structure of the regex; a regex that it does not understand proves nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from keepwarm.trace.tokens.char_class import NotUnderstood, Scanner, char_class

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


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
    return _Facts(
        empty=a.empty or b.empty,
        skips=a.skips or b.skips,
        has_letter=a.has_letter or b.has_letter,
        starts_right=a.starts_right or b.starts_right,
        ends_letter=a.ends_letter or b.ends_letter,
        joins=a.joins or b.joins,
        takes=a.takes | b.takes,
    )


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


class _Reader(Scanner):
    """A recursive-descent reader of the regexes that pre-tokenizers use."""

    def __init__(self, regex: str, right: str) -> None:
        super().__init__(regex)
        self._right = right

    def all(self) -> _Facts:
        facts = self._alternatives()
        if self.peek():
            raise NotUnderstood(self.peek(8))
        return facts

    def _alternatives(self) -> _Facts:
        facts = self._sequence()
        while self.peek() == "|":
            self.take()
            facts = _either(facts, self._sequence())
        return facts

    def _sequence(self) -> _Facts:
        facts = _NOTHING
        while self.peek() not in ("", "|", ")"):
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
        if (low, high) != (1, 1) and self.peek() in ("?", "+"):
            return _unyielding(facts) if self.take() == "+" else facts
        return facts

    def _bounds(self) -> tuple[int, int]:
        """How often the last piece may repeat; two stands for often."""
        sign = self.peek()
        if sign in ("?", "*", "+"):
            self.take()
            return int(sign == "+"), 1 if sign == "?" else 2
        if sign != "{":
            return 1, 1
        end = self.regex.find("}", self.at)
        low, comma, high = self.regex[self.at + 1 : max(end, 0)].partition(",")
        if not low.isdigit() or not (high.isdigit() or not high):
            raise NotUnderstood("a brace")
        self.at = end + 1
        return int(low), int(high) if high else 2 if comma else int(low)

    def _atom(self) -> _Facts:
        if self.peek() == "(":
            return self._group()
        chars = char_class(self)
        letters = frozenset(letter for letter in LETTERS if chars(letter))
        found = bool(letters)
        return _Facts(False, False, found, chars(self._right), found, False, letters)

    def _group(self) -> _Facts:
        if self.peek(3) in ("(?!", "(?="):
            self.take(3)
            char_class(self)  # one character at most
            self._close()
            return _LOOK_AHEAD
        opening = next((mark for mark in ("(?:", "(?i:", "(?>") if self.peek(len(mark)) == mark), "(")
        if opening == "(" and self.peek(2) == "(?":
            raise NotUnderstood(self.peek(4))
        self.take(len(opening))
        facts = self._alternatives()
        self._close()
        # (?i: ): another case of a letter is a letter too, and the right-hand character has none.
        return _unyielding(facts)._replace(takes=_NONE) if opening == "(?>" else facts

    def _close(self) -> None:
        if self.peek() != ")":
            raise NotUnderstood("a group that does not end")
        self.take()
