"""Within a budget: the same bytes, whatever the format, wherever it was interrupted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from keepwarm import SimulateOptions, Simulation, simulate_cache
from keepwarm._errors import InputError, Interrupted
from keepwarm._json import to_json
from keepwarm._resources import Resources
from keepwarm._spill import RunFolder
from keepwarm.cache.parts import PartMaker
from keepwarm.cache.places import InFiles
from keepwarm.cache.report.as_json import simulation_document
from keepwarm.trace.readers import FORMATS
from tests.cache.traces import THREE, chat, hashed, write_lines
from tests.trace_readers.samples import sample

CHILD = Path(__file__).with_name("budget_child.py")
TABLE = ("--policy", "lru,belady", "--capacity-blocks", "8,16,40", "--curve", "--no-store", "--json")
KILLS = [("kill-within", 1), ("kill", 7), ("kill-within", 48), ("kill", 50), ("kill", 58)]
CLOCKLESS = {"block_size": 4, "hash_id_scope": "global"}


@pytest.fixture
def resources(tmp_path: Path) -> Resources:
    return Resources(memory_bytes=4 << 30, spill=tmp_path / "spill")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PartMaker.__init__, "__defaults__", (24,))
    monkeypatch.setattr("keepwarm.cache.bounded.Bounded.most_hashes", 10)
    monkeypatch.setattr("keepwarm.cache.dense.PIECE_BLOCKS", 16)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Sixty prompts of up to eight blocks that go on from one another; some lines are of no use."""
    rng = random.Random(3)
    prompts = [[rng.randrange(40)]]
    for _ in range(59):
        start = rng.choice(prompts)
        prompts.append([*start[: rng.randrange(1, 8)], *rng.sample(range(100, 900), rng.randrange(3))])
    records = [hashed(ids, output=rng.choice([0, 9])) for ids in prompts]
    path = write_lines(tmp_path / "t.jsonl", records)
    path.write_text(path.read_text() + "{\n")
    return path


def document(simulation: Simulation) -> bytes:
    return to_json(simulation_document(simulation))


def both(path: Path, resources: Resources, **options: Any) -> tuple[Simulation, Simulation]:
    chosen = SimulateOptions(store=False, **options)
    return simulate_cache(str(path), chosen), simulate_cache(str(path), chosen, resources=resources)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_bytes(
    shared: Path, tmp_path: Path, resources: Resources, name: str
) -> None:
    plain, bounded = both(sample(shared, name, tmp_path), resources, policies=("lru", "belady"))
    assert document(plain) == document(bounded)
    assert resources.spill is not None
    assert not list(resources.spill.iterdir())


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "options",
    [{"curve": True}, {"ignore_output": True}, {"sample": 0.5}, {"sample": 1.0}, {"match_unit_tokens": 8}],
    ids=str,
)
def test_every_kind_of_answer_is_the_same(trace: Path, resources: Resources, options: dict[str, Any]) -> None:
    plain, bounded = both(trace, resources, **options)
    assert plain.input.skipped
    assert document(plain) == document(bounded)


@pytest.mark.usefixtures("small_parts")
def test_sessions_without_a_common_clock_are_merged_on_disk_too(tmp_path: Path, resources: Resources) -> None:
    rng = random.Random(5)
    sessions = []
    for number in range(12):
        turns = np.cumsum([rng.randrange(9) for _ in range(rng.randrange(1, 9))]).tolist()
        entries = [
            {
                "t": t,
                "in": 4 * (turn + 1),
                "out": 1,
                "hash_ids": [number % 3, *range(100 * number, 100 * number + turn)],
            }
            for turn, t in enumerate(turns)
        ]
        sessions.append({"id": f"s{number}", **CLOCKLESS, "requests": entries})
    path = write_lines(tmp_path / "s.jsonl", sessions)
    plain, bounded = both(path, resources, policies=("lru",), curve=True)
    assert plain.input.time_merged
    assert document(plain) == document(bounded)


def interrupted(after: int, path: Path, options: SimulateOptions, resources: Resources) -> None:
    """Ctrl-C when so many files are written."""
    put, written = RunFolder.put, 0

    def counted(self: RunFolder, name: str, write: Callable[[Any], object]) -> Path:
        nonlocal written
        if written >= after:  # a thread that has not heard of it yet writes nothing more
            raise KeyboardInterrupt
        file = put(self, name, write)
        written += 1
        if written == after:
            raise KeyboardInterrupt
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "put", counted)
        with pytest.raises(Interrupted):
            simulate_cache(str(path), options, resources=resources)


@pytest.mark.usefixtures("small_parts")
def test_what_parts_cover_is_not_encoded_again(
    tmp_path: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "t.jsonl", [chat(f"{number} ab cd " * 40) for number in range(20)])
    options = SimulateOptions(policies=("lru",), store=False)
    expected = document(simulate_cache(str(path), options))
    from keepwarm.cache import load

    encoded, encode = [], load.encoded_ids

    def count(*arguments: Any) -> Any:
        encoded.append(1)
        return encode(*arguments)

    monkeypatch.setattr(load, "encoded_ids", count)
    interrupted(6, path, options, resources)
    first = len(encoded)
    assert 0 < first < 20
    told: list[Path] = []
    assert (
        document(simulate_cache(str(path), options, resources=resources, on_resume=told.append)) == expected
    )
    assert len(encoded) == 20
    assert len(told) == 1


