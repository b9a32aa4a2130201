"""Diagnoses as the views ask for them: pages, filters, the map, one request, and what is masked."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from starlette.testclient import TestClient

from keepwarm.api.diagnoses.break_map import break_map, grouped
from keepwarm.api.diagnoses.columns import RequestColumns, Wanted
from keepwarm.diagnose.findings import Evidence, RequestRow
from keepwarm.diagnose.prompt_map import FATES, SECTIONS
from keepwarm.diagnose.report.map_file import read_map
from keepwarm.diagnose.report.reading import read_request_table, read_requests
from tests.api.calling import client, ids, problem
from tests.api.made import SECRET, finding, row, save

ROWS = (
    row(0, cold=40, session="s-1", time_s=5.0),
    row(1, hit=16, diverged=20, session="s-2", time_s=3.0, causes=("identity", "clock"), call_site="site-2"),
    row(2, hit=32, partial=4, session="s-1", time_s=None, causes=("clock",)),
    row(3, evicted=64, id="Other", session="s-2", time_s=1.0, call_site="site-2"),
    row(4, hit=64, forced=16, session="s-1", time_s=2.0, cached_tokens=16),
)


def opened(folder: Path, **settings: Any) -> tuple[TestClient, str]:
    """A client and the address of the only diagnosis in ``folder``."""
    caller = client(folder, **settings)
    (id_,) = ids(caller, "diagnosis")
    return caller, f"/api/diagnoses/{id_}"


def asked(caller: TestClient, at: str, **query: Any) -> list[int]:
    """Indices of the requests answered."""
    answer = caller.get(f"{at}/requests", params=query)
    assert answer.status_code == 200, answer.text
    return [each["index"] for each in answer.json()["requests"]]


@pytest.fixture
def saved(tmp_path: Path) -> tuple[TestClient, str]:
    save(tmp_path, ROWS)
    return opened(tmp_path)


def test_filters(saved: tuple[TestClient, str]) -> None:
    assert asked(*saved, call_site="site-2") == [3, 1]
    assert asked(*saved, session="s-1") == [4, 0, 2]
    assert asked(*saved, cause="clock") == [1, 2]
    assert asked(*saved, cause="identity", call_site="site-1") == []
    assert asked(*saved, fate="evicted") == [3]
    assert asked(*saved, text="OTHER") == [3]
    assert asked(*saved, text="quest-") == [4, 1, 0, 2]
    assert asked(*saved, text=".*") == []
    assert (
        asked(*saved, call_site="none") == asked(*saved, session="none") == asked(*saved, cause="none") == []
    )


def test_orders(saved: tuple[TestClient, str]) -> None:
    assert asked(*saved) == [3, 4, 1, 0, 2]  # without a time: last
    assert asked(*saved, order="lost") == [
        3,
        4,
        1,
        0,
        2,
    ]  # 64 evicted, 48 short of the simulation, 20 diverged
    assert asked(*saved, order="prompt") == [4, 3, 0, 1, 2]
    assert asked(*saved, order="hit_rate") == [3, 0, 1, 4, 2]


def test_pages(saved: tuple[TestClient, str]) -> None:
    caller, at = saved
    answer = caller.get(f"{at}/requests", params={"offset": 1, "limit": 2}).json()
    assert ([each["index"] for each in answer["requests"]], answer["total"]) == ([4, 1], 5)
    answer = caller.get(f"{at}/requests", params={"offset": 9_999_999}).json()
    assert (answer["requests"], answer["total"]) == ([], 5)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"limit": "1001"}, "'limit' is '1001'"),
        ({"offset": "-1"}, "'offset' is '-1'"),
        ({"order": "sideways"}, "'order' is 'sideways'"),
        ({"fate": "warm"}, "'fate' is 'warm'"),
        ({"text": "x" * 201}, "'text' is 'xxx"),
    ],
)
def test_a_wrong_parameter_is_named(saved: tuple[TestClient, str], query: dict[str, str], said: str) -> None:
    caller, at = saved
    assert said in problem(caller.get(f"{at}/requests", params=query), 422)


names = st.sampled_from(["a", "b", "c"])
rows_strategy = st.lists(
    st.builds(
        lambda fates, session, site, time_s, causes: (fates, session, site, time_s, causes),
        st.tuples(*[st.integers(0, 50)] * 6).filter(any),
        names,
        names,
        st.none() | st.integers(0, 5).map(float),
        st.lists(names, unique=True, max_size=2).map(tuple),
    ),
    max_size=20,
)


def made(specs: list[Any]) -> tuple[RequestRow, ...]:
    return tuple(
        row(
            index,
            session=session,
            call_site=site,
            time_s=time_s,
            causes=causes,
            **dict(zip(FATES, fates, strict=True)),
        )
        for index, (fates, session, site, time_s, causes) in enumerate(specs)
    )


@hypothesis.given(rows_strategy, names, names, names, st.sampled_from(FATES))
@hypothesis.settings(max_examples=40, deadline=None)
def test_columns_say_what_the_rows_say(
    tmp_path_factory: pytest.TempPathFactory, specs: list[Any], site: str, session: str, cause: str, fate: Any
) -> None:
    folder, rows = tmp_path_factory.getbasetemp() / "columns", made(specs)
    save(folder, rows)
    columns = RequestColumns(read_request_table(folder / "requests.parquet"))
    assert columns.rows(np.arange(len(rows))) == read_requests(folder / "requests.parquet") == rows
    expected = {
        Wanted(): rows,
        Wanted(call_site=site): [each for each in rows if each.call_site == site],
        Wanted(session=session, cause=cause): [
            each for each in rows if each.session == session and cause in each.causes
        ],
        Wanted(fate=fate): [each for each in rows if getattr(each.tokens, fate)],
    }
    for wanted, kept in expected.items():
        assert columns.select(wanted).tolist() == [each.index for each in kept]
    everything = columns.select(Wanted())
    in_time = [
        each.index for each in sorted(rows, key=lambda each: (each.time_s is None, each.time_s or 0.0))
    ]
    assert columns.ordered(everything, "time").tolist() == in_time
    by_prompt = sorted(in_time, key=lambda index: -rows[index].tokens.prompt)
    assert columns.ordered(everything, "prompt").tolist() == by_prompt
    for name, tokens in columns.tokens_by_site().items():
        mine = [each.tokens for each in rows if each.call_site == name]
        assert tokens.prompt == sum(each.prompt for each in mine)
        assert tokens.cold == sum(each.cold for each in mine)


@hypothesis.given(
    rows_strategy, st.sampled_from(["time", "call_site", "session"]), st.integers(0, 8), st.integers(1, 8)
)
@hypothesis.settings(max_examples=40, deadline=None)
def test_the_map_adds_up_to_the_fates(
    tmp_path_factory: pytest.TempPathFactory, specs: list[Any], group: Any, offset: int, limit: int
) -> None:
    folder, rows = tmp_path_factory.getbasetemp() / "map", made(specs)
    save(folder, rows)
    columns = RequestColumns(read_request_table(folder / "requests.parquet"))
    order = grouped(columns, columns.select(Wanted()), group)
    told = break_map(columns, read_map(folder / "map.parquet"), order, slice(offset, offset + limit))
    shown = [rows[index] for index in told.index]
    assert (told.total, len(shown)) == (len(rows), max(0, min(limit, len(rows) - offset)))
    assert told.most_prompt_tokens == max((each.tokens.prompt for each in rows), default=0)
    assert [told.sessions[number] for number in told.session] == [each.session for each in shown]
    assert [told.call_sites[number] for number in told.call_site] == [each.call_site for each in shown]
    assert [told.causes[number] if number >= 0 else None for number in told.cause] == [
        next(iter(each.causes), None) for each in shown
    ]
    assert (told.id, told.time_s) == ([each.id for each in shown], [each.time_s for each in shown])
    assert all(names == list(dict.fromkeys(names)) for names in (told.sessions, told.call_sites, told.causes))
    at = 0
    for each, runs in zip(shown, told.fate_runs, strict=True):
        ends = told.fate_end[at : at + runs]
        counts = dict.fromkeys(FATES, 0)
        for code, (start, end) in zip(told.fate[at : at + runs], pairwise([0, *ends]), strict=True):
            counts[FATES[code]] += end - start
        assert counts == {name: getattr(each.tokens, name) for name in FATES}
        at += runs
    assert at == len(told.fate) == len(told.fate_end)
    assert sum(told.section_runs) == len(told.section) == len(told.section_end)
    if group != "time":
        keys = [getattr(rows[index], group) for index in order.tolist()]
        assert len(dict.fromkeys(keys)) == 1 + sum(a != b for a, b in pairwise(keys)) if keys else not rows


def test_the_map_of_the_example(results: Path) -> None:
    caller = client(results)
    id_ = ids(caller, "diagnosis")[0]
    told = caller.get(f"/api/diagnoses/{id_}").json()
    shown = caller.get(f"/api/diagnoses/{id_}/map").json()
    assert (told["has_map"], told["has_templates"], told["why_not"]) == (True, True, None)
    assert shown["total"] == told["diagnosis"]["input"]["requests"] == len(shown["index"])
    assert sum(shown["prompt_tokens"]) == told["diagnosis"]["tokens"]["prompt"]
    assert set(shown["section"]) <= set(range(len(SECTIONS)))
    one_site = told["diagnosis"]["call_sites"][0]
    only = caller.get(f"/api/diagnoses/{id_}/map", params={"call_site": one_site["id"]}).json()
    assert (only["total"], only["call_sites"]) == (one_site["requests"], [one_site["id"]])
    for site in told["diagnosis"]["call_sites"]:
        template = caller.get(f"/api/diagnoses/{id_}/templates/{site['id']}").json()
        assert template["call_site"] == site["id"]


def test_the_leaderboard_of_the_example(results: Path) -> None:
    caller = client(results)
    id_ = ids(caller, "diagnosis")[0]
    told = caller.get(f"/api/diagnoses/{id_}").json()["diagnosis"]
    sites = caller.get(f"/api/diagnoses/{id_}/call-sites").json()["call_sites"]
    assert [site["lost_tokens"] for site in sites] == sorted((s["lost_tokens"] for s in sites), reverse=True)
    assert {f["id"] for site in sites for f in site["findings"]} == {f["id"] for f in told["findings"]}
    for fate in ("prompt", *FATES):
        assert sum(site["tokens"][fate] for site in sites) == told["tokens"][fate]
    for site in sites:
        assert site["hit_rate"] == pytest.approx(site["tokens"]["hit"] / site["tokens"]["prompt"], abs=1e-6)
        assert site["hit_rate"] <= site["hit_rate_if_fixed"] <= 1


def test_the_rate_if_fixed(tmp_path: Path) -> None:
    rows = (row(0, hit=50, diverged=50),)
    findings = (
        finding("F1", recoverable_tokens=30, added_tokens=20),
        finding("F2", cause="routing", recoverable_tokens=99),  # the simulation hits already
        finding("F3", call_site="site-9", recoverable_tokens=99),
    )
    save(tmp_path, rows, findings)
    caller, at = opened(tmp_path)
    (site,) = caller.get(f"{at}/call-sites").json()["call_sites"]
    assert site["hit_rate_if_fixed"] == pytest.approx((50 + 30) / (100 + 20), abs=1e-6)
    assert [each["id"] for each in site["findings"]] == ["F2", "F1"]


def test_one_request(tmp_path: Path) -> None:
    rows = (
        row(0, cold=40, id="same"),
        row(1, cold=40, id="same"),
        row(
            2,
            hit=4,
            diverged=36,
            baseline_request="same",
            break_token=4,
            break_byte=20,
            break_before="You write to ",
            break_here="Ann now",
            break_here_tokens=(3, 4),
            break_there=SECRET,
            causes=("identity",),
        ),
        row(3, cold=4, id="same"),
    )
    save(tmp_path, rows, (finding("F1"), finding("F2", cause="clock"), finding("F3", call_site="site-2")))
    caller, at = opened(tmp_path, revealed=True)
    told = caller.get(f"{at}/requests/2").json()
    assert told["baseline"]["index"] == 1  # the nearest one in front
    assert [each["id"] for each in told["findings"]] == ["F1"]
    assert [each["text"] for each in told["here"]] == ["Ann", " now"]
    assert (told["there"], told["break_byte"]) == ([{"text": SECRET, "masked": False}], 20)
    assert "no request 4" in problem(caller.get(f"{at}/requests/4"), 404)
    problem(caller.get(f"{at}/requests/-1"), 422)
    problem(caller.get(f"{at}/requests/99999999999999999999"), 422)


EVERYTHING = ("", "/call-sites", "/requests", "/requests/1", "/map")


def with_a_secret(folder: Path, *, revealed: bool) -> None:
    rows = (
        row(0, cold=40),
        row(1, hit=4, diverged=36, break_here=f"{SECRET} and more", causes=("identity",)),
    )
    shown = finding(
        suggestion=f"Put {SECRET} last.", evidence=Evidence(before="x ", values=(SECRET, "other-value"))
    )
    save(folder, rows, (shown,), revealed=revealed)


@pytest.mark.parametrize("part", EVERYTHING)
def test_values_are_masked_on_read(tmp_path: Path, part: str) -> None:
    with_a_secret(tmp_path, revealed=True)
    caller, at = opened(tmp_path)
    answer = caller.get(at + part)
    assert answer.status_code == 200
    assert SECRET not in answer.text
    assert SECRET not in caller.get("/api/overview").text
    if part == "":
        assert (answer.json()["revealed"], answer.json()["saved_masked"]) == (False, False)


def test_values_are_shown_to_who_asked_for_it(tmp_path: Path) -> None:
    with_a_secret(tmp_path, revealed=True)
    caller, at = opened(tmp_path, revealed=True)
    assert caller.get(at).json()["revealed"] is True
    for part in ("", "/call-sites", "/requests", "/requests/1"):
        assert SECRET in caller.get(at + part).text


def test_what_was_saved_masked_is_said_to_be(tmp_path: Path) -> None:
    save(tmp_path, ROWS, revealed=False)
    told = opened(tmp_path, revealed=True)
    answer = told[0].get(told[1]).json()
    assert (answer["revealed"], answer["saved_masked"]) == (False, True)


def test_a_diagnosis_without_its_requests(tmp_path: Path) -> None:
    save(tmp_path, ROWS, (finding(recoverable_tokens=20),))
    (tmp_path / "requests.parquet").unlink()
    caller, at = opened(tmp_path)
    told = caller.get(at).json()
    assert (told["has_map"], told["has_templates"], told["can_resimulate"]) == (False, False, False)
    assert "trace" in told["why_not"]
    for part in ("/requests", "/requests/0", "/map"):
        assert "'requests.parquet' is not beside" in problem(caller.get(at + part), 404)
    sites = caller.get(f"{at}/call-sites").json()["call_sites"]
    assert [site["tokens"] for site in sites] == [None, None]
    assert sites[1]["hit_rate_if_fixed"] == pytest.approx((96 + 20) / sites[1]["prompt_tokens"])


@pytest.mark.parametrize("name", ["requests.parquet", "map.parquet"])
@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" * 100])
def test_a_broken_companion_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    save(tmp_path, ROWS)
    (tmp_path / name).write_bytes(content)
    caller, at = opened(tmp_path)
    problem(caller.get(f"{at}/map"), 422)


def test_a_map_of_other_requests_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "other", ROWS[:3])
    save(tmp_path / "mine", ROWS)
    (tmp_path / "other" / "map.parquet").replace(tmp_path / "mine" / "map.parquet")
    (tmp_path / "other" / "diagnosis.json").unlink()
    caller, at = opened(tmp_path)
    assert "of another diagnosis" in problem(caller.get(f"{at}/map"), 422)


def test_a_companion_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    save(tmp_path / "outside", ROWS)
    save(tmp_path / "root", ROWS)
    (tmp_path / "root" / "requests.parquet").unlink()
    (tmp_path / "root" / "requests.parquet").symlink_to(tmp_path / "outside" / "requests.parquet")
    caller, at = opened(tmp_path / "root")
    problem(caller.get(f"{at}/requests"), 404)


def test_written_again_it_is_read_again(tmp_path: Path) -> None:
    save(tmp_path, ROWS)
    caller, at = opened(tmp_path)
    assert len(asked(caller, at)) == 5
    save(tmp_path, ROWS[:2])
    assert len(asked(caller, at)) == 2


def test_hostile_text_comes_as_text(tmp_path: Path) -> None:
    hostile = '<script>alert(1)</script>\x1b[2J\u202e😀"\\ \u2028'
    save(tmp_path, (row(0, cold=4, id=hostile, session=hostile, call_site=hostile),))
    caller, at = opened(tmp_path, revealed=True)
    answer = caller.get(f"{at}/requests", params={"session": hostile, "call_site": hostile, "text": hostile})
    assert answer.headers["content-type"] == "application/json"
    (told,) = answer.json()["requests"]
    assert (told["id"], told["session"]) == (hostile, hostile)


def test_a_trace_that_was_changed_cannot_be_simulated(tmp_path: Path) -> None:
    save(tmp_path, ROWS)
    (tmp_path / "trace.jsonl").write_text("{}")
    caller, at = opened(tmp_path)
    assert "no longer the trace" in caller.get(at).json()["why_not"]
