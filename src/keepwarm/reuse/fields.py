"""Checked look-ups in the JSON of a model: what is not as it must be is said in one line."""

from __future__ import annotations

import math
from typing import Any, NoReturn

_MAX_TEXT_CHARACTERS = 1_000
_MAX_COUNT = 2**53
_MAX_NUMBER = 1e12  # seconds of 30,000 years: sums of such stay finite


class ModelError(ValueError):
    """A file of a fitted predictor is missing or cannot be used; the message is one line."""


class Fields:
    """One JSON object at ``where`` in the file. All look-ups raise ModelError."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise ModelError(f"{where or 'the document'} is no object")
        self._held = value
        self._where = where

    def wrong(self, name: str, what: str) -> NoReturn:
        """Say that a field is not as it must be."""
        raise ModelError(f"{self._at(name)} {what}")

    def value(self, name: str) -> Any:
        """A field of any type."""
        if name not in self._held:
            self.wrong(name, "is missing")
        return self._held[name]

    def names(self, *, most: int) -> list[str]:
        """Names of all fields, at most so many."""
        if len(self._held) > most:
            raise ModelError(f"{self._where} has {len(self._held)} entries, more than {most}")
        return list(self._held)

    def nested(self, name: str) -> Fields:
        """An object."""
        return Fields(self.value(name), self._at(name))

    def all_nested(self, name: str, *, most: int) -> list[Fields]:
        """A list of objects."""
        held = self._list(name, most)
        return [Fields(value, f"{self._at(name)}[{index}]") for index, value in enumerate(held)]

    def text(self, name: str) -> str:
        """A text of bounded length."""
        return self._text(name, self.value(name))

    def texts(self, name: str, *, most: int) -> list[str]:
        """A list of such texts."""
        return [self._text(f"{name}[{index}]", text) for index, text in enumerate(self._list(name, most))]

    def count(self, name: str, *, least: int = 0, most: int = _MAX_COUNT) -> int:
        """A whole number from ``least`` to ``most``."""
        value = self.value(name)
        if type(value) is not int or not least <= value <= most:
            self.wrong(name, f"is no whole number from {least} to {most}")
        return value

    def counts(self, name: str, *, most: int) -> list[int]:
        """A list of whole numbers from 0."""
        held = self._list(name, most)
        if not all(type(value) is int and 0 <= value <= _MAX_COUNT for value in held):
            self.wrong(name, "holds something that is no whole number from 0")
        return held

    def number(self, name: str, *, above: float, most: float = _MAX_NUMBER) -> float:
        """A number over ``above`` and up to ``most``."""
        value = self.value(name)
        if not _is_number(value) or not above < value <= most:
            self.wrong(name, f"is no number above {above:g} and up to {most:g}")
        return float(value)

    def numbers(self, name: str, *, most: int, length: int | None = None) -> list[float]:
        """A list of finite numbers, of this length if one is given."""
        held = self._list(name, most)
        if length is not None and len(held) != length:
            self.wrong(name, f"has {len(held)} entries, {length} are expected")
        if not all(_is_number(value) and abs(value) <= _MAX_NUMBER for value in held):
            self.wrong(name, "holds something that is no finite number")
        return [float(value) for value in held]

    def _list(self, name: str, most: int) -> list[Any]:
        value = self.value(name)
        if not isinstance(value, list):
            self.wrong(name, "is no list")
        if len(value) > most:
            self.wrong(name, f"has {len(value)} entries, more than {most}")
        return value

    def _text(self, name: str, value: object) -> str:
        if not isinstance(value, str) or len(value) > _MAX_TEXT_CHARACTERS:
            self.wrong(name, f"is no text of at most {_MAX_TEXT_CHARACTERS} characters")
        return value

    def _at(self, name: str) -> str:
        shown = name if name.isprintable() and len(name) <= 80 else repr(name)[:80]
        return f"{self._where}.{shown}" if self._where else shown


def _is_number(value: object) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))
