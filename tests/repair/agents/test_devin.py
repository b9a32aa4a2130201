"""Devin against a server on this machine that misbehaves in every way we could think of."""

from __future__ import annotations

import contextlib
import datetime as dt
import email.utils
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwarm._errors import InputError, ServerError
from keepwarm.repair.agents.base import AgentRun, Assignment, Outcome
from keepwarm.repair.agents.devin import DevinAgent, DevinOptions
from keepwarm.repair.agents.ledger import Entry, Ledger
from keepwarm.repair.agents.run import carry_out
from keepwarm.repair.agents.wire import LostAnswer, NotSent, Refused
from tests.repair.agents.sample import FakeClock, git
from tests.repair.agents.service import (
    KEYS,
    ORGANISATION,
    PULL_REQUEST,
    Script,
    Service,
    finished,
    hang_up,
    status,
    text,
    without_pull_request,
    working,
)
from tests.replay.recorder.stub import Call

AUTHORIZED = "acme/app:F1"


@pytest.fixture(params=["v1", "v3"])
def service(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("DEVIN_API_KEY", KEYS[request.param])
    with Service(request.param) as running:
        yield running


class Caller:
    """Runs the agent, again and again if need be, with one ledger and a clock that does not wait."""

    def __init__(self, service: Service, assignment: Assignment, folder: Path) -> None:
        self.service = service
        self.assignment = assignment
        self.ledger = Ledger(folder)
        self.folder = folder
        self.clock = FakeClock()
        self.said: list[str] = []

    def __call__(self, **options: Any) -> AgentRun:
        given = {
            "authorize": AUTHORIZED,
            "max_acu_limit": 5,
            "organisation": ORGANISATION,
            "api_url": self.service.url,
            "timeout_s": 5.0,
            **options,
        }
        agent = DevinAgent(DevinOptions(**given), self.ledger, self.clock)
        return carry_out(agent, self.assignment, self.said.append)

    def entries(self) -> list[Entry]:
        files = sorted(self.folder.glob("*.json"))
        return [msgspec.json.decode(file.read_bytes(), type=Entry) for file in files]


@pytest.fixture
def devin(service: Service, assignment: Assignment, tmp_path: Path) -> Caller:
    return Caller(service, assignment, tmp_path / "state")


def test_a_pull_request_is_the_result(devin: Caller) -> None:
    version = devin.service.version
    run = devin()
    assert run.outcome is Outcome.DONE
    assert (run.pull_request, run.branch, run.commit) == (PULL_REQUEST, "keepwarm/fix", None)
    assert run.changed_files is None
    assert run.cost_acus == (None if version == "v1" else 2.25)
    assert run.session is not None
    assert run.session.url == "https://app.devin.ai/sessions/1"
    assert devin.entries()[0].session == "devin-1"
    if version == "v1":
        assert run.log_tail[-2] == "Done."
        assert "anna.schmidt" not in str(run)


def test_what_is_sent(devin: Caller) -> None:
    devin()
    (body,) = devin.service.opened
    assert body["max_acu_limit"] == 5
    assert body["title"] == "keepwarm F1: clock"
    assert body["prompt"].startswith(devin.assignment.prompt)
    assert "github.com/acme/app" in body["prompt"]
    assert devin.assignment.base_commit in body["prompt"]
    assert str(devin.assignment.repository) not in json.dumps(body)
    assert len(body["tags"]) == 2
    if devin.service.version == "v1":
        assert body["idempotent"] is True
    else:
        assert body["repos"] == ["acme/app"]
        assert "idempotent" not in body


def test_the_same_call_again_follows_the_same_session(devin: Caller) -> None:
    first = devin()
    assert devin().session == first.session
    assert devin.service.posts() == 1


def test_a_session_is_found_again_without_the_ledger(devin: Caller, tmp_path: Path) -> None:
    devin()
    again = Caller(devin.service, devin.assignment, tmp_path / "elsewhere")
    assert again().outcome is Outcome.DONE
    assert devin.service.posts() == 1


def test_another_attempt_is_another_session(devin: Caller) -> None:
    devin()
    run = devin(attempt=2)
    assert run.session is not None
    assert run.session.id == "devin-2"
    assert len(devin.service.opened) == 2


def test_another_cap_is_refused(devin: Caller, tmp_path: Path) -> None:
    devin()
    with pytest.raises(InputError, match="--max-acu-limit 5, which cannot be changed to 50"):
        devin(max_acu_limit=50)
    again = Caller(devin.service, devin.assignment, tmp_path / "elsewhere")
    with pytest.raises(InputError, match="--max-acu-limit 5, which cannot be changed to 50"):
        again(max_acu_limit=50)
    assert devin.service.posts() == 1


# The answer to the request that opens a session is lost, in each of these ways.
LOST: dict[str, Script] = {
    "hung up": hang_up,
    "500": status(500),
    "502": status(502, b"<html>".hex()),
    "504": status(504),
    "malformed": text(b'{"session_id": "devin-1"'),
    "not an object": text(b'["devin-1"]'),
    "nothing": text(b""),
    "null": text(b"null"),
    "wrong type": text(b'{"session_id": 1}'),
    "no id": text(b'{"url": "https://app.devin.ai/sessions/1"}'),
    "deep": text(b"[" * 100_000),
    "not UTF-8": text(b'{"session_id": "\xff\xfe"}'),
}


@pytest.mark.parametrize("way", LOST)
def test_a_lost_answer_opens_no_second_session(devin: Caller, way: str) -> None:
    devin.service.before["POST"] = [devin.service.opens_and(LOST[way])]
    run = devin()
    assert run.outcome is Outcome.DONE
    assert run.session is not None
    assert run.session.id == "devin-1"
    assert len(devin.service.opened) == 1
    assert devin.service.posts() == 1


def test_a_late_answer_opens_no_second_session(devin: Caller) -> None:
    devin.service.before["POST"] = [devin.service.opens_and(lambda call: call.wait_until_hung_up() and None)]
    run = devin(timeout_s=0.2)
    assert run.outcome is Outcome.DONE
    assert len(devin.service.opened) == 1


@pytest.mark.parametrize("way", ["hung up", "500", "malformed"])
def test_a_lost_answer_and_a_list_that_hides_it(devin: Caller, way: str) -> None:
    """v1 takes the same request twice; of v3 nothing of the kind is documented, so nothing more is sent."""
    devin.service.before["POST"] = [devin.service.opens_and(LOST[way])]
    devin.service.hides_sessions = True
    if devin.service.version == "v1":
        assert devin().outcome is Outcome.DONE
    else:
        for _ in range(2):
            with pytest.raises(ServerError, match="None is opened while that is not certain"):
                devin()
        assert devin.service.posts() == 1
        devin.service.hides_sessions = False
        assert devin().outcome is Outcome.DONE
    assert len(devin.service.opened) == 1


@pytest.mark.parametrize("crash", ["before the request", "after the request", "while looking"])
def test_a_crash_opens_no_second_session(devin: Caller, crash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends at the worst of moments, and the same call is made again."""

    class Crash(BaseException):
        pass

    def crashing(*_: object) -> None:
        raise Crash

    service = devin.service
    with monkeypatch.context() as patched:
        if crash == "before the request":
            patched.setattr("keepwarm.repair.agents.devin_api.V1.open", crashing)
            patched.setattr("keepwarm.repair.agents.devin_api.V3.open", crashing)
        elif crash == "after the request":
            real = Ledger.write
            patched.setattr(Ledger, "write", lambda s, e: crashing() if e.session else real(s, e))
        else:
            service.before["POST"] = [service.opens_and(hang_up)]
            patched.setattr("keepwarm.repair.agents.opening.Opening._look", crashing)
        with pytest.raises(Crash):
            devin()
    assert devin.entries()[0].session is None
    if crash == "before the request" and service.version == "v3":
        with pytest.raises(ServerError, match="not certain"):
            devin()
        assert service.opened == []
        return
    assert devin().outcome is Outcome.DONE
    assert len(service.opened) == 1


def test_a_damaged_ledger_opens_nothing(devin: Caller) -> None:
    devin()
    (path,) = devin.folder.glob("*.json")
    path.write_text('{"schema": "keepw')
    with pytest.raises(InputError, match="is damaged"):
        devin()
    assert devin.service.posts() == 1


def test_two_at_once_open_one_session(devin: Caller) -> None:
    def second(call: Call) -> None:
        with pytest.raises(InputError, match="another keepwarm"):
            devin()
        call.json(devin.service.open(json.loads(call.asked.body)))

    devin.service.before["POST"] = [second]
    assert devin().outcome is Outcome.DONE
    assert len(devin.service.opened) == 1


def test_several_sessions_with_the_tag_are_said(devin: Caller, tmp_path: Path) -> None:
    devin()
    devin.service.opened.append(devin.service.opened[0])
    with pytest.raises(ServerError, match="several sessions"):
        Caller(devin.service, devin.assignment, tmp_path / "elsewhere")()


def test_a_list_of_many_pages_is_read_to_its_end(devin: Caller, tmp_path: Path) -> None:
    devin()
    (body,) = devin.service.opened
    other = [{"session_id": f"devin-x{i}", "tags": ["other"], "status": "exit"} for i in range(100)]
    ours = {"session_id": "devin-1", "tags": body["tags"], "status": "running"}
    targets: list[str] = []

    def page(rows: list[Any], more: bool) -> Script:
        def script(call: Call) -> None:
            targets.append(call.asked.target)
            if devin.service.version == "v1":
                call.json({"sessions": rows})
            else:
                call.json({"items": rows, "end_cursor": "c1", "has_next_page": more})

        return script

    devin.service.before["LIST"] = [page(other, more=True), page([ours], more=False)]
    run = Caller(devin.service, devin.assignment, tmp_path / "elsewhere")()
    assert run.session is not None
    assert run.session.id == "devin-1"
    assert ("offset=100" if devin.service.version == "v1" else "after=c1") in targets[1]
    assert devin.service.posts() == 1


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 422])
@pytest.mark.parametrize("at", ["LIST", "POST"])
def test_a_refusal_is_one_line_and_leaves_nothing(devin: Caller, code: int, at: str) -> None:
    key = KEYS[devin.service.version]
    devin.service.before[at] = [status(code, {"detail": f"bad {key}\nand sk-proj-{'aB3dE5gH7jK9' * 4}"})]
    with pytest.raises(Refused) as refused:
        devin()
    said = str(refused.value)
    assert refused.value.exit_code == 2
    assert f"refused ({code}" in said
    assert "\n" not in said
    assert "hunter2" not in said
    assert "aB3dE5" not in said
    assert devin.service.opened == []
    assert devin.entries() == []
    assert devin().outcome is Outcome.DONE


@pytest.mark.parametrize("at", ["LIST", "POST", "GET"])
def test_a_redirect_is_not_followed(devin: Caller, at: str) -> None:
    with Service(devin.service.version) as elsewhere:
        devin.service.before[at] = [status(307, Location=f"{elsewhere.url}{elsewhere.base}")]
        with pytest.raises(Refused, match="redirect"):
            devin()
        assert elsewhere.asked == []


@pytest.mark.parametrize("at", ["LIST", "POST", "GET"])
def test_too_many_requests_with_a_time(devin: Caller, at: str) -> None:
    devin.service.before[at] = [status(429, retry_after="17"), status(429, retry_after="40")]
    assert devin().outcome is Outcome.DONE
    assert [s for s in devin.clock.slept_s if s in (17.0, 40.0)] == [17.0, 40.0]
    assert len(devin.service.opened) == 1


def test_too_many_requests_until_a_date(devin: Caller) -> None:
    moment = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=90)
    devin.service.before["POST"] = [status(429, retry_after=email.utils.format_datetime(moment, usegmt=True))]
    assert devin().outcome is Outcome.DONE
    assert any(60 < s <= 90 for s in devin.clock.slept_s)


@pytest.mark.parametrize("value", ["soon", "-5", "1e3", "Wed, 99 Foo 2026 00:00:00", "", "٣"])
def test_a_time_that_is_none(devin: Caller, value: str) -> None:
    headers = {"retry_after": value} if value.isascii() else {}
    devin.service.before["POST"] = [status(429, **headers)]
    assert devin().outcome is Outcome.DONE
    assert 2.0 in devin.clock.slept_s


def test_too_many_requests_for_ever(devin: Caller) -> None:
    devin.service.before["POST"] = [status(429)] * 10
    with pytest.raises(Refused, match="too many requests"):
        devin()
    assert devin.service.posts() == 6
    assert devin.entries() == []


def test_a_wait_beyond_the_limit_is_not_begun(devin: Caller) -> None:
    devin.service.before["POST"] = [status(429, retry_after="100000")]
    with pytest.raises(Refused, match="too many requests"):
        devin()
    assert 100000.0 not in devin.clock.slept_s


@pytest.mark.parametrize("way", LOST)
def test_a_failing_answer_while_following_is_asked_again(devin: Caller, way: str) -> None:
    devin.service.before["GET"] = [LOST[way] if way not in ("wrong type", "no id") else hang_up] * 3
    assert devin().outcome is Outcome.DONE


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 1, "status_enum": ["x"]},
        {"pull_request": "x", "pull_requests": "x"},
        {"pull_request": {"url": 5}, "pull_requests": [{"pr_url": 5}]},
        {"pull_request": [], "pull_requests": ["x"]},
        {"status_detail": {}, "status_enum": {}},
    ],
)
def test_wrong_types_for_ever(devin: Caller, changes: dict[str, Any]) -> None:
    devin.service.states = [finished(devin.service.version, **changes)]
    with pytest.raises(LostAnswer, match="is this its API"):
        devin()


@pytest.mark.parametrize(
    "changes",
    [
        {"structured_output": "x", "acus_consumed": "x", "messages": "x", "tags": 5},
        {"structured_output": {"branch": "../../x"}, "acus_consumed": True, "messages": [1, {"message": 2}]},
        {"structured_output": {"branch": "-x"}, "acus_consumed": None, "messages": None},
        {"structured_output": None, "acus_consumed": [], "tags": [5, None]},
    ],
)
def test_wrong_types_of_what_is_not_needed_are_not_known(devin: Caller, changes: dict[str, Any]) -> None:
    devin.service.states = [finished(devin.service.version, **changes)]
    run = devin()
    assert run.outcome is Outcome.DONE
    assert run.branch is None
    assert run.cost_acus is None


def test_a_service_that_is_gone_while_following(devin: Caller) -> None:
    devin.service.before["GET"] = [hang_up] * 20
    with pytest.raises(LostAnswer):
        devin()
    devin.service.before["GET"] = []
    assert devin().outcome is Outcome.DONE
    assert len(devin.service.opened) == 1


def test_nobody_there(devin: Caller) -> None:
    with pytest.raises(NotSent, match="not reached"):
        devin(api_url="http://127.0.0.1:9")
    assert devin.entries() == []


def test_an_answer_without_end(devin: Caller) -> None:
    def endless(call: Call) -> None:
        call.start_stream()
        with contextlib.suppress(OSError):
            while True:
                call.piece(b" " * (1 << 20))
        call.close_connection = True

    devin.service.before["GET"] = [endless]
    assert devin().outcome is Outcome.DONE


FINAL = {
    "v1": [
        ({"status_enum": "blocked"}, Outcome.BLOCKED),
        ({"status_enum": "expired"}, Outcome.EXPIRED),
        ({"status_enum": "finished"}, Outcome.NO_CHANGE),
    ],
    "v3": [
        ({"status": "running", "status_detail": "waiting_for_user"}, Outcome.BLOCKED),
        ({"status": "running", "status_detail": "waiting_for_approval"}, Outcome.BLOCKED),
        ({"status": "suspended", "status_detail": "inactivity"}, Outcome.EXPIRED),
        ({"status": "suspended", "status_detail": None}, Outcome.EXPIRED),
        ({"status": "suspended", "status_detail": "user_request"}, Outcome.CANCELLED),
        ({"status": "suspended", "status_detail": "usage_limit_exceeded"}, Outcome.SPENT),
        ({"status": "suspended", "status_detail": "out_of_credits"}, Outcome.SPENT),
        ({"status": "suspended", "status_detail": "error"}, Outcome.FAILED),
        ({"status": "error", "status_detail": None}, Outcome.FAILED),
        ({"status": "exit", "status_detail": None}, Outcome.NO_CHANGE),
        ({"status": "running", "status_detail": "finished"}, Outcome.NO_CHANGE),
    ],
}


def test_final_states_without_a_pull_request(devin: Caller) -> None:
    version = devin.service.version
    for changes, outcome in FINAL[version]:
        devin.service.states = [working(version), without_pull_request(version, **changes)]
        run = devin()
        assert run.outcome is outcome, changes
        assert "there is no pull request" in run.reason
        assert run.branch is None
    assert devin.service.posts() == 1


def test_a_pull_request_that_comes_a_moment_later(devin: Caller) -> None:
    version = devin.service.version
    devin.service.states = [without_pull_request(version), finished(version)]
    assert devin().outcome is Outcome.DONE


def test_waiting_for_a_moment_is_not_blocked(devin: Caller) -> None:
    version = devin.service.version
    changes, _ = FINAL[version][0]
    waiting = without_pull_request(version, **changes)
    devin.service.states = [waiting, working(version), waiting, working(version), finished(version)]
    assert devin().outcome is Outcome.DONE


def test_a_session_that_is_not_known_any_more(devin: Caller) -> None:
    devin.service.before["GET"] = [status(404)] * 3
    run = devin()
    assert run.outcome is Outcome.CANCELLED
    assert run.pull_request is None


def test_a_session_that_appears_a_moment_later(devin: Caller) -> None:
    devin.service.before["GET"] = [status(404)] * 2
    assert devin().outcome is Outcome.DONE


@pytest.mark.parametrize("state", ["resumed", "suspend_requested", "never heard of", "", None])
def test_an_unknown_state_is_waited_for(devin: Caller, state: str | None) -> None:
    version = devin.service.version
    odd = without_pull_request(version, status=state or "claimed", status_enum=state, status_detail=None)
    devin.service.states = [odd, finished(version)]
    assert devin().outcome is Outcome.DONE


def test_the_time_limit(devin: Caller) -> None:
    devin.service.states = [working(devin.service.version)]
    run = devin(limit_s=600.0)
    assert run.outcome is Outcome.TIMED_OUT
    assert sum(devin.clock.slept_s) <= 600.0
    assert max(devin.clock.slept_s) <= 60.0
    devin.service.states = [finished(devin.service.version)]
    assert devin().outcome is Outcome.DONE
    assert devin.service.posts() == 1


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/other/pull/7",
        "https://github.com/acme/app-evil/pull/7",
        "https://evil.example/acme/app/pull/7",
        "https://github.com@evil.example/acme/app/pull/7",
        "http://github.com/acme/app/pull/7",
        "javascript:alert(1)",
        "https://[::",
    ],
)
def test_a_pull_request_elsewhere_is_out_of_scope(devin: Caller, url: str) -> None:
    changes = {"pull_request": {"url": url}, "pull_requests": [{"pr_url": url, "pr_state": "open"}]}
    devin.service.states = [finished(devin.service.version, **changes)]
    run = devin()
    assert run.outcome is Outcome.OUT_OF_SCOPE
    assert run.pull_request is None
    assert run.out_of_scope == (f"pull request {url}",)


def test_what_the_service_says_cannot_do_harm(devin: Caller) -> None:
    key = KEYS[devin.service.version]
    odd = f"\x1b[31m{key}\nkeepwarm: all is well"
    devin.service.states = [
        working(devin.service.version) | {"status": odd, "status_enum": odd, "status_detail": None},
        finished(devin.service.version),
    ]
    run = devin()
    for line in (*devin.said, *run.log_tail):
        assert line.isprintable()
        assert "hunter2" not in line


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "only with --authorize acme/app:F1"),
        ("acme/app:F2", "is not what this call is about"),
        ("acme/app", "is not what this call is about"),
        ("acme/other:F1", "is not what this call is about"),
        ("Acme/App:F1", "is not what this call is about"),
        ("acme/app:F1 ", "is not what this call is about"),
        ("*:F1", "is not what this call is about"),
        ("gitlab.com/acme/app:F1", "is not what this call is about"),
        ("", "is not what this call is about"),
    ],
)
def test_without_the_right_words_nothing_is_sent(devin: Caller, given: str | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        devin(authorize=given)
    assert devin.service.asked == []
    assert devin.entries() == []


def test_the_host_may_be_named_too(devin: Caller) -> None:
    assert devin(authorize="github.com/acme/app:F1").outcome is Outcome.DONE


@pytest.mark.parametrize(
    ("remote", "is_hosted"),
    [
        ("https://github.com/acme/app", True),
        ("https://user:hunter2-token@github.com/acme/app.git", True),
        ("ssh://git@github.com:22/acme/app.git", True),
        ("github.com:acme/app", True),
        ("/srv/git/app.git", False),
        ("https://github.com/app", False),
        ("https://github.com/acme/../app", False),
        ("file:///srv/git/acme/app", False),
    ],
)
def test_the_repository_is_that_of_the_remote(devin: Caller, remote: str, is_hosted: bool) -> None:
    git(devin.assignment.repository, "remote", "set-url", "origin", remote)
    if is_hosted:
        assert devin().outcome is Outcome.DONE
        assert "hunter2-token" not in json.dumps(devin.service.opened)
    else:
        with pytest.raises(InputError, match="names no hosted repository") as refused:
            devin()
        assert "hunter2" not in str(refused.value)
        assert devin.service.asked == []


def test_a_checkout_without_a_remote(devin: Caller) -> None:
    with pytest.raises(InputError, match="has no remote 'upstream'"):
        devin(remote="upstream")
    assert devin.service.asked == []


@pytest.mark.parametrize(
    ("key", "options", "message"),
    [
        ("", {}, "set DEVIN_API_KEY"),
        ("   ", {}, "set DEVIN_API_KEY"),
        ("cog_ hunter2", {}, "holds no key"),
        ("cog_hunter2é", {}, "holds no key"),
        ("cog_hunter2\n", {"organisation": None}, "needs the organisation"),
        ("cog_hunter2", {"organisation": "../x"}, "is no id of an organisation"),
        ("hunter2", {}, "does not say which version"),
        ("cog_hunter2", {"api_url": "http://api.devin.ai"}, "is not https"),
        ("cog_hunter2", {"api_url": "ftp://api.devin.ai"}, "is no URL of a server"),
        ("cog_hunter2", {"api_url": "https://a:hunter2@api.devin.ai"}, "has credentials"),
        ("cog_hunter2", {"api_url": "https://a:hunter2@["}, "has credentials"),
        ("cog_hunter2", {"api_url": "https://["}, "is no URL of a server"),
        ("cog_hunter2", {"api_url": "https:///x"}, "is no URL of a server"),
        ("cog_hunter2", {"max_acu_limit": 0}, "above 0"),
    ],
)
def test_a_wrong_call(
    devin: Caller, monkeypatch: pytest.MonkeyPatch, key: str, options: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("DEVIN_API_KEY", key)
    with pytest.raises(InputError, match=re.escape(message)) as refused:
        devin(**options)
    assert "hunter2" not in str(refused.value)
    assert devin.service.asked == []


def test_the_key_is_in_no_file_and_no_result(devin: Caller) -> None:
    run = devin()
    kept = b"".join(path.read_bytes() for path in devin.folder.iterdir())
    assert b"hunter2" not in kept
    assert "hunter2" not in str(run)
    assert all((path.stat().st_mode & 0o077) == 0 for path in devin.folder.iterdir())
