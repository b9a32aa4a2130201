"""Two runs compared: figures, refusals, the model of the cache beside the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from keepwarm._errors import InputError
from keepwarm._json import to_json
from keepwarm.evidence.verify import verify_folder
from keepwarm.replay.comparing import CompareOptions, compare_runs
from keepwarm.replay.comparing.comparison import Comparison, comparison_document
from keepwarm.replay.comparing.files import keep_comparison
from keepwarm.replay.comparing.simulated import Encoding
from keepwarm.replay.comparing.terminal import render_comparison
from tests.replay.conftest import Replay
from tests.replay.fake_server import ReplayVllm
from tests.replay.traces import TOOL, broken, chat, repaired

ERROR = httpx2.Response(500, text="Bad prompt: a customer's words")
TEMPLATE = "{% for m in messages %}<{{ m.role }}> {{ m.content }} {% endfor %}<assistant>"


def compared(tmp_path: Path, options: CompareOptions | None = None) -> Comparison:
    return compare_runs(tmp_path / "before", tmp_path / "after", options).comparison


@pytest.fixture
def both(replay: Replay, tmp_path: Path) -> Path:
    replay(ReplayVllm(), broken(36))
    replay(ReplayVllm(), repaired(36), "after")
    return tmp_path


def test_hit_rates_are_the_servers_and_the_models(both: Path) -> None:
    comparison = compared(both)
    rates = comparison.hit_rate
    before, after = (json.loads((both / name / "run.json").read_text()) for name in ("before", "after"))
    assert rates.before.value == before["hit_rate"] == 0
    assert rates.after.value == pytest.approx(after["hit_rate"], abs=1e-6)
    assert rates.difference.value == pytest.approx(after["hit_rate"], abs=1e-6)
    assert (rates.after.low or 1) < rates.after.value < (rates.after.high or 0)
    assert comparison.complete
    assert (comparison.pairs.by, comparison.pairs.compared, comparison.pairs.left_out) == ("id", 36, 0)
    assert (comparison.bootstrap.unit, comparison.bootstrap.units) == ("session", 12)
    for run in (*comparison.simulated_before, *comparison.simulated_after):
        assert (run.residual_points, run.equal_requests, run.differing) == (0, 36, ())
        assert (run.tokens_of, run.policy, run.other_lengths) == ("server", "lru", 0)
    assert comparison.ttft.faster_pairs + comparison.ttft.slower_pairs == 36
    assert comparison.outputs.equal + comparison.outputs.changed == 36


def test_the_same_evidence_gives_the_same_bytes(both: Path) -> None:
    chains = []
    for name in ("one", "two"):
        found = compare_runs(both / "before", both / "after")
        chains.append(keep_comparison(both / name, found))
        assert (both / name / "comparison.json").read_bytes() == to_json(
            comparison_document(found.comparison)
        )
        assert verify_folder(both / name).mismatches == ()
    assert chains[0] == chains[1]
    files = [{path.name: path.read_bytes() for path in (both / name).iterdir()} for name in ("one", "two")]
    assert files[0] == files[1]
    assert compared(both, CompareOptions(seed=1)).bootstrap.seed == 1


def test_the_boundary_is_said(both: Path) -> None:
    boundary = compared(both).boundary
    assert "cache size in blocks: 127" in boundary.held_equal
    assert "requests: the same 36, paired by id" in boundary.held_equal
    assert "the prompts: that is what is compared" in boundary.not_held_equal
    assert any(limit.startswith("TTFT was measured on a CPU") for limit in boundary.limits)
    shown = render_comparison(compared(both), width=100, colour=False)
    assert "TTFT was measured on a CPU" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize(
    ("server", "options", "named"),
    [
        ({"capacity_blocks": 255}, {}, "cache size in blocks 127 and 255"),
        ({"block_size": 8}, {}, "block size in tokens 4 and 8"),
        ({"version": "0.33.0"}, {}, "vLLM version '0.32.0' and '0.33.0'"),
        ({"root": "/models/other"}, {}, "model files '/models/tiny' and '/models/other'"),
        ({"max_model_len": 512}, {}, "max_model_len 1024 and 512"),
        ({"mode": "active"}, {}, "ComputeCache mode 'stock' and 'active'"),
        ({"device": "cuda"}, {}, "kind of device 'cpu' and 'cuda'"),
        ({"vocabulary": 49_999}, {}, "tokenizer and chat template"),
        ({}, {"concurrency": 2}, "mode 'sequential' and 'concurrent'"),
        ({}, {"max_tokens": 2}, "--max-tokens not told and 2"),
        ({}, {"seed": 3}, "seed 0 and 3"),
        ({}, {"tool_choice": "none"}, "--tool-choice 'recorded' and 'none'"),
        ({}, {"reset": False}, "cache at the start 'reset' and 'skipped'"),
        ({}, {"device": "another machine"}, "and 'another machine'"),
    ],
)
def test_runs_that_do_not_match_are_refused_by_name(
    replay: Replay, tmp_path: Path, server: dict[str, Any], options: dict[str, Any], named: str
) -> None:
    replay(ReplayVllm())
    replay(ReplayVllm(**server), repaired(), "after", **options)
    with pytest.raises(InputError, match="the runs do not match: ") as refusal:
        compared(tmp_path)
    assert named in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_repaired_template_may_differ_if_that_is_said(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm())
    replay(ReplayVllm(vocabulary=49_999), repaired(), "after")
    comparison = compared(tmp_path, CompareOptions(other_template=True))
    assert any("--allow-other-template" in sentence for sentence in comparison.boundary.not_held_equal)


def renamed(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**line, "id": f"new-{line['id']}"} for line in lines]


def test_recorders_make_new_ids(replay: Replay, tmp_path: Path) -> None:
    lines = repaired()
    shuffled = [*lines[6:], *lines[:6]]  # other sessions first, each in its own order
    replay(ReplayVllm())
    replay(ReplayVllm(), renamed(shuffled), "after")
    found = compare_runs(tmp_path / "before", tmp_path / "after")
    assert found.comparison.pairs.by == "session and position"
    assert [pair.after.id for pair in found.pairs] == [f"new-{pair.before.id}" for pair in found.pairs]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (
            repaired(11),
            "12 and 11 requests, of which 1 are only in BEFORE and 0 only in AFTER, the first 'r11'",
        ),
        ([*repaired(11), chat(40, "x")], "1 only in AFTER"),
    ],
)
def test_other_request_sets_are_refused(
    replay: Replay, tmp_path: Path, after: list[dict[str, Any]], message: str
) -> None:
    replay(ReplayVllm())
    replay(ReplayVllm(), renamed(after), "after")
    with pytest.raises(InputError) as refusal:
        compared(tmp_path)
    assert message in str(refusal.value)


def test_failed_requests_are_said_and_left_out(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm(broken={2: lambda _: ERROR}))
    replay(ReplayVllm(), repaired(), "after")
    comparison = compared(tmp_path)
    assert not comparison.complete
    assert (comparison.pairs.compared, comparison.pairs.left_out) == (11, 1)
    (warning,) = comparison.warnings
    assert warning.startswith("1 request of run 'before' failed or did not fit, most often 'HTTP 500'")
    assert "customer" not in str(comparison_document(comparison))


def test_contradictions_of_a_run_are_repeated(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm(miscounts=3))
    replay(ReplayVllm(), repaired(), "after")
    comparison = compared(tmp_path)
    assert not comparison.complete
    assert comparison.warnings[0].startswith("run 'before': usage says")


def test_a_pool_under_computecache_is_simulated_as_such(replay: Replay, tmp_path: Path) -> None:
    for label, lines in (("before", broken(24)), ("after", repaired(24))):
        replay(ReplayVllm(mode="active", capacity_blocks=30), lines, label)
    comparison = compared(tmp_path)
    for run in (*comparison.simulated_before, *comparison.simulated_after):
        assert (run.policy, run.residual_points, run.equal_requests) == ("computecache", 0, 24)


def test_few_requests_have_no_interval(replay: Replay, tmp_path: Path) -> None:
    replay(ReplayVllm(), broken(6))
    replay(ReplayVllm(), repaired(6), "after")
    comparison = compared(tmp_path)
    assert comparison.hit_rate.after.low is comparison.ttft.ratio.high is None
    assert "too few" in render_comparison(comparison, width=100, colour=False)


def tokenizer(folder: Path, words: Sequence[str]) -> str:
    """A tokenizer that makes a token of each word, with the fake server's chat template."""
    folder.mkdir()
    vocabulary = {word: number for number, word in enumerate(["?", *dict.fromkeys(words)])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return str(folder)


def words_of(lines: Sequence[dict[str, Any]]) -> list[str]:
    contents = [message["content"] for line in lines for message in line["body"]["messages"]]
    return ["<system>", "<user>", "<assistant>", *" ".join(contents).split()]


def test_simulated_from_the_trace_itself(both: Path) -> None:
    folder = tokenizer(both / "tokenizer", words_of(repaired(36)))
    comparison = compared(both, CompareOptions(encoding=Encoding(folder, None)))
    for run in (comparison.simulated_before[1], comparison.simulated_after[1]):
        assert (run.tokens_of, run.residual_points, run.equal_requests) == (folder, 0, 36)
    (both / "after.jsonl").write_text((both / "before.jsonl").read_text())
    with pytest.raises(InputError, match="is not the trace that run 'after' sent"):
        compared(both, CompareOptions(encoding=Encoding(folder, None)))


def test_a_tokenizer_that_is_another_shows(both: Path) -> None:
    lines = [chat(number, "a b c", tools=[TOOL]) for number in range(3)]
    folder = tokenizer(both / "tokenizer", words_of(lines))
    (both / "tokenizer" / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": "{{ messages[1].content }}"})
    )
    run = compared(both, CompareOptions(encoding=Encoding(folder, None))).simulated_after[1]
    assert run.other_lengths == 36
    assert run.residual_points > 50
    assert 0 < len(run.differing) <= 20


def test_a_server_that_hits_more_than_the_model_says_so(replay: Replay, tmp_path: Path) -> None:
    fake = ReplayVllm()
    replay(ReplayVllm(), repaired())
    replay(fake, repaired(), "warm-up")
    replay(fake, repaired(), "after", reset=False)
    replay(ReplayVllm(), repaired(), "cold", reset=False)
    comparison = compare_runs(tmp_path / "cold", tmp_path / "after").comparison
    assert comparison.simulated_after[0].residual_points > 1
    assert any("which nothing here explains" in warning for warning in comparison.warnings)
    assert any("hits may come from before" in limit for limit in comparison.boundary.limits)


def test_evidence_that_was_changed_is_not_compared(both: Path) -> None:
    run = both / "after" / "run.json"
    run.write_text(run.read_text().replace('"hit_rate": 0', '"hit_rate": 1'))
    with pytest.raises(InputError, match=r"'run.json' was changed"):
        compared(both)


def test_a_folder_of_something_else_is_refused(both: Path) -> None:
    keep_comparison(both / "comparison", compare_runs(both / "before", both / "after"))
    with pytest.raises(InputError, match="is no run of keepwarm replay"):
        compare_runs(both / "before", both / "comparison")
    with pytest.raises(InputError, match="cannot read"):
        compare_runs(both / "before", both / "nowhere")


def test_models_that_are_replayed_as_one_share_a_cache_and_that_is_said(
    replay: Replay, tmp_path: Path
) -> None:
    lines = repaired()
    for number, line in enumerate(lines):
        line["body"] |= {"model": f"m{number % 2}", "lora_name": f"l{number % 2}"}
    lines[3]["body"]["cache_salt"] = "alone"
    for label in ("before", "after"):
        replay(ReplayVllm(), lines, label)
    comparison = compared(tmp_path)
    assert any("names 2 models" in sentence for sentence in comparison.boundary.limits)
    (run,) = comparison.simulated_after
    assert [each.id for each in run.differing] == ["r3"]  # the fake server knows no salt
