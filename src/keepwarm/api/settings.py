"""What ``keepwarm serve`` chose, checked before anything listens."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._hosts import is_loopback

_LEAST_TOKEN = 16
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")  # as it may stand in a URL, a header and a cookie
_NAME = re.compile(r"(?:[A-Za-z0-9]([A-Za-z0-9_.-]{0,250}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")


class Settings(NamedTuple):
    """``token`` is what a visitor shows; ``allowed_hosts`` are names beyond this machine's own."""

    root: Path
    token: str
    host: str = "127.0.0.1"
    port: int = 0  # 0: any free one
    revealed: bool = False
    allowed_hosts: tuple[str, ...] = ()


def checked(settings: Settings, *, remote_allowed: bool, token_given: bool) -> Settings:
    """``settings``, if they may be served. Raises InputError."""
    if not settings.root.is_dir():
        what = "is no folder" if settings.root.exists() else "is not there"
        raise InputError(f"{str(settings.root)!r} {what}; name the folder that holds the results")
    for name in settings.allowed_hosts:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"--allow-host {name!r} is no host name; write dash.example or dash.example:8443"
            )
    if not _TOKEN.fullmatch(settings.token) or len(settings.token) < _LEAST_TOKEN:
        raise InputError(
            f"the token in KEEPWARM_TOKEN is unfit; take {_LEAST_TOKEN} or more letters, digits, '-' and '_'"
        )
    if is_loopback(settings.host):
        return settings
    if not remote_allowed:
        raise InputError(
            f"--host {settings.host!r} lets other machines in; if that is meant, add --allow-remote and set "
            "KEEPWARM_TOKEN"
        )
    if not token_given:
        raise InputError(f"--host {settings.host!r} needs a token that you chose; set KEEPWARM_TOKEN")
    return settings


def is_wildcard(host: str) -> bool:
    """Whether ``host`` stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_unspecified
    except ValueError:
        return not host
