"""A recording followed into metrics: attributed as the diagnosis does, bounded, and without prompt text."""

from __future__ import annotations

import gzip
import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from keepwarm._errors import InputError, TraceError
from keepwarm.cli.app import app
from keepwarm.diagnose.engine import diagnose
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.model import dumps
from keepwarm.reuse.predictor import Fitted, ReuseModel
from keepwarm.trace.encode import choose_encoder
from keepwarm.trace.open import open_trace
from keepwarm.watch.exporter import exposition, place_of
from keepwarm.watch.follow import FollowOptions
from keepwarm.watch.sites import MOST_SITES, OTHER, CallSites, SimulatedCache
from keepwarm.watch.tail import Tail
from tests.replay.recorder.running import Recorder
from tests.replay.recorder.stub import Stub, chat_answer

PATIENCE_S = 60.0  # not a limit on speed
RULES = " ".join(f"Rule {number}: be polite about subject {number * 7}." for number in range(60))


@pytest.fixture(scope="module")
def helpdesk(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("feed") / "traffic.jsonl"
    path.write_bytes(gzip.decompress((repository / "examples/helpdesk/traffic.jsonl.gz").read_bytes()))
    return path


def line(number: int, system: str, *, site: str | None = None, cached: int | None = None) -> bytes:
    """What keepwarm record writes of one request."""
    usage = {"prompt_tokens": 1_000, "completion_tokens": 3}
    if cached is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}  # type: ignore[assignment]
    messages = [{"role": "system", "content": system}, {"role": "user", "content": f"Question {number}?"}]
    record: dict[str, Any] = {
        "id": f"r{number}",
        "timestamp": 1_780_000_000.0 + number,
        "body": {"model": "m", "messages": messages},
        "response": {"choices": [{"message": {"role": "assistant", "content": "Yes."}}], "usage": usage},
    }
    if site is not None:
        record["metadata"] = {"call_site": site}
    return json.dumps(record).encode() + b"\n"


def values(text: bytes) -> dict[tuple[str, ...], float]:
    """Samples by name and label values, these in order of the labels' names."""
    families = text_string_to_metric_families(text.decode())
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_it_says_what_the_diagnosis_says(helpdesk: Path) -> None:
    found = values(exposition(FollowOptions(helpdesk)))
    for site in diagnose(str(helpdesk)).call_sites:
        assert found["keepwarm_call_site_requests_total", site.id] == site.requests
        assert found["keepwarm_call_site_prompt_tokens_total", site.id, "simulated"] == site.prompt_tokens
        hit = found["keepwarm_call_site_hit_tokens_total", site.id, "simulated"]
        assert hit / site.prompt_tokens == pytest.approx(site.hit_rate, abs=1e-6)


@pytest.mark.parametrize("kept", [16, 40])
def test_call_sites_keep_their_ids_though_few_requests_are_kept(helpdesk: Path, kept: int) -> None:
    requests = list(open_trace(str(helpdesk)).requests())
    encoder = choose_encoder(helpdesk, requests[0], tokenizer=None, chat_template=None)
    short = CallSites(encoder, SimulatedCache(16, 10_000), kept_requests=kept)
    whole = CallSites(encoder, SimulatedCache(16, 10_000))
    for request in requests:
        short.add(request)
        whole.add(request)
    assert {m.site: m.requests for m in short.meters} == {m.site: m.requests for m in whole.meters}


def test_no_text_of_a_prompt_is_shown(helpdesk: Path) -> None:
    words = Counter[str]()
    for request in open_trace(str(helpdesk)).requests():
        words.update(re.findall(r"\w{6,}", json.dumps([request.messages, request.tools])))
    text = exposition(FollowOptions(helpdesk)).decode()
    labels = set(re.findall(r"\w{6,}", " ".join(re.findall(r'="([^"]*)"', text))))
    assert labels & words.keys() <= {"simulated", "reference"}
    names = re.findall(r'_info\{.*name="([^"]*)"', text)
    assert len(names) == 4
    assert all(re.fullmatch(r"‹text: \d+ chars›", name) for name in names)


def test_names_of_the_metadata_are_shown_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        line(1, RULES, site="triage") + line(2, "x", site="key sk-proj-abcdefghijklmnopqrstuvwx1234")
    )
    text = exposition(FollowOptions(path)).decode()
    assert 'keepwarm_call_site_info{call_site="site-1",name="triage"} 1.0' in text
    assert "abcdefghijkl" not in text


def test_a_deploy_that_breaks_the_prefix_is_a_change_of_that_call_site_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("wb") as file:
        for number in range(200):
            clock = f"Now it is {number} o'clock, request {number * 31}. " if number >= 150 else ""
            file.write(line(number, clock + RULES, site="a", cached=900 if number < 150 else 0))
            file.write(line(number, "Second. " + RULES, site="b"))
    found = values(exposition(FollowOptions(path)))
    score = "keepwarm_call_site_change_score"
    assert found[score, "site-1", "down", "simulated"] >= 1
    assert found[score, "site-1", "down", "recorded"] >= 1
    assert found[score, "site-2", "down", "simulated"] == 0
    rate = "keepwarm_call_site_hit_rate"
    assert found[rate, "site-1", "simulated", "reference"] > 0.9
    assert found[rate, "site-1", "simulated", "last"] < 0.1
    assert found["keepwarm_call_site_hit_tokens_total", "site-1", "recorded"] == 150 * 900
    assert (score, "site-2", "down", "recorded") not in found


