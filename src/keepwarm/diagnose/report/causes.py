"""The causes keepwarm knows, as a table, as documentation and as JSON."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

from keepwarm._errors import InputError
from keepwarm.diagnose.findings import Owner
from keepwarm.diagnose.report import wording


class Cause(NamedTuple):
    """A cause as its rule documents it; ``documentation`` is Markdown."""

    code: str
    owner: Owner
    fixable: bool
    summary: str
    suggestion: str
    documentation: str


def known_causes() -> list[Cause]:
    """One entry per registered rule, in the order in which they are registered."""
    from keepwarm.diagnose.rules import CAUSES

    return [
        Cause(
            code,
            rule.owner,
            rule.fixable(),
            rule.summary,
            rule.suggestion,
            inspect.cleandoc(rule.__doc__ or ""),
        )
        for code, rule in CAUSES.items()
    ]


def named(causes: list[Cause], code: str) -> Cause:
    """The cause with this code. Raises InputError with the nearest codes."""
    codes = {cause.code: cause for cause in causes}
    wanted = code.strip().lower().replace("_", "-").replace(" ", "-")
    if wanted in codes:
        return codes[wanted]
    close = wording.nearest(wanted, list(codes))
    hint = f"did you mean {' or '.join(close)}?" if close else "'keepwarm causes' lists them"
    raise InputError(f"no cause {code!r}; {hint}")


def causes_document(causes: list[Cause]) -> dict[str, Any]:
    """``causes`` as ``keepwarm.causes/1``."""
    return {"schema": "keepwarm.causes/1", "causes": [cause._asdict() for cause in causes]}


def render_causes(causes: list[Cause], *, width: int, colour: bool) -> str:
    """A table: code, owner, what breaks the prefix."""
    from rich.table import Table

    from keepwarm._console import to_text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("cause", no_wrap=True, style="bold")
    table.add_column("owner", no_wrap=True)
    table.add_column("what breaks the prefix", overflow="fold")
    for cause in causes:
        table.add_row(cause.code, cause.owner.value, cause.summary)
    return to_text(table, width=width, colour=colour) + "\n'keepwarm causes CODE' documents one.\n"


def render_cause(cause: Cause, *, width: int, colour: bool) -> str:
    """The documentation of one cause: laid out for a terminal, Markdown as it is elsewhere."""
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.text import Text

    from keepwarm._console import facts, heading, to_text

    remedy = (
        "a change in the application's source" if cause.fixable else "a setting, not the application's source"
    )
    rows: list[tuple[str, str | Text]] = [
        ("owner", f"{cause.owner.value}, {wording.OWNERS[cause.owner]}"),
        ("fixed by", remedy),
    ]
    head = to_text(Group(heading(cause.code), facts(rows), Text()), width=width, colour=colour)
    if not colour:
        return f"{head}{cause.documentation}\n"
    return head + to_text(Markdown(cause.documentation), width=width, colour=colour)
