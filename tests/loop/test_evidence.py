"""The run that is kept in the repository: untouched, and good for what is said of it."""

from __future__ import annotations

import hashlib
import json

import pytest

from keepwarm.evidence.verify import verify_folder
from keepwarm.guard.verdict import digest_holds
from scripts.loop.chosen import chosen_ids, read, write_set
from scripts.loop.desk import EXAMPLE, REPAIRS
from scripts.loop.generate import EVIDENCE, PAGE, page_with_results

REPLAYS = sorted(EVIDENCE.glob("replays/*/*"))


def document(*parts):
    return json.loads(EVIDENCE.joinpath(*parts).read_bytes())


@pytest.fixture(scope="module")
def comparison():
    return document("replays", "first-uses", "comparison", "comparison.json")


def test_there_is_a_run_before_and_after_and_a_comparison():
    names = {path.name for path in REPLAYS if path.parent.name == "first-uses"}
    assert names == {"before", "after", "comparison"}


@pytest.mark.parametrize("folder", REPLAYS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_folder_was_touched(folder):
    verified = verify_folder(folder)
    assert verified.manifest is not None
    assert verified.mismatches == ()


@pytest.mark.parametrize("number", range(1, len(REPAIRS) + 1))
def test_verdicts_are_as_they_were_given(number):
    repair = document(f"round-{number}", "repair", "verdict.json")
    bad_fix = document(f"round-{number}", "bad-fix", "verdict.json")
    assert digest_holds(repair)
    assert digest_holds(bad_fix)
    assert (repair["outcome"], bad_fix["outcome"]) == ("pass", "fail")


def test_the_hit_rate_goes_from_under_5_to_over_75_percent(comparison):
    rates = comparison["hit_rate"]
    assert rates["before"]["value"] < 0.05
    assert rates["after"]["value"] > 0.75
    assert rates["difference"]["low"] > 0.6


def test_the_first_token_comes_at_least_1_4_times_sooner(comparison):
    ratio = comparison["ttft"]["ratio"]
    assert ratio["value"] >= ratio["low"] >= 1.4


def test_simulated_and_measured_hit_rate_are_within_one_point(comparison):
    for side in ("before", "after"):
        for simulated in comparison[f"simulated_{side}"]:
            assert abs(simulated["residual_points"]) <= 1


def test_what_was_replayed_is_what_is_committed(tmp_path):
    ids = chosen_ids(read(EXAMPLE / "traffic.jsonl.gz"), "first-uses")
    for label, name in (("before", "traffic.jsonl.gz"), ("after", "traffic.repaired.jsonl.gz")):
        run = document("replays", "first-uses", label, "run.json")
        write_set(EXAMPLE / name, ids, tmp_path / f"{label}.jsonl")
        assert run["input"]["requests"] == len(ids)
        assert run["input"]["sha256"] == digest(tmp_path / f"{label}.jsonl")


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_file_names_the_machine_it_was_made_on():
    for path in EVIDENCE.rglob("*.*"):
        text = path.read_bytes().decode("utf-8", "replace")
        assert not [place for place in ("/work/", "/tmp/", "/root", "/home/") if place in text], path


def test_the_page_shows_these_figures():
    page = PAGE.read_text(encoding="utf-8")
    assert page_with_results(page) == page
