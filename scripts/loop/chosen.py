"""Which requests of the recorded day are replayed. The choice looks at BEFORE only, never at a figure.

``first-uses``: the requests that cannot profit from a twin. What breaks a prefix on this desk differs between
tickets (time, ticket number, articles, order of tools) or, in letters, between customers; a later request of
the same ticket, or a later letter to the same customer, repeats its predecessor's slot and hits before any
repair. Kept is the first request of each ticket at triage, articles and resolve, and the first letter to each
customer: all reuse among them is reuse of the desk's own text, which is what the defects break.

``day``: every request.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]
SETS = ("first-uses", "day")

# Words of each prompt that no repair may change.
_SITES = {
    "triage": "You sort the messages",
    "articles": "You prepare answers to how-to questions",
    "resolve": "You work on cases in the back office",
    "reply": "You write letters to customers",
}
_CUSTOMER = re.compile(r"customer number (C-\d+)")


def read(path: Path) -> list[Record]:
    """The records of a trace of the desk."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def call_site(record: Record) -> str:
    """Which of the desk's prompts a request is."""
    system = record["body"]["messages"][0]["content"]
    return next(name for name, words in _SITES.items() if words in system)


def chosen_ids(before: Iterable[Record], name: str) -> list[str]:
    """Ids of the requests of a set, in recorded order."""
    return list(_first_uses(before)) if name == "first-uses" else [record["id"] for record in before]


def write_set(trace: Path, ids: Iterable[str], out: Path) -> None:
    """The records with these ids, unchanged and in recorded order. Not compressed: zlib builds differ."""
    wanted = set(ids)
    lines = "".join(_line(record) for record in read(trace) if record["id"] in wanted)
    out.write_text(lines, encoding="utf-8")


def _first_uses(before: Iterable[Record]) -> Iterator[str]:
    seen: set[tuple[str, str]] = set()
    for record in before:
        site = call_site(record)
        key = (site, _slot_owner(record, site))
        if key not in seen:
            seen.add(key)
            yield record["id"]


def _slot_owner(record: Record, site: str) -> str:
    if site != "reply":
        return str(record["session_id"])
    found = _CUSTOMER.search(record["body"]["messages"][0]["content"])
    assert found is not None
    return found[1]


def _line(record: Record) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
