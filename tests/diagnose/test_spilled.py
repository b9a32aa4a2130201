"""Within a budget: the same bytes, whatever the format, wherever it was interrupted."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from keepwarm._errors import BudgetError, InputError
from keepwarm._progress import Silent
from keepwarm._resources import Resources
from keepwarm._spill import RunFolder
from keepwarm.diagnose import budget, diagnose
from keepwarm.diagnose.changed import SpilledChanges
from keepwarm.diagnose.engine import examine, examining
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.files import NAMES, report_of, write_report
from keepwarm.diagnose.report.map_file import write_map
from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace import contents, source, spilled
from keepwarm.trace.blocks import Encoded
from keepwarm.trace.encode import PromptEncoder
from keepwarm.trace.readers import FORMATS
from keepwarm.trace.records import Request
from keepwarm.trace.spilled import SpilledBytes
from tests.diagnose.building import LONG
from tests.trace_readers.samples import sample

CHILD = Path(__file__).with_name("budget_child.py")
REQUESTS = 50


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    return Resources(memory_bytes=4 << 30, spill=tmp_path / "spill")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spilled, "_PART_VALUES", 7)
    monkeypatch.setattr(spilled, "_GROUP_BYTES", 300)
    monkeypatch.setattr(spilled, "_GROUPS_KEPT", 2)
    monkeypatch.setattr(contents, "_DECODED_BYTES", 2_000)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Ten conversations that take turns; a clock breaks their prefixes; some lines are of no use."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records()) + b"{\n")
    return path


def records() -> Iterator[dict[str, Any]]:
    for number in range(REQUESTS):
        session, turn = number % 10, number // 10
        messages = [{"role": "system", "content": f"It is 2026-03-{number % 28 + 1:02} now. {LONG}"}]
        for past in range(turn + 1):
            messages.append({"role": "user", "content": f"Question {past} of {session}: {LONG[past:]}"})
            messages.append(
                {"role": "assistant", "content": f"Answer {past} to {session}. {LONG[3 * past :]}"}
            )
        yield {
            "id": f"r{number // 2}",  # twice each
            "timestamp": 1_750_000_000 + 40 * number,
            "session_id": f"s{session}" if session % 2 else None,
            "body": {"model": "m", "messages": messages[:-1], "cache_salt": "x" if session == 3 else None},
            "response": {
                "choices": [{"index": 0, "message": messages[-1], "finish_reason": "stop"}],
                "usage": {
                    "prompt_tokens": 300,
                    "completion_tokens": 9,
                    "prompt_tokens_details": {"cached_tokens": 0 if number % 3 else 200},
                },
            },
        }


def files(path: Path, folder: Path, options: Options, resources: Resources | None) -> dict[str, bytes]:
    """All files of the report, by name."""
    with examining(str(path), options, resources=resources) as examination:
        write_report(report_of(examination, revealed=True), folder, revealed=True)
    return {name: (folder / name).read_bytes() for name in NAMES}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_bytes(
    shared: Path, tmp_path: Path, resources: Resources, name: str
) -> None:
    path = sample(shared, name, tmp_path)
    plain = files(path, tmp_path / "plain", Options(), None)
    assert files(path, tmp_path / "bounded", Options(), resources) == plain
    assert resources.spill is not None
    assert not list(resources.spill.iterdir())


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "options", [{}, {"capacity_blocks": 60}, {"ttl_s": 300.0}, {"block_size": 5}, {"sample": 0.5}], ids=str
)
def test_every_kind_of_answer_is_the_same(
    trace: Path, tmp_path: Path, resources: Resources, options: dict[str, Any]
) -> None:
    chosen = Options(**options)
    plain = files(trace, tmp_path / "plain", chosen, None)
    assert b'"recoverable_tokens"' in plain["diagnosis.json"] or "sample" in options
    assert files(trace, tmp_path / "bounded", chosen, resources) == plain
    assert diagnose(str(trace), chosen, resources=resources) == diagnose(str(trace), chosen)


def child(trace: Path, spill: Path, out: Path, deed: str = "go", after: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, str(CHILD), deed, str(after), "diagnose", str(trace), "--out", str(out)]
    limits = ["--memory", "2GiB", "--spill", str(spill)]
    return subprocess.Popen(command + limits, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.parametrize("deed", ["kill", "kill-within"])
def test_whatever_was_killed_goes_on_to_the_same_bytes(trace: Path, tmp_path: Path, deed: str) -> None:
    spill, out, plain = tmp_path / "spill", tmp_path / "out", tmp_path / "plain"
    write_report(report_of(examine(str(trace)), revealed=False), plain, revealed=False)
    for after in (1, 9, 30, 8):  # each goes on from the one before
        killed = child(trace, spill, out, deed, after)
        killed.communicate(timeout=300)
        if killed.returncode == 0:
            break
        assert killed.returncode == -signal.SIGKILL
        (folder,) = spill.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    last = child(trace, spill, out)
    _, said = last.communicate(timeout=300)
    assert last.returncode == 0, said
    assert {name: (out / name).read_bytes() for name in NAMES} == {
        name: (plain / name).read_bytes() for name in NAMES
    }
    assert not list(spill.iterdir())


def test_ctrl_c_keeps_what_was_done_and_says_so(trace: Path, tmp_path: Path) -> None:
    spill = tmp_path / "spill"
    waiting = child(trace, spill, tmp_path / "out", "wait", 12)
    assert waiting.stderr is not None
    assert waiting.stderr.readline() == "waiting\n"
    waiting.send_signal(signal.SIGINT)
    _, said = waiting.communicate(timeout=300)
    assert waiting.returncode == 130
    assert "the same command goes on" in said
    assert "Traceback" not in said
    resumed = child(trace, spill, tmp_path / "out")
    _, said = resumed.communicate(timeout=300)
    assert resumed.returncode == 0
    assert said.count("goes on from what an interrupted run has left") == 1


def _noting(lines: list[int], method: Callable[[Any, Request], Any]) -> Callable[[Any, Request], Any]:
    def noting(self: Any, request: Request) -> Any:
        lines.append(request.line)
        return method(self, request)

    return noting


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("parts", [4, 25, 34])
def test_nothing_that_was_kept_is_encoded_again(
    trace: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    alone = examine(str(trace))
    plain = alone.diagnosis
    put, written = RunFolder.put, 0

    def full(self: RunFolder, name: str, write: Any) -> Path:
        nonlocal written
        written += 1
        if written > parts:
            raise OSError(28, "No space left on device")
        return put(self, name, write)

    with monkeypatch.context() as patched:
        patched.setattr(RunFolder, "put", full)
        with pytest.raises(InputError, match="No space left on device; make room"):
            diagnose(str(trace), resources=resources)
    assert resources.spill is not None
    (folder,) = resources.spill.iterdir()
    kept = {kind: sum(7 for file in folder.glob(f"{kind}-*")) for kind in ("blocks", "accounts")}
    encoded: list[int] = []
    told: list[int] = []
    monkeypatch.setattr(Traffic, "encode", _noting(encoded, Traffic.encode))
    monkeypatch.setattr(PromptEncoder, "prompt", _noting(told, PromptEncoder.prompt))
    with examining(str(trace), resources=resources) as examination:
        # What is encoded behind the last request is one as it would be without a cause.
        assert encoded[: REQUESTS - kept["blocks"]] == list(range(kept["blocks"] + 1, REQUESTS + 1))
        assert told[0] == kept["accounts"] + 1
        assert msgspec.structs.replace(examination.diagnosis, rows=plain.rows) == plain
        assert examination.diagnosis.rows == plain.rows
        assert write_map(examination.accounts.runs) == write_map(alone.accounts.runs)


@pytest.mark.usefixtures("small_parts")
def test_changed_and_foreign_files_are_not_trusted(
    trace: Path, tmp_path: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("keepwarm.diagnose.engine.site_findings", _interrupted)
        with pytest.raises(Exception, match="the same command goes on"):
            diagnose(str(trace), resources=resources)
    assert resources.spill is not None
    (folder,) = resources.spill.iterdir()
    (part,) = folder.glob("blocks-2.*")
    part.write_bytes(part.read_bytes().replace(b"\1", b"\2", 1))
    (part,) = folder.glob("texts-3.*")
    part.write_bytes(part.read_bytes()[:-9])
    (folder / "accounts-1.parquet").write_bytes(b"PAR1 what is this")
    (folder / f"rows-99.{'0' * 40}").symlink_to(trace)
    told: list[Path] = []
    found = diagnose(str(trace), resources=resources, on_resume=told.append)
    assert (found, told) == (diagnose(str(trace)), [folder])


def _interrupted(*_: object) -> Any:
    raise KeyboardInterrupt


def test_another_trace_or_other_options_never_use_it(
    trace: Path, tmp_path: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = set()
    put = RunFolder.__init__

    def noted(self: RunFolder, path: Path, key: str) -> None:
        keys.add(key)
        put(self, path, key)

    monkeypatch.setattr(RunFolder, "__init__", noted)
    other = tmp_path / "other.jsonl"
    other.write_bytes(trace.read_bytes().replace(b"Question 0", b"Question 9", 1))
    diagnose(str(trace), resources=resources)
    diagnose(str(trace), Options(block_size=32), resources=resources)
    diagnose(str(trace), Options(ttl_s=60.0), resources=resources)
    diagnose(str(other), resources=resources)
    assert len(keys) == 4


@pytest.mark.usefixtures("small_parts")
def test_a_budget_that_cannot_be_kept_is_refused_early(trace: Path, tmp_path: Path) -> None:
    heard = Stages()
    with pytest.raises(BudgetError, match=r"give --memory [0-9.]+GiB, or estimate with --sample"):
        diagnose(
            str(trace), progress=heard, resources=Resources(memory_bytes=1 << 20, spill=tmp_path / "spill")
        )
    assert heard.stages == ["reading"]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(("size", "is_refused"), [(1 << 20, False), (120 << 20, True)])
def test_what_the_rest_of_the_trace_will_take_is_foreseen(
    trace: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch, size: int, is_refused: bool
) -> None:
    monkeypatch.setattr(budget, "_BYTES_PER_REQUEST", size)
    monkeypatch.setattr(budget, "_BYTES_PER_TEXT", 0)
    monkeypatch.setattr(source, "_CHUNK_BYTES", 1_000)  # what was read and not catalogued counts as done
    encoded: list[int] = []
    monkeypatch.setattr(Traffic, "encode", _noting(encoded, Traffic.encode))
    # Half of the requests would fit.
    with pytest.raises(BudgetError, match="give --memory") if is_refused else nullcontext():
        diagnose(str(trace), resources=resources)
    assert (len(encoded) < REQUESTS // 2) is is_refused


def test_a_run_takes_no_more_than_was_foreseen(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    with trace.open("wb") as file:
        for number in range(1_500):
            messages = [
                {"role": "system", "content": f"It is {number} now. {LONG}"},
                {"role": "user", "content": f"Say {number * number}."},
            ]
            file.write(
                msgspec.json.encode({"id": f"r{number}", "body": {"model": "m", "messages": messages}})
            )
            file.write(b"\n")
    command = [sys.executable, "-c", _PEAK, str(trace), str(tmp_path / "out")]
    foreseen, peak = map(int, subprocess.check_output(command).split())
    assert peak <= foreseen


_PEAK = """
import re, sys
from pathlib import Path
from keepwarm._progress import Silent
from keepwarm._resources import Resources
from keepwarm._spill import run_folder
from keepwarm.diagnose.budget import Budget
from keepwarm.diagnose.engine import examine_trace
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.report.files import report_of, write_report
from keepwarm.trace.open import open_trace
trace, out = map(Path, sys.argv[1:])
with run_folder(Resources(spill=out / "spill"), "key") as folder:
    budget = Budget(512 << 20, folder, Silent())
    examination = examine_trace(open_trace(str(trace), "auto"), Options(), budget.stores, budget)
    write_report(report_of(examination, revealed=False), out, revealed=False)
    # ru_maxrss would begin with what the parent held when it forked.
    peak_kib = re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
    print(budget.estimated_bytes(1.0), 1024 * int(peak_kib))
