"""The support policy, the same for every customer."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def support_policy() -> str:
    """The policy as markdown, without its title line."""
    text = files("helpdesk").joinpath("data", "policy.md").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip()