def model_file(folder: Path) -> Path:
    """All calls take 10 s; a third of them a minute."""
    curve = Curve((10.0, 60.0), (1 / 3, 0.0), end_s=60.0, beyond_s=1.0, samples=9)
    fitted = Fitted("test", "none", seed=0, clusters=0, samples=9, censored=0, sources=())
    path = folder / "model.json"
    path.write_bytes(dumps(ReuseModel(fitted, curve, {})))
    return path


def turn(session: str, begun_s: float, ended_s: float, tool: str | None = "bash") -> bytes:
    """A request whose last messages are a tool call and its result, or a person's."""
    record = json.loads(line(1, RULES))
    if tool is not None:
        call = {"id": "1", "type": "function", "function": {"name": tool, "arguments": "{}"}}
        record["body"]["messages"] += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
        ]
    return json.dumps(record | {"session_id": session, "timestamp": begun_s, "end": ended_s}).encode() + b"\n"


def test_predicted_against_real_of_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(
        turn("a", 100, 101, None)
        + turn("a", 111, 112)  # after 10 s
        + turn("a", 212, 220)  # after 100 s
        + turn("a", 214, 216)  # beside the last
        + turn("a", 220.5, 221)  # after half a second
        + turn("a", 300, 301, None)  # somebody wrote
        + turn("b", 302, 303)  # its first
        + turn("c", 305, 304)  # no such times
        + line(2, RULES)
    )
    found = values(exposition(FollowOptions(path, reuse_model=str(model_file(tmp_path)))))
    ended = "keepwarm_reuse_predictions_total"
    outcomes = {key[2]: count for key, count in found.items() if key[:2] == (ended, "afterwards")}
    assert outcomes == {"early": 1, "middle": 1, "late": 1}
    assert sum(count for key, count in found.items() if key[:2] == (ended, "meanwhile")) == 0
    assert found["keepwarm_reuse_unpredicted_total", "unknown"] == 1
    assert found["keepwarm_reuse_real_seconds_sum", "afterwards"] == 110.5
    assert found["keepwarm_reuse_predicted_seconds_sum", "afterwards"] == pytest.approx(3 * (10 + 50 / 3))
    assert not any(key[0].startswith("keepwarm_reuse") for key in values(exposition(FollowOptions(path))))


def test_a_model_that_is_none_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line(1, RULES))
    for arguments, said in (
        (["--trace", str(path), "--reuse-model", str(path)], "cannot be used"),
        (["--trace", str(path), "--reuse-model", str(tmp_path / "none")], "cannot read the model"),
        (["--prometheus", "http://127.0.0.1:1", "--reuse-model", str(path)], "goes with --trace"),
    ):
        result = CliRunner().invoke(app, ["watch", *arguments, "--once"])
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert said in result.stderr


def test_call_sites_beyond_the_most_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(line(number, "Short.", site=f"s{number}") for number in range(MOST_SITES + 7)))
    found = values(exposition(FollowOptions(path)))
    assert found["keepwarm_call_site_requests_total", OTHER] == 7
    assert len([key for key in found if key[0] == "keepwarm_call_site_requests_total"]) == MOST_SITES + 1


def test_lines_that_are_no_request_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n{half\n[1]\n" + line(1, RULES) + b'{"other": 1}\n' + line(2, RULES) + b'{"id":"cut')
    found = values(exposition(FollowOptions(path)))
    assert found["keepwarm_watch_skipped_lines_total",] == 3
    assert found["keepwarm_call_site_requests_total", "site-1"] == 2
    assert found["keepwarm_watch_last_request_time_seconds",] == 1_780_000_002


@given(st.lists(st.binary(max_size=30)), st.lists(st.integers(1, 40), max_size=20))
def test_lines_come_whole_however_they_are_written(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], cuts: list[int]
) -> None:
    content = b"".join(text.replace(b"\n", b"") + b"\n" for text in texts)
    content = b"x\n" + content  # what begins like a compressed file is refused
    path = tmp_path_factory.mktemp("tail") / "t"
    path.write_bytes(b"")
    tail = Tail(path)
    found: list[bytes] = []
    for size in [*cuts, len(content)]:
        with path.open("ab") as file:
            file.write(content[:size])
        content = content[size:]
        found += tail.lines()
    tail.close()
    assert found == [b"x", *(text.replace(b"\n", b"") for text in texts)]


