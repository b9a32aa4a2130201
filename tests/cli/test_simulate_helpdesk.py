"""The traffic as crowded sessions: what the demo shows of queue orders, and the model it predicts by."""

from __future__ import annotations

import json
import re
from pathlib import Path

from keepwarm.reuse.model import load
from tests.cli.conftest import Keepwarm

HELPDESK = Path(__file__).resolve().parents[2] / "examples" / "helpdesk"


def test_short_memory_tells_the_orders_apart(keepwarm_cli: Keepwarm, tmp_path: Path) -> None:
    ran = keepwarm_cli(
        "simulate", "serving", str(HELPDESK / "traffic.jsonl.gz"), "--scheduling", "fcfs,active-set",
        "--eviction", "lru,cachewise", "--sessions", "20", "--profile", "cpu-smollm2",
        "--capacity-tokens", "16384", "--gap-scale", "0.05",
        "--reuse-model", str(HELPDESK / "reuse-model.json"), "--timelines", str(tmp_path), "--json",
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    rows = {(row["scheduling"], row["eviction"]): row for row in json.loads(ran.stdout)["rows"]}
    stock, ours = rows["fcfs", "lru"], rows["active-set", "cachewise"]
    assert ours["hit_rate"] > stock["hit_rate"] + 0.1
    assert ours["session_completion_s"] < 0.85 * stock["session_completion_s"]
    assert len({row["evicted_blocks"] for row in rows.values()}) == 4
    for order, eviction in rows:
        timeline = json.loads((tmp_path / f"timeline-{order}-{eviction}-20-0.json").read_bytes())
        wanted = timeline["working_set"]["wanted_tokens"]
        assert max(wanted) > 1.5 * timeline["capacity_tokens"]
        gaps = {gap for one in timeline["sessions"] for gap in one["gap"]}
        assert {"human", "end", "find_customer", "issue_refund"} <= gaps


def test_the_model_is_what_the_page_says_makes_it(tmp_path: Path) -> None:
    page = (HELPDESK / "README.md").read_text()
    (program,) = (code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "reuse" in code)
    made = tmp_path / "model.json"
    program = program.replace("examples/helpdesk/reuse-model.json", str(made))
    program = program.replace("examples/helpdesk/traffic.jsonl.gz", str(HELPDESK / "traffic.jsonl.gz"))
    exec(compile(program, "README.md", "exec"), {})
    ours, theirs = load(HELPDESK / "reuse-model.json"), load(made)
    assert ours.fitted._replace(keepwarm="", scikit_learn="") == theirs.fitted._replace(
        keepwarm="", scikit_learn=""
    )
    for times in (0.0, 0.5, 0.9, 1.2):
        assert ours.curve.remaining_s(times) == theirs.curve.remaining_s(times)
    assert ours.tools == theirs.tools == {}
