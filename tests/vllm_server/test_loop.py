"""Part of the loop on a real server: a dozen requests before and after, on a model without weights."""

from __future__ import annotations

import gzip
import json

import pytest

from scripts.loop.desk import EXAMPLE
from scripts.loop.measured import MAX_MODEL_LEN_TOKENS, compare, replay, write_sets

REQUESTS = 12


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loop")
    for name, label in (("traffic", "before"), ("traffic.repaired", "after")):
        lines = gzip.decompress((EXAMPLE / f"{name}.jsonl.gz").read_bytes())
        (folder / f"{label}.jsonl").write_bytes(lines)
    write_sets(folder, ("first-uses",))
    return folder


@pytest.fixture(scope="module")
def comparison(cpu_server, out):
    server = cpu_server(
        pool_blocks=1024,
        max_model_len_tokens=MAX_MODEL_LEN_TOKENS,
        arguments=("--chat-template", str(EXAMPLE / "chat_template.jinja")),
    )
    for label in ("before", "after"):
        replay(out, server.base_url, f"replays/first-uses/{label}", label, "--limit", str(REQUESTS))
    compare(out, "replays/first-uses")
    return json.loads((out / "replays" / "first-uses" / "comparison" / "comparison.json").read_bytes())


def test_simulated_is_measured(comparison):
    for side in ("before", "after"):
        (simulated,) = comparison[f"simulated_{side}"]
        assert simulated["equal_requests"] == REQUESTS
        assert simulated["residual_points"] == 0


def test_the_repair_is_worth_it_already_after_a_dozen_requests(comparison):
    rates = comparison["hit_rate"]
    assert rates["before"]["value"] < 0.05
    assert rates["difference"]["low"] > 0.1
    assert comparison["complete"]
    assert comparison["pairs"] == {"by": "id", "compared": REQUESTS, "left_out": 0}


def test_the_server_renders_tools_with_the_committed_template(out):
    run = json.loads((out / "replays" / "first-uses" / "before" / "run.json").read_bytes())
    assert run["tokens"]["prompt"] > REQUESTS * 900
    assert run["requests"] == {"ok": REQUESTS, "failed": 0, "not_sent": 0}
