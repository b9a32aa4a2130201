"""What of a recorded text may be shown: the application's own words, without what looks like a secret."""

from __future__ import annotations

from keepwarm._text import clip
from keepwarm.diagnose.report.mask import mask
from keepwarm.repair.redaction import Redactor

_MOST_CHARS = 160


class Shown:
    """Texts as a verdict may hold them. ``reveal`` shows everything; one object per check."""

    def __init__(self, *, reveal: bool) -> None:
        self._reveal = reveal
        self._redactor = Redactor()

    def own(self, text: str) -> str:
        """Text of the application or of its repository: only secrets and personal data are covered."""
        return clip(text if self._reveal else self._redactor.redact(text), _MOST_CHARS)

    def value(self, text: str, kind: str = "text") -> str:
        """A recorded value: its kind and length."""
        return clip(text, _MOST_CHARS) if self._reveal else mask(text, kind)

    def output(self, text: str) -> str:
        """What a program printed, whole."""
        return text if self._reveal else self._redactor.redact(text)
