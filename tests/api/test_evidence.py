"""Evidence over the API: every committed document, what is covered, and the approval of a changed output."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from typer.testing import CliRunner

from keepwarm._json import to_json
from keepwarm.api.library.library import result_id
from keepwarm.api.schema.evidence import ComparisonAnswer, ReplayRows, VerdictAnswer
from keepwarm.canary.options import TtftBudget, TuneOptions
from keepwarm.canary.record import canary_document, canary_from
from keepwarm.canary.tune import TuningRecord, run_tuning, tuning_document, tuning_from
from keepwarm.cli import causes, verify
from keepwarm.cli.boundary import Boundary
from keepwarm.evidence.folder import write_folder
from keepwarm.guard.approvals import is_blank
from keepwarm.guard.verdict import digest_holds
from keepwarm.replay.measuring.rows import rows_from_parquet, rows_to_parquet
from scripts.results import verification
from tests.api.calling import client, problem
from tests.canary.fakes import Bench, FakeAdapter, baseline_run, candidate_run
from tests.guard.building import Loop, a_loop, golden_case, write_golden

app = typer.Typer(cls=Boundary, pretty_exceptions_enable=False)
app.command("verify")(verify.command)
app.command("causes")(causes.command)  # one command alone would be the program itself

REPLAYS = "loop/replays/first-uses"
SAID = "Refund of C-1 is approved for jane.roe@example.org."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """All evidence that is committed. Not to be changed."""
    root = tmp_path_factory.mktemp("evidence")
    shutil.copytree(repository / "examples" / "helpdesk" / "evidence", root / "loop")
    shutil.copytree(repository / "bench" / "canary", root / "canary")
    return root


@pytest.fixture(scope="module")
def caller(folder: Path) -> Iterator[TestClient]:
    with client(folder) as made:
        yield made


def paths(kind: str, folder: Path, name: str) -> list[str]:
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob(name))
    assert found, f"no {kind} is committed"
    return found


def got(caller: TestClient, path: str, **params: Any) -> Any:
    answer = caller.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_every_committed_document_is_served_as_it_stands(caller: TestClient, folder: Path) -> None:
    for kind, name, inner in (
        ("tasks", "task.json", "task"),
        ("replays", "run.json", "run"),
        ("comparisons", "comparison.json", "comparison"),
    ):
        for path in paths(kind, folder, name):
            document = json.loads((folder / path).read_bytes())
            answer = got(caller, f"/api/{kind}/{result_id(path)}")
            assert answer["id"] == result_id(path)
            assert without_nulls(answer[inner]) == without_nulls(document)


def without_nulls(value: Any) -> Any:
    """What an earlier version did not write, and this one answers as null or empty, aside."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item not in (None, "", [], {})}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def test_every_committed_verdict_is_served_with_its_digest(caller: TestClient, folder: Path) -> None:
    for path in paths("verdicts", folder, "verdict.json"):
        document = json.loads((folder / path).read_bytes())
        answer = got(caller, f"/api/verdicts/{result_id(path)}")
        assert (answer["digest"], answer["digest_holds"]) == (document["digest"], True)
        assert answer["verdict"]["outcome"] == document["outcome"]
        assert [a["problems"] for a in answer["verdict"]["answers"]] == [
            a["problems"] for a in document["answers"]
        ]
        assert (answer["outputs"], answer["approvals"], answer["problem"]) == ([], [], None)
        assert answer["approvals_path"] == path.replace("verdict.json", "approvals.json")


def test_records_of_canaries_come_back_from_their_documents(caller: TestClient, folder: Path) -> None:
    content = (folder / "canary" / "canary.json").read_bytes()
    record = canary_from(content, "canary.json")
    assert canary_document(record) == json.loads(content)
    answer = got(caller, f"/api/canaries/{result_id('canary/canary.json')}")
    assert answer["accepted"] is json.loads(content)["accepted"] is True
    assert answer["record"]["identity"]["versions"]["vllm"] == "0.32.0"
    assert answer["record"]["drill"]["passed"] is True


