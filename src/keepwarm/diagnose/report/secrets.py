"""Text that looks like a secret or like personal data, found by shape.

A report shows a few words of stable text around each break. Stable text is seldom secret, but
a system prompt may hold a key or an address, so everything with such a shape is covered there.
Names of people have no shape and are not found: where they vary, they are values and masked.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import NamedTuple

_BASE64 = r"A-Za-z0-9+/_\-"


class Shape(NamedTuple):
    """A pattern, what its match is called, and a check that a match must pass as well.

    The group ``secret``, where the pattern has one, is the part to cover.
    """

    kind: str
    pattern: re.Pattern[str]
    holds: Callable[[str], bool] = lambda _found: True


def _is_random(text: str) -> bool:
    """Whether ``text`` reads as drawn at random: not a word, a date, an identifier or a path.

    Random base64 changes between lower case, upper case and digits at about 0.6 of its
    positions, identifiers at under 0.4; hex of 12 digits and more mixes digits and letters.
    """
    core = "".join(filter(str.isalnum, text))
    letters = sum(map(str.isalpha, core))
    if len(core) < 12 or letters < 3:
        return False
    if re.fullmatch(r"(?=.*\d)(?:[0-9a-f]{16,}|[0-9A-F]{16,})", core):
        return True
    # Of a longer text the share is surer; words without any digit need that much to be told.
    return _turns(core) >= 0.4 if len(core) >= 24 else _turns(core) >= 0.45 and letters < len(core)


def _turns(text: str) -> float:
    """Share of neighbouring characters that differ in class: lower case, upper case, digit."""
    classes = [0 if c.islower() else 1 if c.isupper() else 2 for c in text]
    return sum(a != b for a, b in itertools.pairwise(classes)) / max(1, len(text) - 1)


def _is_card(text: str) -> bool:
    """Luhn's check over 13 to 19 digits."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(reversed(digits))]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


# In this order: what is covered by an earlier shape is not looked at by a later one.
SHAPES: tuple[Shape, ...] = (
    Shape(
        "key",
        re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*-----|\Z)", re.DOTALL),
    ),
    Shape("token", re.compile(r"\beyJ[\w\-]{6,}(?:\.[\w\-]+){0,2}")),
    Shape(
        "key",
        re.compile(
            r"\b(?:sk|pk|rk)[-_][\w\-]{12,}|\bgh[a-z]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w\-]{12,}"
            r"|\bxox[a-z]-[\w\-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\bAIza[\w\-]{20,}|\bhf_\w{16,}"
            r"|\bnpm_\w{20,}|\bpypi-[\w\-]{16,}|\bSG\.[\w\-]{12,}(?:\.[\w\-]+)?"
        ),
    ),
    Shape("credentials", re.compile(r"(?<=://)(?P<secret>[^\s/@:]{1,256}:[^\s/@]{1,256})(?=@)")),
    Shape("email", re.compile(r"(?<![\w.+\-])[\w.+\-]{1,64}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")),
    Shape("token", re.compile(r"(?i:\b(?:bearer|basic))\s+(?P<secret>[\w.~+/\-]{8,}=*)"), _is_random),
    Shape(
        "secret",
        re.compile(
            r"(?i:pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|(?:api|access)[_\- ]?key|auth\w{0,9})"
            r"(?:\\?[\"'])?\s{0,3}[:=]\s{0,3}(?:\\?[\"'])?(?P<secret>[^\s\"'\\,;<>{}]{6,})"
        ),
        lambda found: any(map(str.isdigit, found)) or not found.isalpha(),
    ),
    Shape("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")),
    Shape("card", re.compile(r"(?<![\w.])\d(?:[ \-]?\d){12,18}(?![\w.])"), _is_card),
    Shape("phone", re.compile(r"(?<![\w+])\+\d(?:[ ()./\-]{0,2}\d){6,14}(?!\d)")),
    Shape(
        "phone",
        re.compile(
            r"(?<![\w\-.])(?:\(0?\d{2,4}\) ?|0\d{2,4}[ /\-]|\d{3}[ .\-](?=\d{3}[ .\-]\d{4}))"
            r"\d{3,4}[ .\-]?\d{3,5}(?![\w\-])"
        ),
    ),
    Shape("id", re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")),
    Shape("number", re.compile(r"(?<![\w.])\d{12,}(?![\w.])")),
    Shape("key", re.compile(rf"(?<![{_BASE64}])[{_BASE64}]{{12,}}={{0,2}}"), _is_random),
)


def cover_secrets(text: str, cover: Callable[[str, str], str]) -> str:
    """``text`` with everything secret-shaped replaced by ``cover(kind, secret)``."""
    for shape in SHAPES:
        text = shape.pattern.sub(lambda match, shape=shape: _covered(match, shape, cover), text)  # type: ignore[misc]
    return text


def _covered(match: re.Match[str], shape: Shape, cover: Callable[[str, str], str]) -> str:
    group = "secret" if "secret" in match.re.groupindex else 0
    secret = match[group]
    if not shape.holds(secret):
        return match[0]
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + cover(shape.kind, secret) + match[0][end:]
