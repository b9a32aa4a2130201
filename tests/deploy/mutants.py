"""Whether the cases of a rule file notice that one of its rules is wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path


def is_noticed(promtool: Path, folder: Path, rules: Path, cases: Path, good: str, bad: str) -> bool:
    """Run the cases in ``folder`` over the rules with ``bad`` in place of ``good``, which has to be there."""
    text = rules.read_text()
    assert good in text
    (folder / rules.name).write_text(text.replace(good, bad))
    (folder / "cases.yml").write_text(
        cases.read_text().replace(f"../../deploy/prometheus/{rules.name}", rules.name)
    )
    command = [promtool, "test", "rules", folder / "cases.yml"]
    return subprocess.run(command, capture_output=True).returncode != 0
