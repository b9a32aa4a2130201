"""The verdict as one HTML file: no network, no script, light and dark.

It wears the style of the diagnosis report. Everything in it goes through ``visible`` and then through the
template's escaping; the content security policy lets nothing run.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING, Any

from keepwarm._text import visible
from keepwarm.guard.report import wording
from keepwarm.guard.verdict import Verdict

if TYPE_CHECKING:
    import jinja2

_STYLE = ("keepwarm.diagnose.report", "assets", "report.css")


def to_html(verdict: Verdict, *, digest: str) -> bytes:
    """The page as UTF-8; what programs printed is not in it, so that equal input gives equal bytes."""
    page = _environment().get_template("verdict.html.jinja").render(v=verdict, digest=digest, style=_style())
    return page.encode("utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("keepwarm.guard.report", "assets"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.globals["w"] = wording
    return environment


def _style() -> Any:
    """Our own style sheet, which the template must not escape."""
    import markupsafe

    package, *path = _STYLE
    text = resources.files(package).joinpath(*path).read_text(encoding="utf-8").strip()
    return markupsafe.Markup(text)  # noqa: S704 - a file of this package, never recorded text
