"""The labelled cases with planted secrets: none of them leaves, by error, report, page or redacted copy."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from keepwarm.evidence.export import export_redacted
from keepwarm.evidence.tables import read_table
from keepwarm.repair.redaction import Redactor
from keepwarm.replay.comparing import compare_runs
from keepwarm.replay.comparing import files as comparison_files
from keepwarm.replay.comparing.files import keep_comparison
from keepwarm.replay.comparing.terminal import render_comparison
from keepwarm.replay.measuring import ReplayOptions, files, replay_trace
from keepwarm.replay.measuring.terminal import render_run
from tests.repair.test_canaries import leaked, planted
from tests.replay.fake_server import ReplayVllm

KINDS = (files.KIND, comparison_files.KIND)


def echo(body: dict[str, Any]) -> httpx2.Response:
    """A server that quotes what it cannot answer."""
    detail = f"invalid request: {json.dumps(body['messages'])[-150:]}"
    return httpx2.Response(400, json={"error": {"message": detail}})


class Talkative(ReplayVllm):
    """Answers with the end of the prompt, secrets and all."""

    def events(self, prompt: list[int], output_tokens: int, cached: int) -> str:
        words = json.dumps(self.bodies[-1]["messages"], ensure_ascii=False)
        usage = {"prompt_tokens": len(prompt), "completion_tokens": output_tokens}
        usage |= {"prompt_tokens_details": {"cached_tokens": cached}}
        chunks = [{"choices": [{"index": 0, "text": words}]}, {"choices": [], "usage": usage}]
        return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"

    def _completions(self, body: dict[str, Any]) -> httpx2.Response:
        self.asked = body
        return super()._completions(body)


@pytest.mark.parametrize("case", ["coding-agent", "support-desk"])
def test_no_planted_secret_is_in_what_leaves(shared: Path, tmp_path: Path, case: str) -> None:
    trace = shared / "cases" / "secrets" / f"{case}.jsonl"
    canaries = planted(trace)
    shown = []
    for label in ("before", "after"):
        server = Talkative(
            capacity_blocks=8191, max_model_len=30_000, broken=dict.fromkeys((2, 5, 8, 10), echo)
        )
        run = replay_trace(
            str(trace),
            "http://127.0.0.1:8000",
            tmp_path / label,
            ReplayOptions(label=label, keep_text=True, tool_choice="none"),
            transport=server.transport,
        )
        assert run.requests.failed
        shown.append(render_run(run, tmp_path / label, "0" * 64, width=5000, colour=False))
    found = compare_runs(tmp_path / "before", tmp_path / "after")
    keep_comparison(tmp_path / "comparison", found)
    shown.append(render_comparison(found.comparison, width=5000, colour=False))
    assert leaked((tmp_path / "before" / "requests.parquet").name + str(found.pairs), canaries)
    for name in ("before", "comparison"):
        out = tmp_path / f"{name}.zip"
        export_redacted(tmp_path / name, out, Redactor(), KINDS)
        with zipfile.ZipFile(out) as archive:
            contents = {entry: archive.read(entry) for entry in archive.namelist()}
        kind = KINDS[name == "comparison"]
        shown += [content.decode("utf-8", "replace") for content in contents.values()]
        shown.append(str(read_table(kind.rows_schema, kind.columns, contents[kind.rows_name])))
    assert leaked("\n".join(shown), canaries) == []
