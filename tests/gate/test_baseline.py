from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm import InputError
from keepwarm.diagnose.options import Options
from keepwarm.gate import fresh_baseline
from keepwarm.gate.baseline import read_baseline
from tests.gate.conftest import keep
from tests.gate.traces import LETTERS, TRIAGE, broken, healthy, letter, triage, write


def test_it_reads_what_it_wrote_and_writes_the_same_again(tmp_path: Path) -> None:
    trace, path = broken(tmp_path / "a.jsonl"), tmp_path / "baseline.json"
    kept = keep(trace, path)
    content = path.read_bytes()
    assert read_baseline(path) == kept
    keep(trace, path)
    assert path.read_bytes() == content


def test_it_is_small_and_holds_no_prompt_text(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    for trace in sorted((shared / "cases" / "breaks").glob("*-1.jsonl"))[::4]:
        keep(str(trace), path)
        content = path.read_text()
        path.unlink()
        assert len(content) < 16_000
        document = json.loads(content)
        for site in document["call_sites"]:
            assert set(site["text"] + site["tools"]) <= set("0123456789abcdef ")
        assert set(document) == {
            "schema",
            "setup",
            "requests",
            "prompt_tokens",
            "hit_tokens",
            "hit_rate",
            "call_sites",
            "findings",
        }


def test_no_word_of_a_prompt_is_in_it(tmp_path: Path) -> None:
    keep(broken(tmp_path / "a.jsonl"), tmp_path / "baseline.json")
    content = (tmp_path / "baseline.json").read_text()
    words = {word for text in (TRIAGE, LETTERS) for word in text.split() if len(word) > 4}
    assert [word for word in words if f" {word} " in content or f'"{word}"' in content] == []
    assert "2026-05-12" not in content


def test_keys_outlive_a_change_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    before = keep(healthy(tmp_path / "a.jsonl"), path)
    reworded = [
        triage(n, text=f"{TRIAGE} Be brief, and polite, and answer in the language of the message.")
        for n in range(12)
    ]
    after = keep(write(tmp_path / "b.jsonl", [*map(letter, range(12)), *reworded]), path)
    assert {site.key for site in after.call_sites} == {site.key for site in before.call_sites}
    assert after != before


def test_call_sites_that_look_alike_get_keys_of_their_own(tmp_path: Path) -> None:
    requests = [triage(n, call_site=None) for n in range(4)]
    alike = [letter(n, text=TRIAGE) for n in range(4)]
    for request in alike:
        request["body"]["tools"] = [{"type": "function", "function": {"name": f"tool_{request['id']}"}}]
    fresh = fresh_baseline(
        write(tmp_path / "a.jsonl", [*requests, *alike]), Options(), tmp_path / "none.json"
    )
    keys = [site.key for site in fresh.baseline.call_sites]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[1]",
        b"\xff",
        b"[" * 100_000,
        b'{"schema": "keepwarm.diagnosis/1"}',
        b'{"id": "r1", "body": {}}',
    ],
)
def test_something_else_is_not_read_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "baseline.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="is no baseline of keepwarm"):
        read_baseline(path)
    with pytest.raises(InputError, match="is no baseline of keepwarm"):
        fresh_baseline(healthy(tmp_path / "a.jsonl"), Options(), path)
    assert path.read_bytes() == content


def test_a_later_schema_and_an_edited_file(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    keep(broken(tmp_path / "a.jsonl"), path)
    content = path.read_text()
    path.write_text(content.replace("keepwarm.baseline/1", "keepwarm.baseline/2"))
    with pytest.raises(InputError, match=r"has the schema 'keepwarm\.baseline/2'"):
        read_baseline(path)
    document = json.loads(content)
    document["findings"][0]["call_site"] = "nobody"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="was edited"):
        read_baseline(path)


def test_a_missing_one_says_how_it_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="write one with --write-baseline"):
        read_baseline(tmp_path / "none.json")