def a_tuning() -> TuningRecord:
    adapter = FakeAdapter()
    runs = [candidate_run(plugin={"rule": rule, "scan_limit": 16}) for rule in ("boundary", "window")]
    return run_tuning(
        adapter,
        TuneOptions(scan_limits=(16,), p95_ttft_budget=TtftBudget(value=2.0, unit="ratio")),
        Bench(adapter, baseline_run(), *runs, baseline_run()).instruments(),
        keep=lambda record: None,
        say=lambda line: None,
    )


def test_records_of_tunings_too(tmp_path: Path) -> None:
    record = a_tuning()
    document = tuning_document(record)
    content = to_json(document)
    assert tuning_document(tuning_from(content, "tuning.json")) == document
    (tmp_path / "tuning.json").write_bytes(content)
    with client(tmp_path) as caller:
        answer = got(caller, f"/api/tunings/{result_id('tuning.json')}")
    assert answer["accepted"] is record.accepted
    assert [trial["scan_limit"] for trial in answer["tuning"]["trials"]] == [16, 16]


@pytest.mark.parametrize(
    "content",
    [
        b'{"schema":"keepwarm.canary/1"}',
        b'{"schema":"keepwarm.canary/1","recorded_at":3}',
        b'{"schema":"keepwarm.canary/1","model":' + b"[" * 100_000,
    ],
)
def test_what_is_no_record_is_one_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "canary.json").write_bytes(content)
    with client(tmp_path) as caller:
        problem(caller.get(f"/api/canaries/{result_id('canary.json')}"), 422)
        problem(caller.get(f"/api/canaries/{result_id('other.json')}"), 404)
        problem(caller.get(f"/api/tunings/{result_id('canary.json')}"), 404)


def test_a_comparison_finds_the_runs_it_is_of(caller: TestClient, folder: Path) -> None:
    answer = msgspec.json.decode(
        caller.get(f"/api/comparisons/{result_id(f'{REPLAYS}/comparison/comparison.json')}").content,
        type=ComparisonAnswer,
    )
    assert answer.before == result_id(f"{REPLAYS}/before/run.json")
    assert answer.after == result_id(f"{REPLAYS}/after/run.json")
    assert (answer.integrity.as_written, answer.integrity.mismatches) == (True, ())
    for side, told in ((answer.before, answer.comparison.before), (answer.after, answer.comparison.after)):
        assert got(caller, f"/api/replays/{side}")["integrity"]["chain_sha256"] == told.chain_sha256


def test_of_copies_the_nearest_run_is_taken_and_none_where_there_is_none(
    tmp_path: Path, folder: Path
) -> None:
    shutil.copytree(folder / REPLAYS, tmp_path / "b" / "here")
    shutil.copytree(folder / REPLAYS / "before", tmp_path / "a" / "copy")
    shutil.rmtree(tmp_path / "b" / "here" / "after")
    with client(tmp_path) as caller:
        answer = got(caller, f"/api/comparisons/{result_id('b/here/comparison/comparison.json')}")
    assert answer["before"] == result_id("b/here/before/run.json")
    assert answer["after"] is None


def test_rows_come_page_by_page(caller: TestClient, folder: Path) -> None:
    run = f"/api/replays/{result_id(f'{REPLAYS}/before/run.json')}/requests"
    everything = rows_from_parquet((folder / REPLAYS / "before" / "requests.parquet").read_bytes())
    pages = [
        msgspec.json.decode(caller.get(run, params={"offset": n, "limit": 25}).content, type=ReplayRows)
        for n in (0, 25, 50, 75)
    ]
    assert [len(page.rows) for page in pages] == [25, 25, 16, 0]
    assert {page.total for page in pages} == {len(everything)}
    served = [row for page in pages for row in page.rows]
    assert served == [msgspec.structs.replace(row, blocks=(), text=None) for row in everything]
    problem(caller.get(run, params={"limit": 0}), 422)
    problem(caller.get(run, params={"offset": -1}), 422)


def test_pairs_by_the_change_of_their_time(caller: TestClient) -> None:
    path = f"/api/comparisons/{result_id(f'{REPLAYS}/comparison/comparison.json')}/pairs"
    recorded = got(caller, path)["pairs"]
    ranked = got(caller, path, order="ttft")["pairs"]
    changes = [abs(pair["after_ttft_s"] - pair["before_ttft_s"]) for pair in ranked]
    assert changes == sorted(changes, reverse=True)
    assert sorted(pair["id"] for pair in ranked) == sorted(pair["id"] for pair in recorded)
    assert got(caller, path, order="ttft", offset=60, limit=3)["pairs"] == ranked[60:63]
    assert got(caller, path, offset=10, limit=2)["pairs"] == recorded[10:12]


