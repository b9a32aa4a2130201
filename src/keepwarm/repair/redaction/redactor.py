"""The redactor: a text in, the same text with typed placeholders out."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from keepwarm.diagnose.report.secrets import Found, find_secrets, merged
from keepwarm.repair.redaction.cues import find_cues
from keepwarm.repair.redaction.known import KnownValues
from keepwarm.repair.redaction.views import View, canonical, decoded, to_source

_PLACEHOLDER = re.compile(r"<[a-z]+(?:-[a-z]+){0,4}-[0-9]{1,9}>")
# What is left of a text is looked at again, for its neighbours are gone; whatever still shows
# something after so many looks is covered whole.
_LOOKS = 6


class Redactor:
    """Replaces secrets, personal data and known values by placeholders such as ``<email-1>``.

    One value has one placeholder for the redactor's life, in whatever spelling: spacing, case,
    accents, JSON, percent and HTML escapes. Redacting twice changes nothing. Time and memory grow
    linearly with the text; of what it replaced it keeps digests only.

    Args:
        values: recorded values to be covered wherever they occur, with or without their kinds.
            Those of fewer than ``known.SHORTEST_VALUE`` letters and digits are left out.
    """

    def __init__(self, values: Mapping[str, str] | Iterable[str] = ()) -> None:
        named = values if isinstance(values, Mapping) else dict.fromkeys(values, "value")
        self._known = KnownValues(named)
        self._placeholders: dict[bytes, str] = {}
        self._numbers: Counter[str] = Counter()

    @property
    def counts(self) -> dict[str, int]:
        """How many different values of each kind were replaced so far, by kind in order of name."""
        return dict(sorted(self._numbers.items()))

    def __call__(self, text: str) -> str:
        """``redact``, for whoever takes a function of text."""
        return self.redact(text)

    def redact(self, text: str) -> str:
        """``text`` with every secret, personal datum and known value replaced. Mutates: remembers them."""
        out: list[str] = []
        read = 0
        for match in _PLACEHOLDER.finditer(text):
            out += [*self._redacted(text[read : match.start()], _LOOKS), match[0]]
            read = match.end()
        out += self._redacted(text[read:], _LOOKS)
        return "".join(out)

    def cover(self, value: str, kind: str) -> str:
        """One placeholder for all of ``value``, however short; what is no text stays. Mutates."""
        if not value.strip() or _PLACEHOLDER.fullmatch(value):
            return value
        return self._placeholder(value, kind)

    def _redacted(self, text: str, looks: int) -> Iterator[str]:
        """The parts of ``text``; those that are no placeholders show nothing when looked at alone."""
        spans = self._spans(text)
        if not spans:
            yield text
            return
        if not looks:
            yield self._placeholder(text, spans[0].kind)
            return
        read = 0
        for span in spans:
            yield from self._redacted(text[read : span.start], looks - 1)
            yield self._placeholder(text[span.start : span.end], span.kind)
            read = span.end
        yield from self._redacted(text[read:], looks - 1)

    def _spans(self, text: str) -> list[Found]:
        """What is to be replaced: in order, not overlapping, the kind that of the surest find."""
        if not text or text.isspace():
            return []
        found = self._found(text)
        if layers := decoded(text):
            found += [_in_source(span, layers) for span in self._found(layers[-1].text)]
        return merged(found)

    def _found(self, text: str) -> list[Found]:
        return [*self._known.spans(text), *find_secrets(text), *find_cues(text)]

    def _placeholder(self, value: str, kind: str) -> str:
        spelling = canonical(value) or value
        digest = hashlib.blake2b(spelling.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._placeholders.get(digest)
        if known is None:
            self._numbers[kind] += 1
            known = self._placeholders[digest] = f"<{kind}-{self._numbers[kind]}>"
        return known


def _in_source(span: Found, layers: Sequence[View]) -> Found:
    return Found(to_source(layers, span.start), to_source(layers, span.end), span.kind)
