"""The list, the overview and the simulations; and what an answer is when something is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepwarm.api.contract import reply
from keepwarm.api.library.library import Library
from keepwarm.api.server import served_app
from keepwarm.api.settings import Settings
from tests.api.calling import AUTHORITY, PORT, TOKEN, client, ids, problem, visitor
from tests.api.made import finding, row, save


def test_the_server_says_what_it_serves(tmp_path: Path) -> None:
    told = client(tmp_path, revealed=True).get("/api/server").json()
    assert (told["name"], told["revealed"]) == (tmp_path.name, True)


def test_a_page_of_results(results: Path) -> None:
    caller = client(results)
    whole = caller.get("/api/results").json()
    page = caller.get("/api/results", params={"offset": 2, "limit": 3}).json()
    assert page == {"items": whole["items"][2:5], "total": whole["total"]}
    assert len(ids(caller, "verdict")) == 9
    assert "'kind' is 'nothing'" in problem(caller.get("/api/results", params={"kind": "nothing"}), 422)


def test_an_empty_folder(tmp_path: Path) -> None:
    caller = client(tmp_path)
    assert caller.get("/api/results").json() == {"items": [], "total": 0}
    overview = caller.get("/api/overview").json()
    assert overview == dict.fromkeys(("diagnosis", "worst", "measured", "behaviour", "canary"))


def test_the_overview_of_the_example(results: Path) -> None:
    caller = client(results)
    told = caller.get("/api/overview").json()
    newest = ids(caller, "diagnosis")[0]
    sites = caller.get(f"/api/diagnoses/{newest}/call-sites").json()["call_sites"]
    best = sites[0]["findings"][0]
    assert told["diagnosis"] == newest
    assert told["worst"] == {
        "call_site": sites[0]["id"],
        "call_site_name": sites[0]["name"],
        "lost_tokens": sites[0]["lost_tokens"],
        "hit_rate": sites[0]["hit_rate"],
        "hit_rate_if_fixed": sites[0]["hit_rate_if_fixed"],
        "finding": best["id"],
        **{
            key: best[key]
            for key in ("cause", "owner", "path", "token_offset", "recoverable_tokens", "suggestion")
        },
    }
    comparison = json.loads((results / "loop/replays/first-uses/comparison/comparison.json").read_text())
    assert told["measured"] == {
        "comparison": ids(caller, "comparison")[0],
        "hit_rate_before": comparison["hit_rate"]["before"]["value"],
        "hit_rate_after": comparison["hit_rate"]["after"]["value"],
        "ttft_ratio": comparison["ttft"]["ratio"]["value"],
        "ttft_ratio_low": comparison["ttft"]["ratio"]["low"],
        "ttft_ratio_high": comparison["ttft"]["ratio"]["high"],
        "complete": True,
        "same_trace": False,
    }
    behaviour = told["behaviour"]
    # Four rounds, each with the repair and a deliberate bad fix, and a repair with a changed answer.
    assert [behaviour[key] for key in ("passed", "failed", "needing_approval")] == [4, 4, 1]
    assert behaviour["waiting"] == [behaviour["latest"]]
    assert told["canary"] == ids(caller, "canary")[0]


def test_the_overview_of_the_diagnosis_asked_for(results: Path) -> None:
    caller = client(results)
    other = ids(caller, "diagnosis")[-1]
    assert caller.get("/api/overview", params={"diagnosis": other}).json()["diagnosis"] == other
    problem(caller.get("/api/overview", params={"diagnosis": "f" * 12}), 404)
    problem(caller.get("/api/overview", params={"diagnosis": "../x"}), 422)


def test_only_the_newest_verdict_of_an_attempt_counts(tmp_path: Path, results: Path) -> None:
    for number, (name, head, outcome) in enumerate(
        [
            ("old", "a", "needs-approval"),
            ("new", "a", "pass"),
            ("other", "b", "fail"),
            ("last", "c", "needs-approval"),
        ]
    ):
        document = {
            "schema": "keepwarm.verdict/1",
            "outcome": outcome,
            "task_id": "t-1",
            "head": head,
            "cause": "clock",
            "inputs": {},
        }
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document))
        os.utime(path, (number, number))
    caller = client(tmp_path)
    told = caller.get("/api/overview").json()["behaviour"]
    newest = ids(caller, "verdict")[0]
    assert told == {"passed": 1, "failed": 1, "needing_approval": 1, "latest": newest, "waiting": [newest]}


def test_a_broken_newest_diagnosis_does_not_hide_the_others(tmp_path: Path) -> None:
    save(tmp_path / "fine", (row(0, diverged=16, hit=16),), (finding(),))
    (tmp_path / "broken.json").write_text('{"schema": "keepwarm.diagnosis/1"')
    caller = client(tmp_path)
    broken, fine = caller.get("/api/results").json()["items"]
    assert (broken["problem"] is None, fine["problem"]) == (False, None)
    assert caller.get("/api/overview").json()["diagnosis"] == fine["id"]
    assert problem(caller.get(f"/api/diagnoses/{broken['id']}"), 422) == broken["problem"]


def test_nothing_lost_is_no_worst_loss(tmp_path: Path) -> None:
    save(tmp_path, (row(0, hit=16),))
    told = client(tmp_path).get("/api/overview").json()
    assert (told["diagnosis"] is None, told["worst"]) == (False, None)


def test_simulations_are_served_as_they_were_written(results: Path) -> None:
    caller = client(results)
    library = Library(results, revealed=False)
    for kind, at in [
        ("cache-simulation", "/api/cache-simulations"),
        ("serving-simulation", "/api/serving-simulations"),
        ("timeline", "/api/timelines"),
    ]:
        for id_ in ids(caller, kind):
            answer = caller.get(f"{at}/{id_}")
            assert answer.status_code == 200, answer.text
            written = json.loads(library.find(id_, kind).read())  # type: ignore[arg-type]
            told = answer.json()
            assert all(told[key] == written[key] for key in written.keys() & told.keys())
            assert written.keys() - told.keys() <= {"schema"}


def test_a_result_of_another_kind_is_none(results: Path) -> None:
    caller = client(results)
    (canary,) = ids(caller, "canary")
    assert "there is no timeline" in problem(caller.get(f"/api/timelines/{canary}"), 404)


@pytest.mark.parametrize(
    "path",
    ["/api/timelines/x", "/api/timelines/..%2f..%2fetc", "/api/timelines/FFFFFFFFFFFF", "/api/tasks/%00"],
)
def test_an_id_is_an_id(results: Path, path: str) -> None:
    answer = client(results).get(path)
    assert answer.status_code in (404, 422)
    problem(answer, answer.status_code)


def test_wrong_addresses_and_methods(tmp_path: Path) -> None:
    caller = client(tmp_path)
    assert "there is no '/api/x'" in problem(caller.get("/api/x"), 404)
    problem(caller.get("/api/server/"), 404)
    answer = caller.put("/api/server", headers={"content-type": "application/json"}, content=b"{}")
    assert "it takes GET" in problem(answer, 405)
    assert answer.headers["allow"] == "GET"


def test_a_bug_is_one_line_there_and_one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("Wilhelmina, and other recorded values")

    monkeypatch.setattr(Library, "items", broken)
    said: list[str] = []
    caller = visitor(tmp_path, said=said)
    caller.headers["authorization"] = f"Bearer {TOKEN}"
    line = problem(caller.get("/api/results"), 500)
    assert "ValueError" in line
    assert len(said) == 1
    assert "test_results.py" in said[0]
    assert "Wilhelmina" not in line + said[0]


def test_who_goes_away_while_sending_is_no_bug(tmp_path: Path) -> None:
    said: list[str] = []
    app = served_app(Settings(root=tmp_path, token=TOKEN), PORT, said.append)
    headers = {"host": AUTHORITY, "authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    arriving: list[dict[str, Any]] = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> dict[str, Any]:
        return arriving.pop() if arriving else {"type": "http.disconnect"}

    async def send(_message: Any) -> None:
        raise OSError("the connection is closed")

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/verdicts/000000000000/approvals",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    assert said == []


def test_what_json_cannot_hold() -> None:
    body = reply({"nan": float("nan"), "inf": [float("-inf")], "text\ud800": "\udfff", "fine": "ä"}).body
    assert json.loads(bytes(body)) == {"nan": None, "inf": [None], "text\\ud800": "\\udfff", "fine": "ä"}


def test_a_folder_that_goes_away(tmp_path: Path) -> None:
    folder = tmp_path / "results"
    save(folder, (row(0, hit=16),))
    caller: TestClient = client(folder)
    (id_,) = ids(caller, "diagnosis")
    shutil.rmtree(folder)
    problem(caller.get(f"/api/diagnoses/{id_}"), 404)
    assert ids(caller, "diagnosis") == []
