"""The report as one HTML file: no network, light and dark, readable without scripts.

Everything recorded goes through ``visible`` and then through the template's escaping; a
content security policy lets nothing run but our own few lines.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from keepwarm import __version__
from keepwarm._text import count, counted, percent, share, visible
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report import sampled, strips, wording

if TYPE_CHECKING:
    import jinja2

_ASSETS = "keepwarm.diagnose.report"
_MOST = {"findings": 100, "sites": 300, "skipped": 200}  # more than anybody reads; diagnosis.json has all


def to_html(diagnosis: Diagnosis, *, revealed: bool) -> bytes:
    """The page as UTF-8. ``diagnosis`` is shown as it stands: mask it before."""
    script = _asset("report.js")
    page = (
        _environment()
        .get_template("report.html.jinja")
        .render(
            d=diagnosis,
            file=PurePath(diagnosis.input.path).name,
            revealed=revealed,
            version=__version__,
            style=_trusted(_asset("report.css")),
            script=_trusted(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            fates=_fates(diagnosis),
            sites=wording.leaderboard(diagnosis),
            names=wording.site_names(diagnosis),
            findings=wording.by_recovery(diagnosis),
            strips=strips.strips(diagnosis),
            most=_MOST,
        )
    )
    return page.encode("utf-8")


def _fates(diagnosis: Diagnosis) -> list[tuple[wording.Fate, int, str]]:
    """Each fate with its tokens and its width in the bar, in percent of the prompt."""
    counts = wording.fate_counts(diagnosis.tokens)
    total = max(1, sum(counts))
    return [
        (fate, number, f"{100 * number / total:.4f}")
        for fate, number in zip(wording.FATES, counts, strict=True)
    ]


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(_ASSETS, "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # Whatever the template prints is made visible first: no place can forget to.
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["lines"] = _lines
    environment.globals |= {
        "count": count,
        "counted": counted,
        "percent": percent,
        "share": share,
        "rest": lambda items, most: (
            f" (the first {most}; diagnosis.json has all)" if len(items) > most else ""
        ),
        "owners": {owner.value: words for owner, words in wording.OWNERS.items()},
        "w": wording,
        "s": sampled,
    }
    return environment


def _lines(text: str) -> Any:
    """Recorded text with its line ends both marked and kept."""
    import markupsafe

    return markupsafe.escape(visible(text)).replace("⏎", "⏎\n")


def _asset(name: str) -> str:
    return resources.files(_ASSETS).joinpath("assets", name).read_text(encoding="utf-8").strip()


def _trusted(text: str) -> Any:
    """Our own style and script, which the template must not escape."""
    import markupsafe

    return markupsafe.Markup(text)  # noqa: S704 - a file of this package, never recorded text