def test_a_file_that_is_moved_away_is_read_to_its_end_and_then_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"1\n")
    tail = Tail(path)
    assert list(tail.lines()) == [b"1"]
    with path.open("ab") as file:
        file.write(b"2\n")
    path.rename(tmp_path / "t.jsonl.1")
    assert list(tail.lines()) == [b"2"]
    path.write_bytes(b"3\n")
    assert list(tail.lines()) == [b"3"]
    path.write_bytes(b"")
    assert list(tail.lines()) == []
    path.write_bytes(b"4\n")
    assert list(tail.lines()) == [b"4"]
    assert tail.rotations == 2
    tail.close()


@pytest.mark.parametrize("listen", ["9105", "127.0.0.1:", ":9105", "127.0.0.1:99999", "127.0.0.1:x", ""])
def test_a_place_that_is_none_is_refused(listen: str) -> None:
    with pytest.raises(InputError, match="is no HOST:PORT"):
        place_of(listen)


def test_what_cannot_be_followed_is_one_line(tmp_path: Path) -> None:
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(b"{}\n"))
    for path, said in (
        (tmp_path / "none", "start keepwarm record first"),
        (packed, "is compressed"),
        (tmp_path, "is not a regular file"),
    ):
        with pytest.raises(TraceError, match=said):
            Tail(path)
        result = CliRunner().invoke(app, ["watch", "--trace", str(path), "--once"])
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert str(path) in result.stderr


def test_a_folder_in_place_of_the_recording_is_waited_out(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"one\n")
    tail = Tail(path)
    assert list(tail.lines()) == [b"one"]
    path.unlink()
    path.mkdir()
    assert list(tail.lines()) == []
    path.rmdir()
    path.write_bytes(b"two\n")
    assert list(tail.lines()) == [b"two"]
    tail.close()


class Exporter:
    """``keepwarm watch --trace`` as a process of its own, on a free port."""

    def __init__(self, trace: Path) -> None:
        command = [
            sys.executable,
            "-m",
            "keepwarm",
            "watch",
            "--trace",
            str(trace),
            "--listen",
            "127.0.0.1:0",
        ]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        match = re.search(r"call sites at (http://\S+)$", said)
        assert match, said
        self.url = match[1]

    def reaches(self, key: tuple[str, ...], expected: float) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while (seen := values(httpx2.get(self.url, timeout=30).content).get(key)) != expected:
            assert time.monotonic() < deadline, seen
            time.sleep(0.1)


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Path, Exporter]]:
    path = tmp_path / "t.jsonl"
    path.write_bytes(line(1, RULES))
    exporter = Exporter(path)
    yield path, exporter
    exporter.process.kill()
    exporter.process.wait(30)
    assert exporter.process.stderr is not None
    exporter.process.stderr.close()


def test_the_exporter_follows_and_ends_by_signal(followed: tuple[Path, Exporter]) -> None:
    path, exporter = followed
    key = ("keepwarm_call_site_requests_total", "site-1")
    exporter.reaches(key, 1)
    with path.open("ab") as file:
        file.write(line(2, RULES))
    exporter.reaches(key, 2)
    path.rename(path.with_suffix(".old"))
    path.write_bytes(line(3, RULES))
    exporter.reaches(key, 3)
    assert httpx2.get(exporter.url.replace("/metrics", "/"), timeout=30).status_code == 404
    assert httpx2.post(exporter.url, timeout=30).status_code == 405
    exporter.process.send_signal(signal.SIGTERM)
    assert exporter.process.wait(PATIENCE_S) == 0


def test_what_the_recorder_writes_is_what_the_exporter_counts(tmp_path: Path) -> None:
    out = tmp_path / "recorded.jsonl"
    with Stub() as stub, Recorder(f"{stub.url}/v1", out) as recorder:
        stub.script = lambda call: call.json(chat_answer())
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello?"}]}
        for _ in range(3):
            httpx2.post(f"{recorder.url}/v1/chat/completions", json=body, timeout=30).raise_for_status()
        recorder.next_lines(3)
        found = values(exposition(FollowOptions(out)))
    assert found["keepwarm_call_site_requests_total", "site-1"] == 3
    assert found["keepwarm_call_site_prompt_tokens_total", "site-1", "recorded"] == 3 * 40
    assert found["keepwarm_call_site_hit_tokens_total", "site-1", "recorded"] == 3 * 32
    assert found["keepwarm_watch_skipped_lines_total",] == 0


def test_every_metric_is_documented_and_no_other(repository: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(line(number, RULES, cached=3) for number in range(80)))
    shown: dict[str, tuple[str, set[str]]] = {}
    for family in text_string_to_metric_families(exposition(FollowOptions(path)).decode()):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        shown[name] = (family.type, {label for sample in family.samples for label in sample.labels})
    page = (repository / "docs/reference/metrics.md").read_text()
    table = page.split("| metric of call sites | type | labels | value |\n")[1].split("\n\n")[0]
    documented = {
        name.strip("` "): (kind.strip(), set(re.findall(r"\w+", labels)))
        for _, name, kind, labels, *_ in (row.split("|") for row in table.splitlines()[1:])
    }
    assert documented == shown
