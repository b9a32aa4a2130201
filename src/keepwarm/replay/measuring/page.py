"""The evidence page of a run, made of its document and rows alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepwarm._text import count, counted, percent
from keepwarm.evidence.page import Figure, Mark, Page, Section, Table, heights, scale, to_html
from keepwarm.replay.measuring.record import Row

_MODES = {
    "sequential": "one request after another",
    "concurrent": "several requests at once",
    "recorded": "as recorded",
}


def run_page(document: dict[str, Any], rows: Sequence[Row], note: str | None = None) -> bytes:
    """The page as UTF-8, ``note`` above all else. Whatever ``document`` and ``rows`` hold may be shown."""
    requests, tokens = document["requests"], document["tokens"]
    sent = sum(requests.values())
    mode = _MODES[document["conditions"]["mode"]]
    page = Page(
        title=f"Measured replay: {document['label']}",
        verdict=f"{counted(sent, 'request')} on {document['server']['model']}, {mode}.",
        warnings=(*(() if note is None else (note,)), *warnings_of(document)),
        figures=(
            Figure(
                "hit rate, measured",
                percent(document["hit_rate"]),
                f"{count(tokens['cached'])} of {count(tokens['prompt'])} prompt tokens",
            ),
            Figure("TTFT, median", _seconds(document["ttft_s"]), "measured, streamed"),
            Figure("requests", count(requests["ok"]), f"of {count(sent)} answered"),
        ),
        sections=(
            Section("TTFT of each request", marks=_marks(rows), caption=_caption(rows)),
            Section("The server", facts=_facts(document["server"])),
            Section("How it was sent", facts=_facts({**document["conditions"], **_start(document)})),
            Section("What was sent", facts=_facts(document["input"])),
            Section("The server's counters", table=_counters(document["counters"])),
            *_plugin(document["plugin_counters"]),
            Section("Requests", table=_table(rows)),
        ),
    )
    return to_html(page)


def warnings_of(document: dict[str, Any]) -> tuple[str, ...]:
    """What a reader must know before the figures."""
    requests = document["requests"]
    found = list(document["inconsistencies"])
    if requests["failed"] or requests["not_sent"]:
        found.append(
            f"{counted(requests['failed'], 'request')} failed and {requests['not_sent']} did not fit the "
            "server: the figures are of the others"
        )
    if document["reset"]["state"] == "skipped":
        found.append("the cache was not emptied first: hits may come from before this run")
    if document["input"]["skipped"]:
        found.append(f"{counted(len(document['input']['skipped']), 'line')} of the trace could not be used")
    return tuple(found)


def _start(document: dict[str, Any]) -> dict[str, Any]:
    return {
        "cache at the start": document["reset"]["state"],
        "started": document["started"],
        "took": f"{document['wall_s']:.1f} s",
        "interruptions": document["resumed"]["interruptions"],
        "begun again": document["resumed"]["restarts"],
        "measured by": ", ".join(f"{key} {value}" for key, value in document["client"].items()),
    }


def _facts(values: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((key.replace("_", " "), _told(value)) for key, value in values.items())


def _told(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items()) or "none"
    if isinstance(value, list):
        return count(len(value))
    return count(value) if isinstance(value, int) else str(value)


def _seconds(times: dict[str, float] | None) -> str:
    return "none" if times is None else f"{times['p50']:.3f} s"


def _marks(rows: Sequence[Row]) -> tuple[Mark, ...]:
    last = max(len(rows) - 1, 1)
    height = heights(_times(rows))
    return tuple(
        Mark(
            x=row.index / last,
            y=0.0 if row.ttft_s is None else height(row.ttft_s),
            kind="miss" if row.ttft_s is None else ("b" if row.cached_tokens else "a"),
            title=f"{row.id}: {_ttft(row)}, {row.cached_tokens or 0} tokens cached",
        )
        for row in rows
    )


def _times(rows: Sequence[Row]) -> list[float]:
    return [row.ttft_s for row in rows if row.ttft_s is not None]


def _caption(rows: Sequence[Row]) -> str:
    colours = "Blue: something was cached; brown: nothing was; a ring: not answered."
    return f"In recorded order, {scale(_times(rows))}. {colours}"


def _ttft(row: Row) -> str:
    return "none" if row.ttft_s is None else f"{row.ttft_s:.3f} s"


def _counters(counters: dict[str, dict[str, int]]) -> Table:
    return Table(
        ("counter", "before", "after", "rise"),
        tuple(
            (name, count(c["before"]), count(c["after"]), count(c["after"] - c["before"]))
            for name, c in counters.items()
        ),
        frozenset((1, 2, 3)),
    )


def _plugin(counters: dict[str, list[float]]) -> tuple[Section, ...]:
    """Nothing where the plugin is not there."""
    if not counters:
        return ()
    rows = tuple((name, f"{a:g}", f"{b:g}", f"{b - a:g}") for name, (a, b) in counters.items())
    table = Table(("counter", "before", "after", "rise"), rows, frozenset((1, 2, 3)))
    return (Section("ComputeCache's counters", table=table),)


def _table(rows: Sequence[Row]) -> Table:
    return Table(
        ("request", "session", "status", "prompt", "cached", "output", "TTFT", "output SHA-256"),
        tuple(
            (
                row.id,
                row.session or "",
                row.status if row.error is None else f"{row.status}: {row.error}",
                _number(row.prompt_tokens),
                _number(row.cached_tokens),
                _number(row.output_tokens),
                _ttft(row),
                (row.text_sha256 or "")[:12],
            )
            for row in rows
        ),
        frozenset((3, 4, 5, 6)),
    )


def _number(value: int | None) -> str:
    return "" if value is None else count(value)