def test_texts_are_shown_only_where_values_are(tmp_path: Path, folder: Path) -> None:
    source = folder / REPLAYS / "before"
    rows = rows_from_parquet((source / "requests.parquet").read_bytes())
    told = [
        msgspec.structs.replace(
            row, text="dear jane.roe@example.org", error="no answer to jane.roe@example.org"
        )
        for row in rows[:2]
    ]
    files = {name: (source / name).read_bytes() for name in ("run.json", "evidence.html")}
    write_folder(tmp_path / "run", {**files, "requests.parquet": rows_to_parquet(tuple(told))})
    path = f"/api/replays/{result_id('run/run.json')}/requests"
    with client(tmp_path) as masked:
        answer = masked.get(path)
        assert "jane.roe" not in answer.text
        assert [row["text"] for row in answer.json()["rows"]] == [None, None]
        assert answer.json()["rows"][0]["error"].startswith("no answer to ")
    with client(tmp_path, revealed=True) as open_:
        assert [row["text"] for row in got(open_, path)["rows"]] == ["dear jane.roe@example.org"] * 2


@pytest.mark.parametrize("name", ["run.json", "requests.parquet", "evidence.html", "manifest.json"])
def test_whatever_was_changed_is_named(tmp_path: Path, folder: Path, name: str) -> None:
    shutil.copytree(folder / REPLAYS / "before", tmp_path / "run")
    path = tmp_path / "run" / name
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"label": "', b'"label": "x') if name == "run.json" else content + b" ")
    with client(tmp_path) as caller:
        found = got(caller, f"/api/replays/{result_id('run/run.json')}")["integrity"]
    assert found["as_written"] is False
    assert any(name in line for line in found["mismatches"])
    assert (found["chain_sha256"] is None) == (name == "manifest.json")


def test_rows_that_are_not_there_or_of_another_kind(tmp_path: Path, folder: Path) -> None:
    shutil.copytree(folder / REPLAYS / "before", tmp_path / "run")
    rows = tmp_path / "run" / "requests.parquet"
    path = f"/api/replays/{result_id('run/run.json')}/requests"
    with client(tmp_path) as caller:
        for content in (b"no parquet", (folder / REPLAYS / "comparison" / "pairs.parquet").read_bytes()):
            rows.write_bytes(content)
            problem(caller.get(path), 422)
        rows.unlink()
        assert "there is no 'requests.parquet' beside" in problem(caller.get(path), 404)
        rows.symlink_to(folder / REPLAYS / "before" / "requests.parquet")
        assert "there is no 'requests.parquet' beside" in problem(caller.get(path), 404)
        (tmp_path / "run" / "manifest.json").unlink()
        found = got(caller, f"/api/replays/{result_id('run/run.json')}")["integrity"]
        assert (found["as_written"], found["chain_sha256"]) == (False, None)


# Approvals: a repair with a changed answer, verified by the real command.


