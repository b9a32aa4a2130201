"""The documentation says what is so: its commands run, its generated parts are fresh, it builds."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.fit import fit
from keepwarm.reuse.model import dumps
from scripts import generate_docs

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(REPOSITORY.glob("*.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    REPOSITORY / "bench" / "README.md",
    REPOSITORY / "examples" / "helpdesk" / "README.md",
]
FENCE = re.compile(r"^```(?:sh|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent
MODEL = {  # the shape of a model of eight billion parameters
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072,
}
NO_SERVER = "localhost:1"  # a privileged port on which nothing listens


class Command(NamedTuple):
    """A command as a page shows it."""

    page: str
    line: str


def documented_commands() -> list[Command]:
    commands = set()
    for page in PAGES:
        for block in FENCE.findall(page.read_text()):
            for line in re.sub(r"\\\n\s*", " ", block).splitlines():
                text = line.removeprefix("$ ").split(" #")[0].strip()
                if text:
                    commands.add(Command(str(page.relative_to(REPOSITORY)), text))
    return sorted(commands)


COMMANDS = documented_commands()
OURS = [command for command in COMMANDS if re.match(r"(\S*/)?keepwarm\b", command.line)]
# They need a server, a repository or an agent, or go on until they are ended, and have tests of their own:
# here only their words are read.
READ_ONLY = re.compile(
    r"(\S*/)?keepwarm "
    r"(canary|check|compare|evidence|profile|record|replay|serve|sweep|task|verify|vllm|diagnose before)\b"
)
READ = [command for command in OURS if READ_ONLY.match(command.line)]
KEEPWARM = [command for command in OURS if command not in READ]
OTHERS = [command for command in COMMANDS if command not in OURS]
OTHER_PROGRAMS = {".", "docker", "export", "git", "modal", "pip", "pytest", "sudo"}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, test_tokenizers: Path) -> Path:
    """A folder with every file that the documentation's examples name, all of them real and small."""
    folder = tmp_path_factory.mktemp("desk")
    with gzip.open(REPOSITORY / "examples" / "helpdesk" / "traffic.jsonl.gz", "rt") as file:
        lines = [next(file) for _ in range(24)]
    for name in ("trace.jsonl", "YOUR-TRACE.jsonl", "agents.jsonl", "chat.jsonl"):
        (folder / name).write_text("".join(lines))
    (folder / "pictures").mkdir()
    calls = [f"task-{n % 9},r,{n},0,0,0,{n % 7 + 0.5},1,{('ls', 'make')[n % 2]} {n % 5}" for n in range(99)]
    head = "task,run,step,cost,t_llm_end,t_tool_end,tool_s,llm_s,command"
    (folder / "durations.csv").write_text("\n".join([head, *calls, ""]))
    durations = read_durations([folder / "durations.csv"]).durations
    (folder / "model.json").write_bytes(dumps(fit(durations)))
    example = folder / "examples" / "helpdesk"
    example.mkdir(parents=True)
    (example / "traffic.jsonl.gz").write_bytes(gzip.compress("".join(lines).encode()))
    (folder / "path" / "to").mkdir(parents=True)
    model = min(test_tokenizers.glob("*/tokenizer.json")).parent
    (folder / "path" / "to" / "model").symlink_to(model)
    (folder / "template.jinja").write_text("{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}")
    (folder / "config.json").write_text(json.dumps(MODEL))
    return folder


@pytest.mark.parametrize("command", KEEPWARM, ids=[f"{page}: {line}" for page, line in KEEPWARM])
def test_a_documented_command_runs(command: Command, desk: Path) -> None:
    line = command.line.split(" > ")[0]
    request_id = json.loads((desk / "trace.jsonl").read_text().splitlines()[5])["id"]
    words = [
        word.replace("localhost:8000", NO_SERVER)
        .replace("REQUEST", request_id)
        .replace("[CODE]", "clock")
        .replace("20,40", "2,4")  # sessions: the file has few
        .replace("CODE", "clock")
        for word in shlex.split(line)
    ]
    words[0] = str(BIN / "keepwarm")
    done = subprocess.run(
        words, cwd=desk, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )
    server_needed = "http://" in command.line
    if server_needed:  # nothing listens there: the call is understood and refused with one clear line
        assert done.returncode == 2
        assert NO_SERVER in done.stderr
        assert done.stderr.count("\n") == 1
    else:
        # A gate may say no to the example, which is exit 1; a wrong call is 2.
        assert done.returncode in ({0, 1} if "--fail-under" in words else {0}), done.stderr
        assert done.stdout


@pytest.mark.parametrize("command", READ, ids=[f"{page}: {line}" for page, line in READ])
def test_a_documented_command_can_be_read(command: Command) -> None:
    from keepwarm.cli.app import app

    found: Any = typer.main.get_command(app)
    words = shlex.split(command.line.split(" > ")[0])[1:]
    while hasattr(found, "commands"):
        found = found.commands[words.pop(0)]
    if "..." in words:  # the rest is as shown before
        options = {option for parameter in found.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options
    else:
        found.make_context("keepwarm", words)


@pytest.mark.parametrize("command", OTHERS, ids=[f"{page}: {line}" for page, line in OTHERS])
def test_every_other_documented_command_is_known(command: Command) -> None:
    words = shlex.split(command.line)
    if words[0] == "make":
        targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
        assert set(words[1:]) <= targets
    elif words[:3] == ["python", "-m", "bench"]:
        from bench.harness import benches

        assert {word for word in words[3:] if not word.startswith("-")} <= set(benches())
    elif words[0] not in OTHER_PROGRAMS:
        assert re.match(r"python3 -m venv \S+ && \S+/pip install .*\.$", command.line)


def test_generated_documentation_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    status = generate_docs.main(["--check"])
    assert status == 0, capsys.readouterr().out


def test_every_cause_has_its_page() -> None:
    from keepwarm.diagnose.rules import CAUSES

    pages = {page.stem for page in (REPOSITORY / "docs" / "causes").glob("*.md")} - {"index"}
    assert pages == set(CAUSES)


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [BIN / "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=REPOSITORY,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").exists()


def test_links_between_hand_written_pages_resolve() -> None:
    pages = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "bench" / "README.md"]
    broken = [
        f"{page.name} -> {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())
        if not (page.parent / target).exists()
    ]
    assert broken == []
