"""Text that looks like a secret or like personal data, found by shape.

A report shows a few words of stable text around each break. Stable text is seldom secret, but
a system prompt may hold a key or an address, so everything with such a shape is covered there.
Names of people have no shape and are not found: where they vary, they are values and masked.
Every pattern is bounded or starts at few places, so that time grows with the text alone.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from keepwarm.diagnose.report.assigned import assigned_secrets

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


def _is_iban(text: str) -> bool:
    """Two letters, two digits, 15 to 34 in all; checked by remainder (ISO 13616) unless mostly digits."""
    plain = "".join(filter(str.isalnum, text))
    if not 15 <= len(plain) <= 34:
        return False
    digits = "".join(str(int(c, 36)) for c in plain[4:] + plain[:4])
    return int(digits) % 97 == 1 or sum(map(str.isdigit, plain)) >= len(plain) - 6


def _is_public_ip(text: str) -> bool:
    """An IPv4 address that is somebody's: not of this machine, no mask, no version number."""
    octets = [int(part) for part in text.split(".")]
    return max(octets) <= 255 and octets[0] not in (0, 127, 255) and sum(octets) > 32


def _is_mac_or_ipv6(text: str) -> bool:
    return any(c.isalpha() for c in text) or text.count(":") != 5


# Of finds in the same place the first one names the kind.
SHAPES: tuple[Shape, ...] = (
    Shape(
        "key",
        re.compile(
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{0,50}-----|\Z)",
            re.DOTALL,
        ),
    ),
    Shape("token", re.compile(r"\beyJ[\w\-]{6,}(?:\.[\w\-]+){0,4}")),
    Shape(
        "key",
        re.compile(
            r"(?<![A-Za-z0-9])(?:(?:sk|pk|rk)[-_][\w\-]{12,}|gh[a-z]_\w{16,}|github_pat_\w{16,}"
            r"|glpat-[\w\-]{12,}|xox[a-z]-[\w\-]{8,}|xapp-[\w\-]{8,}|(?:AKIA|ASIA)[A-Z0-9]{12,}|AIza[\w\-]{20,}"
            r"|hf_\w{16,}|npm_\w{20,}|pypi-[\w\-]{16,}|SG\.[\w\-]{12,}(?:\.[\w\-]+)?|ya29\.[\w\-]{16,}"
            r"|GOCSPX-[\w\-]{16,}|do[oprt]_v1_\w{16,}|shp(?:at|ss|ca|pa)_\w{16,}|dapi[0-9a-f]{24,}"
            r"|whsec_\w{16,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}|(?:AC|SK)[0-9a-f]{32}"
            r"|\d{8,10}:AA[\w\-]{30,}|hooks\.slack\.com/services/[\w/]{20,})"
        ),
    ),
    Shape("credentials", re.compile(r"(?<=://)(?P<secret>[^\s/@:\"'<>]{0,256}:[^\s/\"'<>]{1,256})(?=@)")),
    Shape(
        "email", re.compile(r"[\w.+\-](?<![\w.+\-]{2})[\w.+\-]{0,63}@(?:[\w\-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
    ),
    Shape("token", re.compile(r"(?i:\b(?:bearer|basic))\s{1,8}(?P<secret>[\w.~+/\-]{8,}=*)"), _is_random),
    Shape(
        "token",
        re.compile(
            r"(?i:\bauthorization)[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?i:(?:bearer|basic|token|digest)\s{1,8})?"
            r"(?P<secret>[\w.~+/\-]{8,}=*)"
        ),
        lambda found: not found.isalpha(),
    ),
    Shape("token", re.compile(r"(?i:\b(?:set-)?cookie):\s{0,3}(?P<secret>[\w.\-]{1,64}=[^\s\"'<>]{4,})")),
    Shape(
        "secret",
        re.compile(
            r"[?&](?i:sig|sign|signature|key|code|token|access_token|api_?key|x-amz-[\w\-]{1,32}|pass|pwd|auth)"
            r"=(?P<secret>[^\s&\"'<>#]{8,})"
        ),
        lambda found: not found.isalpha(),
    ),
    Shape("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _is_iban),
    Shape("iban", re.compile(r"\b[a-z]{2}\d{2}(?: ?\d{4}){3,7}(?: ?\d{1,3})?\b")),
    Shape("card", re.compile(r"\d(?<![\w.]\d)(?:[ \-]?\d){12,18}(?![\w.]\w)"), _is_card),
    Shape("ssn", re.compile(r"\d(?<![\w\-.]\d)(?<![069]00)\d{2}-(?!00)\d{2}-(?!0000)\d{4}(?![\w\-])")),
    Shape(
        "phone",
        re.compile(r"[+0](?<![\w+][+0])(?:(?<=\+)|(?<![\-.]0)0(?=[1-9]))\d(?:[ ()./\-]{0,2}\d){6,14}(?!\d)"),
    ),
    Shape(
        "phone",
        re.compile(
            r"(?<![\w\-.])(?:\(0?\d{2,4}\) ?|0\d{2,4}[ /\-]|\d{3}[ .\-](?=\d{3}[ .\-]\d{4}))"
            r"\d{3,4}[ .\-]?\d{3,5}(?![\w\-])"
        ),
    ),
    Shape("ip", re.compile(r"\d(?<![\w.]\d)\d{0,2}(?:\.\d{1,3}){3}(?![\w]|\.\d)"), _is_public_ip),
    Shape(
        "address",
        re.compile(
            r"(?<![\w:])(?:(?:[0-9A-Fa-f]{2}[:\-]){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}"
            r"|(?:[0-9A-Fa-f]{1,4}:){2,6}(?::[0-9A-Fa-f]{1,4}){1,5})(?![\w:])"
        ),
        _is_mac_or_ipv6,
    ),
    Shape(
        "id",
        re.compile(
            r"[0-9a-fA-F](?<![0-9a-fA-F][0-9a-fA-F])[0-9a-fA-F]{7}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9a-fA-F])"
        ),
    ),
    Shape("number", re.compile(r"\d(?<![\w.]\d)\d{11,}(?![\w.]\w)")),
    Shape("key", re.compile(rf"[{_BASE64}](?<![{_BASE64}]{{2}})[{_BASE64}]{{11,}}={{0,2}}"), _is_random),
)


class Found(NamedTuple):
    """Characters ``start:end`` of a text that have the shape of a secret."""

    start: int
    end: int
    kind: str


def find_secrets(text: str) -> list[Found]:
    """Everything secret-shaped in ``text``, in order, not overlapping."""
    found = [Found(start, end, "secret") for start, end in assigned_secrets(text)]
    for shape in SHAPES:
        group = "secret" if "secret" in shape.pattern.groupindex else 0
        matches = (match for match in shape.pattern.finditer(text) if shape.holds(match[group]))
        found += [Found(*match.span(group), shape.kind) for match in matches]
    return merged(found)


def merged(found: Iterable[Found]) -> list[Found]:
    """Overlapping finds as one, of the kind of the longest of them, of equal ones the first."""
    together: list[Found] = []
    longest = 0
    for item in sorted(found, key=lambda item: (item.start, -item.end)):
        length = item.end - item.start
        if together and item.start < together[-1].end:
            last = together[-1]
            kind = item.kind if length > longest else last.kind
            together[-1] = Found(last.start, max(last.end, item.end), kind)
            longest = max(longest, length)
        else:
            together.append(item)
            longest = length
    return together


def cover_secrets(text: str, cover: Callable[[str, str], str]) -> str:
    """``text`` with everything secret-shaped replaced by ``cover(kind, secret)``."""
    parts: list[str] = []
    read = 0
    for start, end, kind in find_secrets(text):
        parts += [text[read:start], cover(kind, text[start:end])]
        read = end
    return "".join([*parts, text[read:]])
