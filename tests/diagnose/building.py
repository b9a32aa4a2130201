"""Small catalogs, traffic and views for tests of the parts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

from keepwarm.diagnose.accounts import Accounts, take_accounts
from keepwarm.diagnose.traffic import Traffic
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.encode import PromptEncoder, open_encoder
from keepwarm.trace.records import JsonObject, Request, Usage

LONG = (
    "The ferry crosses every hour while there is light, carries bicycles for nothing and dogs on a lead, "
    "and waits for nobody who has not rung the bell on the near side before the rope is cast off. "
)


def message(role: str, content: Any, **more: Any) -> JsonObject:
    return {"role": role, "content": content, **more}


def chat(*texts: str, system: str | None = None) -> list[JsonObject]:
    """A conversation: texts of user and assistant in turn."""
    head = [] if system is None else [message("system", system)]
    return head + [message(("user", "assistant")[i % 2], text) for i, text in enumerate(texts)]


def request(number: int, messages: Sequence[JsonObject] = (), **fields: Any) -> Request:
    given = {"id": f"r{number}", "session": "s", "time_s": 1_900_000_000.0 + 10 * number, "model": "m"}
    return Request(line=number + 1, messages=list(messages), **{**given, **fields})


def requests(conversations: Iterable[Sequence[JsonObject]], **fields: Any) -> list[Request]:
    return [request(i, messages, **fields) for i, messages in enumerate(conversations)]


def used(prompt: int, cached: int) -> Usage:
    return Usage(prompt_tokens=prompt, cached_tokens=cached)


@functools.cache
def encoder() -> PromptEncoder:
    return open_encoder()


def traffic_of(
    items: Iterable[Request], *, block_size: int = 16, capacity_blocks: int | None = None
) -> Traffic:
    traffic = Traffic(Catalog(), encoder(), block_size=block_size, capacity_blocks=capacity_blocks)
    for item in items:
        traffic.add(item)
    return traffic


class Quiet:
    """Hears of progress and says nothing."""

    def stage(self, name: str, total: int | None) -> None: ...

    def advance(self, n: int = 1) -> None: ...


def accounts_of(traffic: Traffic, ttl_s: float | None = None) -> Accounts:
    return take_accounts(traffic, ttl_s, Quiet())


def view_of(traffic: Traffic, site: int = 0) -> SiteView:
    accounts = accounts_of(traffic)
    return SiteView(traffic, accounts.sites[site], accounts.lineage, accounts.measured)
