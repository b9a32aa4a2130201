"""The end of a server's log, without the secrets that the server was given."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_COVER = "[secret]"
_SHORTEST_CHARACTERS = 6  # what is shorter would cover half the log
_SECRET_NAME = re.compile(r"(?i)(key|token|secret|passw|credential|auth)")
_MOST_BYTES = 256 * 1024


def secrets_of(environment: Mapping[str, str], arguments: Sequence[str] = ()) -> frozenset[str]:
    """Values whose variable or option (``--api-key VALUE`` or ``--api-key=VALUE``) is named like a secret."""
    found = {value for name, value in environment.items() if _SECRET_NAME.search(name)}
    for option, value in itertools.pairwise((*arguments, "")):
        name, equals, written = option.partition("=")
        if name.startswith("--") and _SECRET_NAME.search(name):
            found.add(written if equals else value)
    return frozenset(value for value in found if len(value) >= _SHORTEST_CHARACTERS)


def covered(text: str, secrets: frozenset[str]) -> str:
    """``text`` with every secret replaced by ``[secret]``."""
    for secret in sorted(secrets, key=len, reverse=True):  # the longest first: one may contain another
        text = text.replace(secret, _COVER)
    return text


def tail(log: Path | None, lines: int) -> str:
    """The last ``lines`` lines of the file, read from its last 256 KiB; empty if there is none."""
    try:
        if log is None:
            return ""
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _MOST_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return last_lines(text, lines)


def last_lines(text: str, lines: int) -> str:
    """The last ``lines`` lines; empty for 0."""
    return "\n".join(text.splitlines()[-lines:]) if lines > 0 else ""
