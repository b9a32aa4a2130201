"""Every rule: what it must see, what it must not see, and what it says."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import msgspec
import pytest

from keepwarm.diagnose import Options, diagnose
from keepwarm.diagnose.findings import Diagnosis, Owner
from keepwarm.diagnose.rules import CAUSES, Rule
from tests.diagnose.rule_reports import report
from tests.diagnose.rules.make import BUILDERS, HERE, files_of

SECTIONS = ("**Recognised by**", "**Fix.**", "**Not to be confused with**")
UPDATE = os.environ.get("KEEPWARM_UPDATE_GOLDEN") == "1"


def options(code: str) -> Options:
    file = HERE / code / "options.json"
    return msgspec.json.decode(file.read_bytes(), type=Options) if file.exists() else Options()


@functools.cache
def diagnosed(code: str, kind: str) -> Diagnosis:
    return diagnose(str(HERE / code / f"{kind}.jsonl"), options(code))


@pytest.mark.parametrize("code", CAUSES)
def test_the_bad_input_shows_the_cause_first(code: str) -> None:
    findings = diagnosed(code, "bad").findings
    assert [finding.cause for finding in findings[:1]] == [code]
    assert findings[0].suggestion == CAUSES[code].suggestion
    assert (findings[0].owner, findings[0].fixable) == (CAUSES[code].owner, CAUSES[code].fixable())


@pytest.mark.parametrize("code", CAUSES)
def test_the_bad_input_shows_nothing_else(code: str) -> None:
    assert {finding.cause for finding in diagnosed(code, "bad").findings} == {code}


@pytest.mark.parametrize("code", CAUSES)
def test_the_near_miss_is_left_alone(code: str) -> None:
    assert [(f.cause, f.path) for f in diagnosed(code, "good").findings] == []


@pytest.mark.parametrize("code", CAUSES)
def test_the_repaired_input_hits_what_was_promised(code: str) -> None:
    bad, good = diagnosed(code, "bad"), diagnosed(code, "good")
    if code == "below-block":
        assert bad.hit_rate_if_fixed == bad.hit_rate == 0
    elif code in ("routing", "expired"):
        assert bad.hit_rate == good.hit_rate  # simulated: what the server reported is not in it
        assert sum(site.lost_tokens for site in bad.call_sites) > 0
    else:
        assert bad.hit_rate + 0.02 < good.hit_rate
        assert bad.hit_rate_if_fixed > bad.hit_rate + 0.02


@pytest.mark.parametrize("code", CAUSES)
def test_the_report_is_the_golden_one(code: str) -> None:
    golden = HERE / code / "report.txt"
    text = report(diagnosed(code, "bad"))
    if UPDATE:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "KEEPWARM_UPDATE_GOLDEN=1 rewrites it; read the change"


@pytest.mark.parametrize("code", BUILDERS)
def test_the_files_are_those_that_the_script_makes(code: str) -> None:
    kept = {
        path.name: path.read_text(encoding="utf-8")
        for path in (HERE / code).iterdir()
        if path.name != "report.txt"
    }
    assert kept == files_of(code), "python -m tests.diagnose.rules.make rewrites them"


def test_every_cause_has_its_inputs() -> None:
    folders = {path.name for path in HERE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert set(BUILDERS) == set(CAUSES), "BUILDERS in tests/diagnose/rules/make.py needs a pair per cause"
    assert folders == set(BUILDERS), "python -m tests.diagnose.rules.make writes them"


@pytest.mark.parametrize("rule", CAUSES.values(), ids=CAUSES)
class TestConformance:
    def test_it_says_what_it_is(self, rule: type[Rule]) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.code)
        assert isinstance(rule.owner, Owner)
        assert rule.summary
        assert not rule.summary.endswith(".")
        assert "\n" not in rule.summary
        assert rule.suggestion.endswith(".")
        assert "  " not in rule.suggestion
        assert len(rule.suggestion) > 30

    def test_its_docstring_is_a_page(self, rule: type[Rule]) -> None:
        page = rule.__doc__ or ""
        places = [page.find(section) for section in SECTIONS]
        assert -1 not in places, [section for section in SECTIONS if section not in page]
        assert places == sorted(places)
        assert page.splitlines()[0].endswith(".")
        named = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", page[places[-1] :])
        assert set(named) <= set(CAUSES)
        assert rule.code not in named

    def test_its_owner_says_whether_it_is_fixable(self, rule: type[Rule]) -> None:
        assert rule.fixable() is (rule.owner in (Owner.APP, Owner.MODEL))

    def test_it_has_no_state(self, rule: type[Rule]) -> None:
        assert vars(rule()) == {}


def test_the_rules_of_the_design_are_there(shared: Path) -> None:
    """In its order, with its owners and words; a cause that it does not have may stand anywhere."""
    table = re.findall(
        r"^\| ([a-z-]+) \| (app|model|template|engine) \| (.+) \|$",
        (shared / "DESIGN.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(table) > 20
    designed = [code for code, _, _ in table]
    assert [code for code in CAUSES if code in designed] == designed
    for code, owner, meaning in table:
        assert CAUSES[code].owner.value == owner
        first_words = CAUSES[code].summary.split()[:2]
        assert meaning.split()[:2] == first_words, (code, meaning)


def test_a_rule_is_registered_under_its_own_code() -> None:
    assert all(rule.code == code for code, rule in CAUSES.items())
    assert len(set(CAUSES.values())) == len(CAUSES)


@pytest.mark.parametrize("code", ["clock", "moving-block", "tool-set", "template-history"])
def test_a_second_pair_of_eyes_sees_the_same(code: str) -> None:
    assert report(diagnose(str(HERE / code / "bad.jsonl"), options(code))) == report(diagnosed(code, "bad"))
