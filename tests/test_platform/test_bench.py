"""Benches share one shape. No figure is asserted here: figures are for people who know the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench import diagnose_memory, harness

REPOSITORY = Path(__file__).resolve().parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)


def test_listing_names_every_bench_with_its_summary() -> None:
    lines = bench().stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(harness.benches())
    assert set(harness.benches()) == {
        "agents-completion", "agents-evictions", "agents-on-vllm", "agents-p99", "big-trace",
        "break-map-fps", "block-hashes", "cli-start", "diagnose-memory", "diagnose-spilled",
        "eviction-overhead", "fleet-on-vllm", "hot-prefix-ttft", "kernel-vs-libcachesim", "kernel-vs-vllm",
        "plugin-overhead", "recorder-latency", "sampled-diagnosis", "scheduler-overhead", "shards-error",
        "shards-speed", "sweep", "sweep-ray", "tokenise",
    }  # fmt: skip
    assert all(len(line.split()) > 4 for line in lines)


def test_every_bench_says_what_it_is_held_to() -> None:
    assert [name for name, bench in harness.benches().items() if not bench.target] == []


def test_a_bench_prints_one_json_document() -> None:
    done = bench("cli-start", "--json")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)) == ["name", "value", "unit", "detail"]


def test_an_unknown_bench_is_one_line_and_exit_2() -> None:
    done = bench("no-such")
    assert done.returncode == 2
    assert "'no-such'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_bench_without_its_other_side_is_one_line_and_exit_2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWARM_VLLM_PYTHON", "/nowhere/python")
    done = bench("kernel-vs-vllm")
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == [
        "kernel-vs-vllm: no vLLM at '/nowhere/python'; `make bench` sets it up and runs all"
    ]


def test_the_table_is_rewritten_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"before\n{harness.START}\nold\n{harness.END}\nafter\n")
    harness.rewrite_table(page, [harness.Result("cli-start", 12.5, "ms CPU", {"runs": 3})])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| cli-start | 12.5 ms CPU | ≤ 150 | runs 3 |" in text
    assert "old" not in text


def test_rows_of_benches_that_did_not_run_stay(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(f"{harness.START}\n{harness.END}\n")
    harness.rewrite_table(
        page, [harness.Result("cli-start", 1, "ms CPU", {}), harness.Result("sweep", 2, "s", {})]
    )
    page.write_text(page.read_text().replace("| sweep |", "| no-such-bench |") + "| outside | 1 |\n")
    harness.rewrite_table(page, [harness.Result("tokenise", 3, "×", {})])
    rows = [line.split("|")[1].strip() for line in page.read_text().splitlines() if line.startswith("| ")]
    assert rows == ["bench", "---", "cli-start", "tokenise", "outside"]


def test_a_page_without_markers_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="results"):
        harness.rewrite_table(page, [])


@pytest.mark.parametrize("kind", diagnose_memory.KINDS)
def test_generated_traces_are_the_same_every_time_and_can_be_diagnosed(kind: str, tmp_path: Path) -> None:
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path in (first, second):
        diagnose_memory.write_trace(path, diagnose_memory.KINDS[kind], 300_000)
    assert first.read_bytes() == second.read_bytes()
    assert harness.run_keepwarm("diagnose", str(first), "--json").peak_gib > 0
