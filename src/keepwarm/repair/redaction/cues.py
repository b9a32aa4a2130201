"""Names and numbers of people that only the words around them give away.

A name has no shape. Behind "Dear", "Mr" or ``"full_name":`` it is one all the same; where it
varies between requests it is a recorded value and found as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepwarm.diagnose.report.secrets import Found

_WORD = r"[^\W\d_a-z][^\W\d_]{1,30}(?:['’\-][^\W\d_]{1,30}){0,3}"
_NAME = rf"{_WORD}(?: (?:(?:van|von|de|der|den|da|di|bin|al|la|le|[^\W\d_a-z]\.) ){{0,2}}{_WORD}){{0,3}}"
_TITLE = r"(?:Mr|Mrs|Ms|Mx|Miss|Dr|Prof|Herr|Frau|Mme|Sig)\b\.?"
_CUES = (
    (
        "name",
        re.compile(
            r"(?i:(?<=[a-zA-Z])[_\- ]?name|surname|cardholder)"
            rf"(?:\\?[\"'])?\s{{0,3}}[:=]\s{{0,3}}(?:\\?[\"'])?"
            rf"(?P<found>{_NAME})"
        ),
    ),
    ("name", re.compile(rf"\b(?:Dear(?: {_TITLE})?|{_TITLE}) (?P<found>{_NAME})")),
    ("name", re.compile(rf"(?i:\b(?:my name is|i am called|signed by|on behalf of)) (?P<found>{_NAME})")),
    (
        "birthday",
        re.compile(
            r"(?i:\b(?:date of birth|birth[_\- ]?da(?:te|y)|dob|born(?: on)?))[\"']?\s{0,3}[:=]?\s{0,3}[\"']?"
            r"(?P<found>\d{1,4}[./\-]\d{1,2}[./\-]\d{1,4})"
        ),
    ),
    (
        "number",
        re.compile(
            r"(?i:\b(?:passport|driver'?s licen[cs]e|national insurance|social security|tax id|ssn|vat id)"
            r"(?:[_ ]?(?:no|number|nr|id))?)[\"'.]?\s{0,3}[:=#]?\s{0,3}[\"']?"
            r"(?P<found>(?=[A-Z0-9 \-]{0,8}\d)[A-Z0-9][A-Z0-9\-]{5,20})"
        ),
    ),
)
_OF_PEOPLE = re.compile(
    r"(?:first|last|full|given|family|sur|middle|maiden|customer|contact|client|patient|employee|user|card"
    r"|holder|recipient|sender|owner|billing|shipping|passenger)$",
    re.IGNORECASE,
)
_NOBODY = frozenset(
    {
        *("agent", "all", "assistant", "colleague", "customer", "developer", "everyone", "guest", "madam"),
        *("manager", "sir", "someone", "support", "team", "the", "user", "you"),
        *("mr", "mrs", "ms", "mx", "miss", "dr", "prof", "herr", "frau", "mme", "sig"),
    }
)


def find_cues(text: str) -> Iterator[Found]:
    """What cues give away in ``text``; roles addressed by a capital ("Dear Customer") are nobody."""
    for kind, pattern in _CUES:
        for match in pattern.finditer(text):
            if match["found"].split()[0].casefold() not in _NOBODY and _is_about_people(match):
                yield Found(*match.span("found"), kind)


def _is_about_people(match: re.Match[str]) -> bool:
    """Whether a key that ends in "name" names a person: ``customer_name`` does, ``tool_name`` does not."""
    if match[0].lstrip("_- ")[:4].casefold() != "name":
        return True
    return _OF_PEOPLE.search(match.string, max(0, match.start() - 12), match.start()) is not None
