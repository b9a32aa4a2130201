"""The dashboard's files: by their exact paths, packed, with hashes of their own scripts; nothing else."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient

from keepwarm.api.pages import Pages, script_hashes

SCRIPT = "self.__next_f.push([1,'</scr'+'ipt>'])"
PAGE = f'<!doctype html><script src="/_next/static/a.js"></script><script>{SCRIPT}</script><p>front</p>'


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "static"
    (folder / "map").mkdir(parents=True)
    (folder / "_next/static").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "map/index.html").write_text("<p>map</p>")
    (folder / "404.html").write_text("<p>missing</p>")
    (folder / "index.txt").write_text("1:x")
    (folder / "_next/static/a.js").write_text("var a = 1;" * 100)
    (folder / "_next/static/a.css").write_text("a {}")
    (folder / "icon.png").write_bytes(b"\x89PNG")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


def reader(folder: Path | None) -> TestClient:
    return TestClient(Pages(folder), base_url="http://127.0.0.1:1", follow_redirects=False)


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/", "front", "text/html; charset=utf-8"),
        ("/index.html", "front", "text/html; charset=utf-8"),
        ("/map/", "map", "text/html; charset=utf-8"),
        ("/map/?site=1", "map", "text/html; charset=utf-8"),
        ("/index.txt", "1:x", "text/plain; charset=utf-8"),
        ("/_next/static/a.js", "var a", "text/javascript; charset=utf-8"),
        ("/_next/static/a.css", "a {}", "text/css; charset=utf-8"),
    ],
)
def test_what_is_there(built: Path, path: str, content: str, kind: str) -> None:
    answer = reader(built).get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
    assert content in answer.text


def test_a_folder_is_one_slash_away(built: Path) -> None:
    answer = reader(built).get("/map?site=1")
    assert (answer.status_code, answer.headers["location"]) == (308, "/map/?site=1")


def test_names_with_a_hash_are_kept_others_asked_for_again(built: Path) -> None:
    assert "immutable" in reader(built).get("/_next/static/a.js").headers["cache-control"]
    assert reader(built).get("/").headers["cache-control"] == "no-cache"
    assert reader(built).get("/_next/static/none.js").headers["cache-control"] == "no-store"


def test_packed_only_for_whom_it_is_asked(built: Path) -> None:
    caller = reader(built)
    for asked, packs in [
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("br", False),
        ("gzip;q=0", False),
        ("", False),
    ]:
        answer = caller.get("/_next/static/a.js", headers={"accept-encoding": asked})
        assert ("content-encoding" in answer.headers) == packs
        assert answer.text == "var a = 1;" * 100
    with caller.stream("GET", "/", headers={"accept-encoding": "gzip"}) as answer:
        assert gzip.decompress(b"".join(answer.iter_raw())).decode() == PAGE
    assert "content-encoding" not in caller.get("/icon.png", headers={"accept-encoding": "gzip"}).headers


def test_the_policy_names_the_page_s_own_scripts(built: Path) -> None:
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
    policy = reader(built).get("/").headers["content-security-policy"]
    assert f"script-src 'self' 'sha256-{digest}';" in policy
    assert "sha256" not in reader(built).get("/map/").headers["content-security-policy"]


def test_scripts_with_attributes_and_on_several_lines() -> None:
    page = b'<script id="_R_">a\nb</script><script async src="x">c</script><script type="module">d</script>'
    hashes = [base64.b64encode(hashlib.sha256(each).digest()).decode() for each in (b"a\nb", b"d")]
    assert script_hashes(page) == tuple(f"'sha256-{each}'" for each in hashes)


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/map/../../secret.txt",
        "/map/%2e%2e/%2e%2e/secret.txt",
        "/..\\secret.txt",
        "/..%5csecret.txt",
        "/%00",
        "/index.html%00.txt",
        "//etc/passwd",
        "/%2fetc/passwd",
        "/map//index.html",
        "/./index.html",
        "/link.txt",
        "/away/secret.txt",
        "/.hidden",
        "/index.html/",
        "/" + "a" * 5_000,
    ],
)
def test_nothing_else_is(built: Path, path: str) -> None:
    (built / "link.txt").symlink_to(built.parent / "secret.txt")
    (built / "away").symlink_to(built.parent)
    (built / ".hidden").write_text("secret")
    status, content = as_decoded(Pages(built), path)
    assert (status, content) == (404, b"<p>missing</p>")


def as_decoded(pages: Pages, path: str) -> tuple[int, bytes]:
    """The answer to a path as a server hands it on: decoded once and not made any simpler."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": unquote(path), "query_string": b"", "headers": []}
    asyncio.run(pages(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def test_a_new_build_is_seen(built: Path) -> None:
    caller = reader(built)
    assert "front" in caller.get("/").text
    (built / "index.html").write_text("<p>built anew</p>")
    (built / "later.txt").write_text("later")
    assert "anew" in caller.get("/").text
    assert caller.get("/later.txt").text == "later"
    (built / "later.txt").unlink()
    assert caller.get("/later.txt").status_code == 404


def test_only_reading(built: Path) -> None:
    answer = reader(built).post("/")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert reader(built).head("/").status_code == 200


def test_no_build_says_how_to_make_one() -> None:
    answer = reader(None).get("/")
    assert answer.status_code == 200
    assert "make web" in answer.text
    assert reader(None).get("/map/").status_code == 404
