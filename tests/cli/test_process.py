"""What only a real process shows: start-up imports, exit codes, pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "numpy",
    "numba",
    "pyarrow",
    "jinja2",
    "tokenizers",
    "transformers",
    "rapidfuzz",
    "rich",
    "httpx2",
    "msgspec",
)


def keepwarm(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "keepwarm", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["diagnose", "--help"], ["simulate", "cache", "--help"]]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = (
        "import sys\n"
        "from keepwarm.cli import main\n"
        f"sys.argv = ['keepwarm', *{arguments!r}]\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        f"    print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == "[]\n"
    assert "keepwarm" in done.stdout


def test_a_missing_trace_is_one_line(tmp_path: Path) -> None:
    done = keepwarm("diagnose", str(tmp_path / "no such file.jsonl"))
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.startswith(b"keepwarm: ")
    assert done.stderr.count(b"\n") == 1


def test_a_real_trace_twice(shared: Path, tmp_path: Path) -> None:
    trace = str(shared / "cases" / "breaks" / "clock-1.jsonl")
    outputs = []
    for name in ("a", "b"):
        out = tmp_path / name
        done = keepwarm("diagnose", trace, "--json", "--out", str(out), "--fail-under", "1")
        assert done.returncode == 1
        assert done.stderr.startswith(b"keepwarm: the simulated hit rate ")
        outputs.append([done.stdout, *(path.read_bytes() for path in sorted(out.iterdir()))])
    assert outputs[0] == outputs[1]
    document = json.loads(outputs[0][0])
    assert document["findings"][0]["cause"] == "clock"
    tokens = document["tokens"]
    assert sum(tokens.values()) == 2 * tokens["prompt"]


def test_a_full_disk_behind_standard_output() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "keepwarm", "causes"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    said = b"keepwarm: cannot write standard output: No space left on device; redirect it elsewhere\n"
    assert done.stderr == said


@pytest.mark.parametrize("argument", ["causes", "--help", "--version"])
def test_a_reader_that_goes_away_is_met_with_silence(argument: str) -> None:
    command = [sys.executable, "-m", "keepwarm", argument]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141


def test_a_terminal_that_speaks_ascii() -> None:
    done = keepwarm("causes", env={"PYTHONIOENCODING": "ascii", "PATH": ""})
    assert done.returncode == 0
    assert done.stdout.isascii()


def test_a_value_of_any_length_is_a_line_of_some(tmp_path: Path) -> None:
    done = keepwarm("diagnose", f"{tmp_path}/{'ä' * 9000}")
    assert done.returncode == 2
    line = done.stderr.decode()
    assert len(line) < 2100
    assert " … " in line
    assert line.count("\n") == 1
