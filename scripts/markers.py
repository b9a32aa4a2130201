"""Text between two markers of a hand-written page that a command rewrites."""

from __future__ import annotations


def between(text: str, start: str, end: str, body: str) -> str:
    """``text`` with ``body`` between the markers; ``ValueError`` names the marker that is missing."""
    before, found_start, rest = text.partition(start)
    _, found_end, after = rest.partition(end)
    if not (found_start and found_end):
        raise ValueError(
            f"no {start if not found_start else end!r} in the page: put it where the text belongs"
        )
    return f"{before}{start}\n\n{body.strip()}\n\n{end}{after}"
