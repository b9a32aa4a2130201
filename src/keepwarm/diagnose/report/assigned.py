"""What is assigned to a name: the value of ``password: …``, ``"api_key": "…"``, ``--token …``, ``DB_PASS=…``.

One pass finds every name with a value behind it; only then is the name looked at. Asking for all
the names that secrets have at every character would take most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ASSIGNED = re.compile(
    r"[A-Za-z](?<![\w.][A-Za-z])(?P<name>[\w\-.]{1,60})(?:\\{0,3}[\"'`])?\]?"
    r"(?P<sign>[ \t]{0,3}(?:=>|:=|[:=]|\|)[ \t]{0,3}| is (?:now )?)"
    r"(?:\\{0,3}(?P<quote>[\"'`])(?P<quoted>[^\"'`\\\n]{2,256})\\{0,3}(?P=quote)"
    r"|\\{0,3}[\"'`]?(?P<bare>[^\s\"'`\\,;<>{}&|()]{4,512}))"
)
_FLAG = re.compile(r"-(?P<name>[A-Za-z][\w\-]{2,40}) [\"']?(?P<bare>[^\s\"'`\\<>]{4,512})")
_SECRET = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|signature|otp|cvv|cvc|pin"
    r"|(?:api|access|secret|private|signing|encryption|master|account|shared|storage|license|service|auth"
    r"|session|ssh|webhook|client|user|admin|db|deploy|host|app|subscription)[_\- .]?(?:key|token|pass|pin)"
    r"|auth|authentication)"
    r"(?:[_\-]?(?:key|value|hash|id|base64|b64|string|encoded))?$",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"(?:[A-Z][A-Z0-9]*_)*(?:PASSWORD|PASS|PWD|SECRET|TOKEN|KEY|PASSPHRASE|PIN)")
_NO_NAMES = re.compile(
    r"(?:max|min|num|total|prompt|completion|output|input|new|by)[_\- ]?tokens?$", re.IGNORECASE
)
# What documentation and schemas write in place of a secret.
_NO_SECRETS = frozenset(
    [
        "array",
        "basic",
        "bearer",
        "boolean",
        "default",
        "disabled",
        "enabled",
        "expired",
        "false",
        "integer",
        "invalid",
        "missing",
        "none",
        "null",
        "number",
        "object",
        "optional",
        "password",
        "redacted",
        "required",
        "secret",
        "string",
        "token",
        "true",
        "undefined",
        "unknown",
        "value",
    ]
)
_WORD_CHARS = 16  # looked at in front of a name
_LEAST_BARE_CHARS = 6
_REFERENCES = ("$", "%(", "os.", "process.env", "env.", "secrets.", "config.", "settings.", "self.")


def assigned_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Character ranges of the values whose names say that they are secret, in no particular order."""
    at = 0
    while (match := _ASSIGNED.search(text, at)) is not None:
        group = "quoted" if match["quote"] else "bare"
        if _is_secret(match):
            yield match.span(group)
            at = match.end(group)
        else:
            at = match.end("name")  # the value may be the name of the next one
    for flag in _FLAG.finditer(text):
        if _SECRET.search(flag["name"]) and not _NO_NAMES.search(flag["name"]) and _said(flag["bare"]):
            yield flag.span("bare")


def _is_secret(match: re.Match[str]) -> bool:
    name, sign = match[0][0] + match["name"], match["sign"]
    named = match.string[max(0, match.start() - _WORD_CHARS) : match.end("name")]  # "API key" is two words
    if not _said(match["quoted"] or match["bare"]):
        return False
    if _NO_NAMES.search(named) or _SECRET.search(named) is None:
        return sign == "=" and _ENVIRONMENT.fullmatch(name) is not None
    if match["quote"] or sign == "=":
        return True
    return len(match["bare"]) >= _LEAST_BARE_CHARS and not _is_word(match["bare"].strip(".!?:*_"))


def _is_word(text: str) -> bool:
    return text.isalpha() and (text.islower() or text.isupper() or text.istitle())


def _said(value: str) -> bool:
    """Whether a value is one, and no word about it or reference to it."""
    return value.strip(".…*-_ ").casefold() not in _NO_SECRETS and not value.startswith(_REFERENCES)