def test_a_finished_trace_is_not_read_again_and_finished_rows_not_computed_again(
    trace: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SimulateOptions(policies=("lru",), capacities_blocks=(8, 16), threads=1, store=False)
    expected = document(simulate_cache(str(trace), options))
    interrupted(5, trace, options, resources)  # hashes and requests of one part, the ids, the requests, a row
    monkeypatch.delattr("keepwarm.cache.spilled.read_parts")
    replayed: list[int] = []
    from keepwarm.cache import model

    run_kernel = model.run_kernel

    def count(*arguments: Any, **named: Any) -> Any:
        replayed.append(named["capacity_blocks"])
        return run_kernel(*arguments, **named)

    monkeypatch.setattr(model, "run_kernel", count)
    assert document(simulate_cache(str(trace), options, resources=resources)) == expected
    assert replayed == [16]


def test_other_capacities_go_on_from_the_same_state(
    trace: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = SimulateOptions(policies=("lru",), capacities_blocks=(8, 16), threads=1, store=False)
    interrupted(5, trace, options, resources)
    other = msgspec.structs.replace(options, capacities_blocks=(9,), ignore_output=True)
    expected = document(simulate_cache(str(trace), other))
    monkeypatch.delattr("keepwarm.cache.spilled.read_parts")
    assert document(simulate_cache(str(trace), other, resources=resources)) == expected


def test_a_changed_trace_shares_nothing(trace: Path, resources: Resources) -> None:
    options = SimulateOptions(policies=("lru",), store=False)
    interrupted(3, trace, options, resources)
    write_lines(trace, THREE)
    plain, bounded = both(trace, resources, policies=("lru",))
    assert document(plain) == document(bounded)


def test_a_server_that_tokenises_is_refused(tmp_path: Path, resources: Resources) -> None:
    path = write_lines(tmp_path / "t.jsonl", [chat("a")])
    options = SimulateOptions(tokenizer="http://127.0.0.1:9")
    with pytest.raises(InputError, match="is a server, whose tokens may change"):
        simulate_cache(str(path), options, resources=resources)


@pytest.mark.parametrize("place", ["blank", "filled"])
@pytest.mark.usefixtures("small_parts")
def test_no_room_on_the_disk_is_one_line(
    trace: Path, resources: Resources, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def full(self: InFiles, *_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(InFiles, place, full)
    with pytest.raises(InputError, match="No space left on device; make room or name another folder"):
        simulate_cache(str(trace), SimulateOptions(), resources=resources)


def command(deed: str, after: int, trace: Path, *options: str) -> list[str]:
    call = [sys.executable, str(CHILD), deed, str(after), "simulate", "cache", str(trace), *TABLE]
    return [*call, *options]


def run(deed: str, after: int, trace: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    root = Path(__file__).resolve().parents[2]
    environment = os.environ | {"PYTHONPATH": str(root)}
    return subprocess.run(command(deed, after, trace, *options), capture_output=True, env=environment)


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    rng = random.Random(9)
    records = [hashed([rng.randrange(3), *range(10 * (n % 7), 10 * (n % 7) + 5), n]) for n in range(80)]
    path = write_lines(tmp_path_factory.mktemp("trace") / "t.jsonl", records)
    plain = run("go", 0, path)
    assert plain.returncode == 0, plain.stderr
    return path, plain.stdout


@pytest.mark.parametrize(("deed", "after"), KILLS)
def test_a_killed_run_goes_on(long_trace: tuple[Path, bytes], tmp_path: Path, deed: str, after: int) -> None:
    path, expected = long_trace
    budget = ("--memory", "1GiB", "--spill", str(tmp_path / "spill"))
    killed = run(deed, after, path, *budget)
    assert killed.returncode == -signal.SIGKILL
    assert killed.stdout == b""
    done = run("go", 0, path, *budget)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
    nothing_whole = (deed, after) == ("kill-within", 1)
    assert (b"goes on from what an interrupted run has left in" in done.stderr) is not nothing_whole
    assert done.stderr.count(b"\n") == (0 if nothing_whole else 1)
    assert not list((tmp_path / "spill").iterdir())


@pytest.mark.parametrize("after", [5, 58])
def test_ctrl_c_says_how_to_go_on(long_trace: tuple[Path, bytes], tmp_path: Path, after: int) -> None:
    path, expected = long_trace
    budget = ("--memory", "1GiB", "--spill", str(tmp_path / "spill"))
    stopped = run("interrupt", after, path, *budget)
    assert (stopped.returncode, stopped.stdout) == (130, b"")
    said = stopped.stderr.decode()
    assert said.startswith("keepwarm: interrupted; the same command goes on from what is in ")
    assert said.count("\n") == 1
    assert run("go", 0, path, *budget).stdout == expected
