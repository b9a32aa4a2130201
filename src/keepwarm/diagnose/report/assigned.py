"""What is assigned to a name: the value of ``password: …``, ``"api_key": "…"``, ``--token …``, ``DB_PASS=…``.

One pass finds every name with a value behind it; only then is the name looked at. Asking for all
the names that secrets have at every character would take most of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_ASSIGNED = re.compile(
    r"[A-Za-z](?<![\w.][A-Za-z])(?P<name>(?:[A-Za-z]{1,14} )?[\w\-.]{1,60})(?:\\{0,3}[\"'`])?\]?"
    r"(?P<sign>\s{0,3}(?:=>|:=|[:=]|\|)\s{0,3}| is (?:now )?| (?=\S))"
    r"(?:\\{0,3}(?P<quote>[\"'`])(?P<quoted>[^\"'`\\\n]{2,256})\\{0,3}(?P=quote)"
    r"|\\{0,3}[\"'`]?(?P<bare>[^\s\"'`\\,;<>{}&|()]{4,512}))"
)
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
_REFERENCES = ("$", "%(", "os.", "process.env", "env.", "secrets.", "config.", "settings.", "self.")


def assigned_secrets(text: str) -> Iterator[tuple[int, int]]:
    """Character ranges of the values whose names say that they are secret."""
    at = 0
    while (match := _ASSIGNED.search(text, at)) is not None:
        group = "quoted" if match["quote"] else "bare"
        if _is_secret(match):
            yield match.span(group)
            at = match.end(group)
        else:
            at = match.start("sign")  # the value may be the name of the next one


def _is_secret(match: re.Match[str]) -> bool:
    name = match[0][0] + match["name"]
    sign = match["sign"].strip()
    if _NO_NAMES.search(name) or _SECRET.search(name) is None:
        return (
            sign == "=" and match["sign"] == "=" and _ENVIRONMENT.fullmatch(name) is not None and _said(match)
        )
    if not sign and not match.string[: match.start()].endswith("-"):
        return False  # a word behind a word is an argument only behind a flag: --token …
    if match["quote"] or (match["sign"] == "=" and len(match["bare"]) >= 4) or not sign:
        return _said(match)
    return _said(match) and len(match["bare"]) >= 6 and not match["bare"].strip(".!?:*_").isalpha()


def _said(match: re.Match[str]) -> bool:
    """Whether the value is one, and no word about it or reference to it."""
    value = match["quoted"] or match["bare"]
    return value.strip(".…*-_ ").casefold() not in _NO_SECRETS and not value.startswith(_REFERENCES)
