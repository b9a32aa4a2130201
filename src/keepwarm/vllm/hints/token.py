"""The operator's settings of the control endpoint, of which the token is the only one that can be missing."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

LEAST_TOKEN_CHARACTERS = 16
_MOST_FILE_BYTES = 4096


class ControlSettings(Protocol):
    """``control_port`` None: no endpoint is wanted; 0: any free port. The token must be in no message."""

    @property
    def control_port(self) -> int | None: ...

    @property
    def control_token(self) -> str | None: ...

    @property
    def control_token_file(self) -> str | None: ...


class TokenError(Exception):
    """There is no token that can be used; the message says why, without it."""


def read_token(settings: ControlSettings) -> str:
    """The token that hints have to bring; the one that is given wins over the file. Raises TokenError."""
    token, source = settings.control_token, "KEEPWARM_CONTROL_TOKEN"
    if token is None:
        if settings.control_token_file is None:
            raise TokenError("neither KEEPWARM_CONTROL_TOKEN nor KEEPWARM_CONTROL_TOKEN_FILE is set")
        source = f"the file {settings.control_token_file!r}"
        try:
            with Path(settings.control_token_file).open("rb") as file:
                token = file.read(_MOST_FILE_BYTES).decode()
        except (OSError, ValueError) as error:
            raise TokenError(f"{source} cannot be read: {error}") from None
    token = token.strip()
    if len(token) < LEAST_TOKEN_CHARACTERS or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenError(f"{source} holds no token of {LEAST_TOKEN_CHARACTERS} or more ASCII characters")
    return token
