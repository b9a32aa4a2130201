"""Golden cases: ``keepwarm.golden/1`` documents of what the model answered before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from scripts.loop.desk import Desk


def ask(desk: Desk, revision: str, times: int) -> list[dict[str, Any]]:
    """The outputs of all cases at a revision, asked several times over."""
    desk.checkout(revision)
    return [desk.golden_outputs() for _ in range(times)]


def write_cases(desk: Desk, base: str, head: str, out: Path) -> None:
    """One file for each case; BEFORE is asked twice, so that its noise is known."""
    before, after = ask(desk, base, 2), ask(desk, head, 1)
    out.mkdir(parents=True)
    for case in desk.golden_cases():
        name = case["case"]
        document = {
            "schema": "keepwarm.golden/1",
            "case": name,
            "about": f"{case['call_site']}: {case['about']}",
            "before": [outputs[name] for outputs in before],
            "after": [outputs[name] for outputs in after],
            "assertions": case["assertions"],
        }
        text = json.dumps(document, ensure_ascii=False, indent=1) + "\n"
        (out / f"{name}.json").write_text(text, encoding="utf-8")
