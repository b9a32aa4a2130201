"""Which repository a checkout is of, and whether the user named exactly it and the finding."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from keepwarm._errors import InputError
from keepwarm.repair.agents.git import Git

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:]+):(?P<path>[^/].*)")


class Repository(NamedTuple):
    """A hosted repository: ``github.com``, ``acme/app``."""

    host: str
    name: str

    def holds(self, url: str) -> bool:
        """Whether ``url`` is a page of this repository, such as a pull request."""
        try:
            parts = urlsplit(url)
            plain = parts.scheme == "https" and parts.netloc.casefold() == self.host
        except ValueError:
            return False
        return plain and parts.path.casefold().startswith(f"/{self.name.casefold()}/")


def repository_of(checkout: Path, remote: str) -> Repository:
    """The repository that ``remote`` of ``checkout`` names. Asks git, not the network.

    Raises:
        InputError: there is no such remote, or it names no hosted repository.
    """
    what = f"{str(checkout)!r} has no remote {remote!r} that names the repository; name one with --remote"
    url = Git(checkout).run("remote", "get-url", "--", remote, what=what).decode("utf-8", "replace").strip()
    match = _SCP.fullmatch(url)
    if match is not None and "://" not in url:
        host, path = match["host"], match["path"]
    else:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            host, path = "", ""
    names = path.strip("/").removesuffix(".git").split("/")
    if not host or len(names) < 2 or not all(_PART.fullmatch(name) for name in names):
        raise InputError(
            f"remote {remote!r} of {str(checkout)!r} names no hosted repository such as github.com/acme/app; "
            "name another remote with --remote"
        )
    return Repository(host.casefold(), "/".join(names))


def authorize(given: str | None, repository: Repository, finding: str) -> None:
    """Raises InputError unless ``given`` is this very repository and finding: ``acme/app:F-1``."""
    full = f"{repository.host}/{repository.name}:{finding}"
    allowed = (f"{repository.name}:{finding}", full)
    if given is None:
        raise InputError(
            f"a session is opened and paid for only with --authorize {allowed[0]}; nothing was sent"
        )
    if given not in allowed:
        raise InputError(
            f"--authorize {given!r} is not what this call is about: {allowed[0]!r}; nothing was sent"
        )
