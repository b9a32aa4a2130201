"""What `keepwarm diagnose` says of the recorded day, against the table of the example's README."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

# First words of each call site's prompt: the name a diagnosis gives it.
_NAMES = {
    "triage": "You sort the messages",
    "articles": "Help-centre articles",
    "resolve": "You work on cases",
    "reply": "You write letters",
}


@pytest.fixture(scope="module")
def diagnosis(traffic_file):
    ended = subprocess.run(
        [sys.executable, "-m", "keepwarm", "diagnose", str(traffic_file), "--json"],
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def table(traffic_file):
    """Rows of the README's table of defects: call site, cause, path of the first slot."""
    readme = (traffic_file.parent / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| `([a-z-]+)` \|.*\| `([^`|]+)` \|$", readme, re.MULTILINE)
    assert len(rows) == 5
    return rows


@pytest.fixture(scope="module")
def site_ids(diagnosis):
    names = {site["id"]: site["name"] for site in diagnosis["call_sites"]}
    return {
        ours: next(site for site, name in names.items() if name.startswith(start))
        for ours, start in _NAMES.items()
    }


def test_the_four_call_sites_are_found_with_all_their_requests(diagnosis, site_ids, by_call_site):
    requests = {site["id"]: site["requests"] for site in diagnosis["call_sites"]}
    assert requests == {site_ids[name]: len(records) for name, records in by_call_site.items()}


def test_every_row_of_the_table_is_a_finding(diagnosis, site_ids, table):
    for call_site, cause, path in table:
        found = [
            finding
            for finding in diagnosis["findings"]
            if finding["call_site"] == site_ids[call_site] and finding["cause"] == cause
        ]
        assert len(found) == 1, (call_site, cause)
        assert found[0]["owner"] == "app"
        assert found[0]["path"].startswith(path)
        assert found[0]["recoverable_tokens"] > 0


def test_the_leading_finding_of_each_call_site_is_in_the_table(diagnosis, site_ids, table):
    expected = {(site_ids[call_site], cause) for call_site, cause, _ in table}
    leading = {}
    for finding in diagnosis["findings"]:  # most recoverable first
        leading.setdefault(finding["call_site"], finding["cause"])
    assert leading.keys() == set(site_ids.values())
    assert set(leading.items()) <= expected
