"""Who is answered and who is not, on every kind of address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from keepwarm._errors import InputError
from keepwarm.api.security import Access
from keepwarm.api.settings import Settings, checked
from tests.api.calling import AUTHORITY, ORIGIN, PORT, TOKEN, client, problem, visitor

COOKIE = f"keepwarm-{PORT}"
SAME = {"origin": ORIGIN, "content-type": "application/json"}


@pytest.fixture
def stranger(tmp_path: Path) -> TestClient:
    return visitor(tmp_path)


def with_cookie(caller: TestClient) -> TestClient:
    caller.headers["cookie"] = f"{COOKIE}={TOKEN}"
    return caller


@pytest.mark.parametrize("path", ["/api/server", "/api/openapi.json", "/api/nothing", "/api", "/api/results"])
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong-token-entirely"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": f"Bearer {TOKEN}x"},
        {"cookie": f"{COOKIE}=wrong"},
        {"cookie": f"other={TOKEN}"},
        {"authorization": "Bearer "},
        {"authorization": "Bearer \xe4"},
    ],
)
def test_the_api_needs_the_token(stranger: TestClient, path: str, headers: dict[str, str]) -> None:
    answer = stranger.get(path, headers={k: v.encode("latin-1") for k, v in headers.items()})  # type: ignore[misc]
    assert "'?token=' included" in problem(answer, 401)


def test_the_token_in_an_api_address_is_none(stranger: TestClient) -> None:
    problem(stranger.get("/api/server", params={"token": TOKEN}), 401)


@pytest.mark.parametrize("path", ["/", "/map/", "/_next/static/x.js", "/nothing"])
def test_pages_need_it_too_and_say_so_plainly(stranger: TestClient, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text.count("\n") == 1


def test_the_first_visit_gives_a_cookie_and_hides_the_token(tmp_path: Path) -> None:
    caller = visitor(tmp_path)
    first = caller.get(f"/map/?site=a%20b&token={TOKEN}&x=%3C")
    assert first.status_code == 303
    assert first.headers["location"] == "/map/?site=a+b&x=%3C"
    assert first.headers["set-cookie"] == f"{COOKIE}={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    assert caller.get("/api/server").status_code == 200  # the client keeps cookies as a browser does


def test_a_wrong_token_gives_nothing(stranger: TestClient) -> None:
    answer = stranger.get("/?token=wrong")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_an_old_link_is_fine_for_whoever_is_in(stranger: TestClient) -> None:
    assert with_cookie(stranger).get("/?token=of-the-last-run").status_code == 303


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example/", "///evil.example"])
def test_it_sends_nobody_elsewhere(stranger: TestClient, path: str) -> None:
    answer = stranger.get(f"{ORIGIN}{path}?token={TOKEN}")
    assert re.fullmatch(r"/evil\.example/?", answer.headers["location"])


def test_a_link_on_another_site_still_opens(stranger: TestClient) -> None:
    answer = stranger.get(f"/?token={TOKEN}&a=1&b=2", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert 'content="0; url=/?a=1&amp;b=2"' in answer.text
    assert TOKEN not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1.evil.example:{PORT}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/api/server", "/", f"/?token={TOKEN}"])
def test_another_name_is_not_this_server(tmp_path: Path, host: str, path: str) -> None:
    answer = client(tmp_path).get(path, headers={"host": host})
    assert answer.status_code == 403
    assert "--allow-host" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", [AUTHORITY, f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_the_machine_has_these_names(tmp_path: Path, host: str) -> None:
    assert client(tmp_path).get("/api/server", headers={"host": host}).status_code == 200


def test_more_names_can_be_allowed(tmp_path: Path) -> None:
    caller = client(tmp_path, allowed_hosts=("dash.example", "other.example:8443"))
    for host in ("dash.example", f"dash.example:{PORT}", "other.example:8443"):
        assert caller.get("/api/server", headers={"host": host}).status_code == 200
        assert (
            caller.get("/api/server", headers={"host": host, "origin": f"https://{host}"}).status_code == 200
        )
    assert caller.get("/api/server", headers={"host": f"other.example:{PORT}"}).status_code == 403


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{PORT + 1}",
        "http://127.0.0.1",
        f"http://localhost:{PORT}",
        "",
    ],
)
def test_another_origin_is_refused(tmp_path: Path, origin: str) -> None:
    problem(client(tmp_path).get("/api/server", headers={"origin": origin}), 403)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_of_other_sites_get_no_answers(tmp_path: Path, site: str) -> None:
    problem(with_cookie(visitor(tmp_path)).get("/api/server", headers={"sec-fetch-site": site}), 403)


POST = "/api/verdicts/000000000000/approvals"
BODY = b'{"check":"golden-cases","case":"c","sha256":"0","approver":"a","reason":"r"}'


def test_a_change_says_where_it_comes_from(tmp_path: Path) -> None:
    caller = with_cookie(visitor(tmp_path))
    kind = {"content-type": "application/json"}
    assert "Origin" in problem(caller.post(POST, content=BODY, headers=kind), 403)
    problem(caller.post(POST, content=BODY, headers=kind | {"sec-fetch-site": "none"}), 403)
    problem(caller.post(POST, content=BODY, headers=kind | {"origin": "http://evil.example"}), 403)
    problem(caller.delete("/api/jobs/0000000000000000"), 403)
    for wrong in ("Bearer", "Bearer ", "Bearer wrong"):  # the cookie alone is right
        problem(caller.post(POST, content=BODY, headers=kind | {"authorization": wrong}), 403)
    # Now it is looked for, and not there.
    problem(caller.post(POST, content=BODY, headers=SAME), 404)
    problem(caller.post(POST, content=BODY, headers=kind | {"sec-fetch-site": "same-origin"}), 404)
    problem(caller.delete("/api/jobs/0000000000000000", headers={"origin": ORIGIN}), 404)


def test_a_program_with_the_token_need_not(tmp_path: Path) -> None:
    problem(client(tmp_path).post(POST, content=BODY, headers={"content-type": "application/json"}), 404)


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None]
)
def test_only_json_changes_anything(tmp_path: Path, kind: str | None) -> None:
    headers = {"origin": ORIGIN} | ({} if kind is None else {"content-type": kind})
    assert "application/json" in problem(client(tmp_path).post(POST, content=BODY, headers=headers), 400)


def test_a_long_body_is_not_read_to_its_end(tmp_path: Path) -> None:
    def endless() -> object:
        for _ in range(40):
            yield b"[" * 65_536

    answer = client(tmp_path).post(POST, content=endless(), headers=SAME)
    problem(answer, 413)


@pytest.mark.parametrize("path", ["/api/server", "/", "/nothing", "/api/nothing"])
@pytest.mark.parametrize("authorised", [True, False])
def test_every_answer_carries_the_headers(tmp_path: Path, path: str, authorised: bool) -> None:
    headers = (client if authorised else visitor)(tmp_path).get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == policy["style-src"] == policy["font-src"] == "'self'"
    for nothing in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[nothing] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert not path.startswith("/api") or headers["cache-control"] == "no-store"


def test_other_cookies_do_not_hide_ours(stranger: TestClient) -> None:
    stranger.headers["cookie"] = f'a={{"b": "c;d"}}; =x; {COOKIE}={TOKEN}; e="f'
    assert stranger.get("/api/server").status_code == 200


def test_an_unlike_token_of_any_text_is_only_wrong() -> None:
    access = Access.of(TOKEN, PORT)
    assert access.is_token(TOKEN)
    assert not any(map(access.is_token, ["", "\ud800", "ä", TOKEN.upper(), TOKEN[:-1]]))


def settings(tmp_path: Path, **given: object) -> Settings:
    return Settings(root=tmp_path, token=TOKEN)._replace(**given)  # type: ignore[arg-type]


def test_other_machines_are_let_in_on_purpose_only(tmp_path: Path) -> None:
    wide = settings(tmp_path, host="0.0.0.0")
    with pytest.raises(InputError, match="--allow-remote"):
        checked(wide, remote_allowed=False, token_given=True)
    with pytest.raises(InputError, match="KEEPWARM_TOKEN"):
        checked(wide, remote_allowed=True, token_given=False)
    assert checked(wide, remote_allowed=True, token_given=True) == wide
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"):
        checked(settings(tmp_path, host=host), remote_allowed=False, token_given=False)


@pytest.mark.parametrize(
    "host", ["", "::", "192.168.1.2", "127.0.0.1.evil.example", "localhost.evil.example"]
)
def test_what_is_not_loopback(tmp_path: Path, host: str) -> None:
    with pytest.raises(InputError, match="lets other machines in"):
        checked(settings(tmp_path, host=host), remote_allowed=False, token_given=True)


@pytest.mark.parametrize("token", ["short", "with spaces in it all over", "semi;colon;semi;colon", "ä" * 20])
def test_a_token_that_is_fit_for_nothing(tmp_path: Path, token: str) -> None:
    with pytest.raises(InputError, match="KEEPWARM_TOKEN"):
        checked(settings(tmp_path, token=token), remote_allowed=False, token_given=True)


@pytest.mark.parametrize("name", ["*", "http://dash.example", "a b", "dash.example/x", "", "*.example"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="--allow-host"):
        checked(settings(tmp_path, allowed_hosts=(name,)), remote_allowed=False, token_given=True)