class Review:
    """A repair that a person has to look at: ``root`` is what the server serves."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loop: Loop = a_loop(root)
        write_golden(self.loop.golden, golden_case("C-1", after=[{"content": SAID}]))
        (root / "task.json").write_bytes(msgspec.json.encode(self.loop.task))
        self.id = result_id("verdict/verdict.json")
        self.approvals = root / "verdict" / "approvals.json"

    def verify(self, *more: str) -> int:
        given = {
            "repo": self.loop.repository.folder,
            "base": self.loop.repository.base,
            "head": self.loop.head,
            "task": self.root / "task.json",
            "before": self.loop.before,
            "after": self.loop.after,
            "golden": self.loop.golden,
            "tests": "python -c pass",
            "out": self.root / "verdict",
        }
        words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
        return CliRunner().invoke(app, ["verify", *words, *more]).exit_code

    def files(self) -> set[str]:
        return {path.name for path in (self.root / "verdict").iterdir()}


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Review:
    review = Review(tmp_path_factory.mktemp("review"))
    assert review.verify() == 1
    return review


@pytest.fixture
def review(verified: Review) -> Iterator[Review]:
    """The same for every test, without approvals."""
    verdict = verified.root / "verdict"
    before = {path.name: path.read_bytes() for path in verdict.iterdir()}
    yield verified
    shutil.rmtree(verdict)
    verdict.mkdir()
    for name, content in before.items():
        (verdict / name).write_bytes(content)


def waiting(caller: TestClient, review: Review) -> dict[str, str]:
    """The call that approves what waits, but for who and why."""
    (one,) = got(caller, f"/api/verdicts/{review.id}")["outputs"]
    assert one["approval"] is None
    return {name: one["output"][name] for name in ("check", "case", "sha256")}


def test_from_a_changed_output_to_a_verdict_that_passes(review: Review) -> None:
    names = review.files()
    with client(review.root) as caller:
        before = got(caller, f"/api/verdicts/{review.id}")
        assert before["verdict"]["outcome"] == "needs-approval"
        assert before["outputs"][0]["output"]["before"] == [
            {"text": "Refund of C-1 is approved.", "tool_calls": []}
        ]
        call = waiting(caller, review) | {"approver": " R. Okafor ", "reason": "read it, as good as before"}
        answer = caller.post(f"/api/verdicts/{review.id}/approvals", json=call)
        assert answer.status_code == 201
        given = answer.json()["outputs"][0]["approval"]
        assert given == call | {"approver": "R. Okafor"}
        assert answer.json()["approvals"] == [given]
        assert got(caller, f"/api/verdicts/{review.id}") == answer.json()
        assert "approved already" in problem(
            caller.post(f"/api/verdicts/{review.id}/approvals", json=call | {"reason": "once more"}), 409
        )
        where = review.root / answer.json()["approvals_path"]
        assert where == review.approvals
        assert review.files() == names | {"approvals.json"}
        assert stat.S_IMODE(where.stat().st_mode) == 0o600
        assert review.verify("--approve", str(where)) == 0
        after = got(caller, f"/api/verdicts/{review.id}")
        assert after["verdict"]["outcome"] == "pass"
        assert after["digest_holds"] is True
        assert [each["approval"] for each in after["outputs"]] == [given]
        assert after["verdict"]["approvals_used"] == [given]
        review.approvals.unlink()  # the verdict says itself what it took as approved
        assert [each["approval"] for each in got(caller, f"/api/verdicts/{review.id}")["outputs"]] == [given]
        assert "approved already" in problem(
            caller.post(f"/api/verdicts/{review.id}/approvals", json=call), 409
        )


@pytest.mark.parametrize(
    ("change", "status", "says"),
    [
        ({"approver": " \t"}, 422, "approver is empty"),
        ({"reason": ""}, 422, "reason is empty"),
        ({"approver": "x" * 201}, 422, "approver has 201 characters"),
        ({"reason": "x" * 2001}, 422, "reason has 2001 characters"),
        ({"sha256": "0" * 64}, 409, "waits for an approval of another output"),
        ({"case": "C-9"}, 422, "nothing of check 'golden-cases', case 'C-9' waits"),
        ({"check": "content-preserved"}, 422, "nothing of check 'content-preserved'"),
        ({"more": "x"}, 422, "no ApprovalCall"),
        ({"sha256": None}, 422, "no ApprovalCall"),
    ],
)
def test_an_approval_that_would_help_nothing_is_refused(
    review: Review, change: dict[str, Any], status: int, says: str
) -> None:
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"} | change
        names = review.files()
        assert says in problem(caller.post(f"/api/verdicts/{review.id}/approvals", json=call), status)
    assert review.files() == names


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b'{"schema":"keepwarm.approvals/2","approvals":[]}',
        b'{"schema":"keepwarm.approvals/1","approvals":[{"check":"golden-cases"}]}',
        b'{"schema":"keepwarm.approvals/1","approvals":[],"approvals":[]}',
    ],
)
def test_a_broken_file_of_approvals_is_said_and_left_as_it_is(review: Review, content: bytes) -> None:
    review.approvals.write_bytes(content)
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"}
        assert "approvals.json" in problem(
            caller.post(f"/api/verdicts/{review.id}/approvals", json=call), 409
        )
        told = got(caller, f"/api/verdicts/{review.id}")
    assert "approvals.json" in told["problem"]
    assert told["approvals"] == []
    assert review.approvals.read_bytes() == content


@pytest.mark.parametrize("target", ["outside.json", "nowhere.json"])
def test_a_link_in_its_place_is_not_followed(review: Review, tmp_path: Path, target: str) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text('{"schema":"keepwarm.approvals/1","approvals":[]}')
    review.approvals.symlink_to(tmp_path / target)
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"}
        assert "no plain file" in problem(caller.post(f"/api/verdicts/{review.id}/approvals", json=call), 409)
    assert review.approvals.is_symlink()
    assert json.loads(outside.read_text())["approvals"] == []


def test_an_edited_verdict_takes_no_approval(review: Review) -> None:
    path = review.root / "verdict" / "verdict.json"
    document = json.loads(path.read_bytes())
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"}
        document["call_site"] = "site-2"
        path.write_text(json.dumps(document))
        assert not digest_holds(document)
        assert got(caller, f"/api/verdicts/{review.id}")["digest_holds"] is False
        says = problem(caller.post(f"/api/verdicts/{review.id}/approvals", json=call), 409)
    assert "was edited since the guard wrote it" in says
    assert not review.approvals.exists()


@pytest.mark.parametrize("content", [b"[]", b'{"schema":"keepwarm.verdict/1"}', b"{" * 100_000])
def test_what_is_no_verdict_is_one_line(review: Review, content: bytes) -> None:
    path = review.root / "verdict" / "verdict.json"
    deep = json.loads(path.read_bytes()) | {"more": 0}
    with client(review.root) as caller:
        path.write_bytes(json.dumps(deep)[:-2].encode() + b"[" * 50_000 + b"]" * 50_000 + b"}")
        problem(caller.get(f"/api/verdicts/{review.id}"), 422)
        path.write_bytes(content)
        assert caller.get(f"/api/verdicts/{review.id}").status_code in (404, 422)


def test_what_others_approved_is_kept(review: Review) -> None:
    other = {
        "check": "tools-and-roles",
        "case": "site-1, r-1",
        "sha256": "a" * 64,
        "approver": "Ann",
        "reason": "so",
    }
    review.approvals.write_text(json.dumps({"schema": "keepwarm.approvals/1", "approvals": [other]}))
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"}
        answer = caller.post(f"/api/verdicts/{review.id}/approvals", json=call)
    assert answer.json()["approvals"] == [other, call]
    assert json.loads(review.approvals.read_bytes())["approvals"] == [other, call]


def test_of_many_at_once_one_is_written(review: Review) -> None:
    statuses: list[int] = []
    with client(review.root) as caller:
        call = waiting(caller, review) | {"reason": "fine"}

        def post(number: int) -> None:
            answer = caller.post(
                f"/api/verdicts/{review.id}/approvals", json=call | {"approver": f"person {number}"}
            )
            statuses.append(answer.status_code)

        threads = [threading.Thread(target=post, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [201] + [409] * 7
    assert len(json.loads(review.approvals.read_bytes())["approvals"]) == 1
    assert review.files() == {"verdict.json", "verdict.html", "outputs.json", "approvals.json"}


def test_what_cannot_be_written_is_a_conflict_and_leaves_nothing(
    review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    names = review.files()
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": "R", "reason": "fine"}
        monkeypatch.setattr(os, "fsync", full)
        says = problem(caller.post(f"/api/verdicts/{review.id}/approvals", json=call), 409)
    assert "cannot write 'approvals.json' beside the verdict: No space left" in says
    assert review.files() == names


def test_outputs_that_cannot_be_read_are_said(review: Review) -> None:
    path = review.root / "verdict" / "outputs.json"
    with client(review.root) as caller:
        for content in (b"{", b'{"schema":"keepwarm.outputs/2","values_revealed":false,"outputs":[]}'):
            path.write_bytes(content)
            told = got(caller, f"/api/verdicts/{review.id}")
            assert "outputs.json" in told["problem"]
            assert told["outputs"] == []
            assert told["verdict"]["outcome"] == "needs-approval"


def test_outputs_of_another_verdict_are_not_shown(review: Review) -> None:
    path = review.root / "verdict" / "outputs.json"
    document = json.loads(path.read_bytes())
    document["outputs"][0]["sha256"] = "b" * 64
    path.write_text(json.dumps(document))
    with client(review.root) as caller:
        assert got(caller, f"/api/verdicts/{review.id}")["outputs"] == []


def test_what_was_written_revealed_is_covered_again_by_a_server_that_does_not_reveal(review: Review) -> None:
    with client(review.root) as caller:
        masked = got(caller, f"/api/verdicts/{review.id}")
        assert masked["saved_masked"] is True
        assert "jane.roe" not in json.dumps(masked)
    assert review.verify("--reveal") == 1
    with client(review.root) as caller:
        covered = got(caller, f"/api/verdicts/{review.id}")
        assert covered["saved_masked"] is False
        assert "jane.roe" not in json.dumps(covered)
        assert covered["digest_holds"] is True
        whats = [p["what"] for a in covered["verdict"]["answers"] for p in a["problems"]]
        assert whats
        assert all(what.startswith("covered: ") for what in whats)
    with client(review.root, revealed=True) as caller:
        told = got(caller, f"/api/verdicts/{review.id}")
        assert told["outputs"][0]["output"]["after"]["text"] == SAID


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    approver=st.text(min_size=1, max_size=40).filter(lambda text: not is_blank(text)),
    reason=st.text(min_size=1, max_size=200).filter(lambda text: not is_blank(text)),
)
def test_whatever_a_person_writes_comes_back(review: Review, approver: str, reason: str) -> None:
    review.approvals.unlink(missing_ok=True)
    with client(review.root) as caller:
        call = waiting(caller, review) | {"approver": approver, "reason": reason}
        answer = caller.post(
            f"/api/verdicts/{review.id}/approvals",
            content=msgspec.json.encode(call),
            headers={"content-type": "application/json"},
        )
        given = msgspec.json.decode(answer.content, type=VerdictAnswer).approvals
    assert [(one.approver, one.reason) for one in given] == [(approver.strip(), reason.strip())]


@pytest.mark.parametrize(
    "blank", ["\u00a0", "\u200b\u2060", "\u202e", "\x00\x1b", "\u3164", "\u2800", "\u0301"]
)
def test_who_cannot_be_seen_approves_nothing(review: Review, blank: str) -> None:
    signed = {"approver": "R", "reason": "fine"}
    with client(review.root) as caller:
        call = waiting(caller, review)
        for name in signed:
            answer = caller.post(f"/api/verdicts/{review.id}/approvals", json=call | signed | {name: blank})
            assert f"{name} is empty" in problem(answer, 422)
    assert not review.approvals.exists()
    entry = call | signed | {"approver": blank}
    review.approvals.write_text(json.dumps({"schema": "keepwarm.approvals/1", "approvals": [entry]}))
    assert review.verify("--approve", str(review.approvals)) == 2


def test_the_helpdesk_from_what_the_demo_shows_to_a_merge(results: Path, tmp_path: Path) -> None:
    """The real repair, the real guard: approved in the dashboard, then verified with the file it wrote."""
    shutil.copytree(results / "repair", tmp_path / "repair")
    verdict = json.loads((tmp_path / "repair" / "verdict" / "verdict.json").read_bytes())
    with client(tmp_path) as caller:
        path = f"/api/verdicts/{result_id('repair/verdict/verdict.json')}"
        outputs = got(caller, path)["outputs"]
        assert [each["approval"] for each in outputs] == [None] * len(outputs) != []
        for each in outputs:
            call = {name: each["output"][name] for name in ("check", "case", "sha256")}
            answer = caller.post(
                f"{path}/approvals", json=call | {"approver": "R. Okafor", "reason": "as good"}
            )
            assert answer.status_code == 201
        file = tmp_path / answer.json()["approvals_path"]
    words = [*verification(verdict["base"], verdict["head"]), "--approve", str(file)]
    subprocess.run(
        [sys.executable, "-m", "keepwarm", *words], cwd=tmp_path / "repair", capture_output=True, check=True
    )
    with client(tmp_path) as caller:
        after = got(caller, path)
    assert (after["verdict"]["outcome"], after["verdict"]["approvals_unused"]) == ("pass", [])
    assert len(after["verdict"]["approvals_used"]) == len(outputs)