"""


class Stages(Silent):
    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str, total: int | None) -> None:
        self.stages.append(name)


@pytest.mark.usefixtures("small_parts")
def test_bytes_come_back_by_number_from_parts_and_from_memory(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "k")
    kept = SpilledBytes(folder, "texts")
    values = [bytes([n]) * (n * n % 400) for n in range(100)]
    for value in values:
        kept.append(value)
    assert [kept[n] for n in range(100)] == values
    assert [kept[n] for n in reversed(range(100))] == values[::-1]
    with pytest.raises(IndexError):
        kept[100]
    again = SpilledBytes(RunFolder(tmp_path, "k"), "texts")
    assert again.found == 98  # whole parts of seven
    for n, value in enumerate(values):
        again.append(b"not looked at" if n < 98 else value)
    assert [again[n] for n in range(100)] == values


def test_prompts_laid_out_anew_come_back_by_row(tmp_path: Path) -> None:
    changes = SpilledChanges(RunFolder(tmp_path, "k").scratch())
    wanted: dict[int, Encoded] = {}
    for row, blocks in [(5, 3), (2, 0), (9, 70_000), (5, 4), (0, 1)]:
        hashes = np.arange(blocks, dtype=np.uint64) * np.uint64(row + blocks)
        changes[row] = wanted[row] = Encoded(hashes, 16 * blocks + row)
        for known, encoded in wanted.items():
            assert changes[known].blocks.tolist() == encoded.blocks.tolist()
            assert changes[known].prompt_tokens == encoded.prompt_tokens
    assert list(changes) == [5, 2, 9, 0]
