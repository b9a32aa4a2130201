"""The whole canary and the whole tuning run against the reference pool behind vLLM's answers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from keepwarm._json import to_json
from keepwarm.canary.options import CanaryOptions, TtftBudget, TuneOptions
from keepwarm.canary.pressure import PressureOptions
from keepwarm.canary.record import CanaryRecord, canary_document, make_folder, write_record
from keepwarm.canary.report import canary_markdown, tuning_markdown
from keepwarm.canary.run import run_canary
from keepwarm.canary.tune import run_tuning, tuning_document
from tests.canary.fake_server import PoolServer

PRESSURE = PressureOptions(hot_tokens=800, flood_tokens=810)
ANY_SPEED = 1000.0  # a fake's times say nothing


def accepted(server: PoolServer) -> CanaryRecord:
    options = CanaryOptions(pressure=PRESSURE, ttft_budget=ANY_SPEED)
    return run_canary(
        server, options, server.instruments(PRESSURE), keep=lambda record: None, say=lambda line: None
    )


def test_canary() -> None:
    server = PoolServer()
    record = accepted(server)
    assert record.accepted, record.reasons()
    # Each replay makes the prefix young again: batches of 1, 1, 2, 4, ...
    assert record.baseline.hot_cached_tokens() == (800, 800, 416, 0, 0, 0, 0)
    assert record.candidate is not None
    assert record.candidate.hot_cached_tokens() == (800,) * 7
    assert record.drill.run is not None
    assert record.drill.run.hot_cached_tokens() == record.baseline.hot_cached_tokens()
    assert len(record.candidate.one_use_ttfts_s()) == 80
    assert server.mode == "stopped"


def test_the_record_s_keys_are_stable() -> None:
    document = json.loads(to_json(canary_document(accepted(PoolServer()))))
    assert list(document) == [
        "schema", "recorded_at", "accepted", "final_mode", "model", "device", "versions", "commit",
        "uncommitted_changes", "options", "settings", "baseline", "candidate", "decision", "drill", "final",
    ]  # fmt: skip
    assert document["schema"] == "keepwarm.canary/1"
    assert document["model"] == {
        "name": "tiny", "max_model_len": 1024, "block_size": 16, "capacity_blocks": 127,
    }  # fmt: skip
    assert list(document["versions"]) == ["vllm", "keepwarm", "python"]
    assert document["versions"]["vllm"] == "0.32.0"
    assert document["commit"] is None or re.fullmatch(r"[0-9a-f]{40}", document["commit"])
    assert document["settings"] == {"COMPUTECACHE_MODE": "active"}
    assert list(document["baseline"]) == ["settings", "plugin", "pressure"]
    assert list(document["decision"]) == ["accepted", "checks"]
    assert list(document["decision"]["checks"][0]) == ["code", "outcome", "message", "figures"]
    assert list(document["drill"]) == ["passed", "checks", "run"]
    assert document["final"] == {"mode": "active", "left_running": False, "checks": []}
    assert document["candidate"]["pressure"]["post_flood_cached_tokens"] == 800


def test_the_record_on_disk(tmp_path: Path) -> None:
    record = accepted(PoolServer())
    make_folder(tmp_path / "deep" / "canary")
    written = write_record(
        canary_document(record), canary_markdown(record), tmp_path / "deep" / "canary", "canary"
    )
    assert json.loads(written.json.read_bytes())["accepted"] is True
    text = written.markdown.read_text()
    assert text.startswith("# Canary: accepted, final mode active\n")
    assert re.search(r"\| hot tokens cached after 80 one-use requests +\| 0 +\| 800 +\| 0 +\|", text)
    assert "## Rollback drill: passed" in text
    assert sorted(path.name for path in written.json.parent.iterdir()) == ["canary.json", "canary.md"]


def test_a_server_that_says_active_and_keeps_nothing_is_refused() -> None:
    """The mode alone convinces nobody."""
    server = PoolServer(active={"caches": True, "capacity_blocks": 60})
    options = CanaryOptions(pressure=PressureOptions(hot_tokens=800), ttft_budget=ANY_SPEED)
    record = run_canary(
        server, options, server.instruments(options.pressure), keep=lambda record: None, say=lambda line: None
    )
    assert not record.accepted
    assert {"gain"} <= {reason.code for reason in record.reasons()}
    assert canary_markdown(record).startswith("# Canary: not accepted, final mode lru\n")


def test_a_markdown_without_a_candidate_or_a_drill() -> None:
    record = accepted(PoolServer())
    bare = CanaryRecord(
        **{
            name: getattr(record, name)
            for name in ("recorded_at", "model", "identity", "options", "settings", "baseline")
        },
        candidate=None,
        decision=record.decision,
        drill=type(record.drill)(passed=False, checks=(), run=None),
        final=record.final,
    )
    assert re.search(r"after 80 one-use requests +\| 0 +\| – +\| – +\|", canary_markdown(bare))


@pytest.mark.parametrize("unit", ["s", "ratio"])
def test_tuning(unit: str) -> None:
    server = PoolServer()
    options = TuneOptions(
        scan_limits=(64, 4, 128),
        pressure=PRESSURE,
        p95_ttft_budget=TtftBudget(value=ANY_SPEED, unit=unit),  # type: ignore[arg-type]
    )
    record = run_tuning(
        server, options, server.instruments(PRESSURE), keep=lambda record: None, say=lambda line: None
    )
    assert [event for event in server.events if event.startswith("start")] == [
        "start lru",
        *(f"start active {rule} {limit}" for rule in ("boundary", "window") for limit in (4, 64, 128)),
        "start lru window 128",
    ]
    assert server.events[-1] == "stop"
    # The window keeps the prefix only if it holds more cold blocks than a prompt takes.
    assert [(choice.rule, choice.scan_limit) for choice in record.choices] == [
        ("boundary", 4),
        ("window", 128),
    ]
    document = json.loads(to_json(tuning_document(record)))
    assert list(document) == [
        "schema", "recorded_at", "model", "device", "versions", "commit", "uncommitted_changes", "choices",
        "trials", "options", "baseline", "baseline_p95_ttft_s", "rollback_p95_ttft_s", "drill", "final_mode",
    ]  # fmt: skip
    assert document["schema"] == "keepwarm.canary-tuning/1"
    assert list(document["trials"][0]) == [
        "fit", "rule", "scan_limit", "run", "protects", "p95_ttft_s", "p95_ratio", "within_budget",
    ]  # fmt: skip
    assert tuning_markdown(record).startswith("# Canary tuning: boundary with 4, window with 128\n")
