"""deploy/modal_app.py with stand-ins for Modal's few names, and for the programs vllm and keepwarm.

That the file fits Modal's own types and can be imported beside the real package is checked by hand
(docs/how-to/modal.md): its package is not among what the tests install.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from keepwarm.canary.servers.process import reserved_port
from tests.deploy.compose import DEPLOY


class Chain:
    """An image: remembers how it is built, each step gives it back."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Callable[..., Chain]:
        if name not in (
            "from_registry",
            "entrypoint",
            "add_local_dir",
            "add_local_file",
            "run_commands",
            "env",
        ):
            raise AttributeError(name)

        def step(*arguments: Any, **options: Any) -> Chain:
            self.steps.append((name, arguments, options))
            return self

        return step


class Volume:
    def __init__(self, name: str, create_if_missing: bool) -> None:
        self.name, self.create_if_missing, self.commits = name, create_if_missing, 0

    @staticmethod
    def from_name(name: str, *, create_if_missing: bool = False) -> Volume:
        return Volume(name, create_if_missing)

    def commit(self) -> None:
        self.commits += 1


class Secret:
    def __init__(self, name: str) -> None:
        self.name = name

    @staticmethod
    def from_name(name: str) -> Secret:
        return Secret(name)


class App:
    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[str, dict[str, Any]] = {}

    def function(self, **options: Any) -> Callable[[Any], Any]:
        def register(function: Any) -> Any:
            self.functions[function.__name__] = options
            function.remote = function
            return function

        return register

    def local_entrypoint(self) -> Callable[[Any], Any]:
        return lambda function: function


def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, imported anew beside the stand-in."""
    modal = ModuleType("modal")
    for name, value in {"App": App, "Image": Chain(), "Volume": Volume, "Secret": Secret}.items():
        setattr(modal, name, value)
    monkeypatch.setitem(sys.modules, "modal", modal)
    spec = importlib.util.spec_from_file_location("modal_app", DEPLOY / "modal_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SERVER = """#!{python}
import http.server, os, sys
if os.environ.get("COMPUTECACHE_MODE") == "broken":
    sys.exit(3)
print("serving", sys.argv[1:], flush=True)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ.get("COMPUTECACHE_MODE", "").encode())
    def log_message(self, *arguments): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""
REPLAY = """#!{python}
import pathlib, sys, urllib.request
arguments = sys.argv[1:]
value = lambda option: arguments[arguments.index(option) + 1]
if "--refuse" in arguments:
    sys.exit(2)
out = pathlib.Path(value("--out")); out.mkdir()
mode = urllib.request.urlopen(value("--base-url") + "/mode").read().decode()
trace = pathlib.Path(arguments[1]).read_text()
out.joinpath("run.json").write_text(" ".join([value("--label"), mode, trace]))
"""


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """The module with folders of this test, a free port, and programs that stand in for the real ones."""
    module = load(monkeypatch)
    held = reserved_port()
    port = held.getsockname()[1]
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {"vllm": SERVER, "keepwarm": REPLAY}.items():
        (programs / name).write_text(text.replace("{python}", sys.executable))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    results = tmp_path / "results"
    results.mkdir()
    for name, value in {"PORT": port, "URL": f"http://127.0.0.1:{port}", "RESULTS": str(results)}.items():
        monkeypatch.setattr(module, name, value)
    with held:
        yield module


def measure(app: Any, **changes: Any) -> str:
    given = {"trace": b"{}", "name": "t.jsonl", "label": "before", "settings": "", "max_model_len": 4096}
    return str(app.measure(**given | {"serve": "", "replay": ""} | changes))


def test_what_is_asked_of_modal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPWARM_MODAL_SECRETS", "hugging-face,other")
    app = load(monkeypatch)
    options = app.app.functions["measure"]
    assert options["gpu"] == "L4"
    assert [secret.name for secret in options["secrets"]] == ["hugging-face", "other"]
    assert {path: volume.name for path, volume in options["volumes"].items()} == {
        "/models": "keepwarm-models",
        "/results": "keepwarm-replays",
    }
    assert options["timeout"] <= 24 * 3600
    assert options["max_containers"] == 1
    names = [name for name, _, _ in options["image"].steps]
    assert names[0] == "from_registry"
    copied = [(step[1][0], step[2]) for step in options["image"].steps if step[0].startswith("add_local")]
    assert all(path.exists() and given["copy"] for path, given in copied)
    monkeypatch.delenv("KEEPWARM_MODAL_SECRETS")
    assert load(monkeypatch).app.functions["measure"]["secrets"] == []


def test_what_is_pinned(app: Any) -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    registry = next(step for step in app.image.steps if step[0] == "from_registry")
    assert registry[1] == ("vllm/vllm-openai:v0.32.0",)
    assert f"FROM {registry[1][0]} AS" in dockerfile
    command = app.server_command(4096)
    assert command[command.index("--revision") + 1] == app.REVISION
    assert re.fullmatch(r"[0-9a-f]{40}", app.REVISION)
    assert command[:3] == ["vllm", "serve", "Qwen/Qwen3-4B"]
    assert {"--enable-prompt-tokens-details", "--enable-prefix-caching"} <= set(command)


def test_a_run_leaves_its_evidence_and_ends_its_server(app: Any, tmp_path: Path) -> None:
    settings = "COMPUTECACHE_MODE=active COMPUTECACHE_PROTECTED_SHARE=0.4"
    out = Path(measure(app, settings=settings, serve="--seed 1"))
    assert (out / "run.json").read_text() == "before active {}"
    log = (tmp_path / "results" / "before.server.log").read_text()
    assert "'--max-model-len', '4096'" in log
    assert "'--seed', '1'" in log
    assert app.results.commits == app.models.commits == 1
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", app.PORT), timeout=5)
    with pytest.raises(RuntimeError, match="has a run 'before' already"):
        measure(app)


def test_a_server_that_does_not_start_is_said_and_its_log_kept(app: Any, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="vLLM ended with 3 before it served"):
        measure(app, settings="COMPUTECACHE_MODE=broken")
    assert (tmp_path / "results" / "before.server.log").exists()
    assert app.results.commits == 1


def test_a_replay_that_refuses_is_said(app: Any) -> None:
    with pytest.raises(RuntimeError, match="keepwarm replay ended with 2"):
        measure(app, replay="--refuse")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", app.PORT), timeout=5)


@pytest.mark.parametrize(
    "settings", ["PATH=/x", "COMPUTECACHE_MODE", "COMPUTECACHE_MODE=a;b", "LD_PRELOAD=x"]
)
def test_only_settings_of_computecache_are_passed_on(app: Any, settings: str) -> None:
    with pytest.raises(ValueError, match="is no setting of ComputeCache"):
        app.server_environment(settings)


@pytest.mark.parametrize("label", ["", "../x", "a/b", "-x", "x" * 65])
def test_a_label_names_a_folder_of_the_volume(app: Any, tmp_path: Path, label: str) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}")
    with pytest.raises(SystemExit, match=r"keepwarm: label .* is no short name"):
        app.main(str(trace), label)


def test_the_command_of_the_guide(app: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = tmp_path / "trace.jsonl"
    trace.write_text("{}")
    app.main(str(trace), "after")
    assert capsys.readouterr().out.endswith("modal volume get keepwarm-replays after .\n")
    with pytest.raises(SystemExit, match=r"^keepwarm: .*No such file"):
        app.main(str(tmp_path / "none.jsonl"), "after")


def test_the_guide_names_what_there_is(app: Any, repository: Path) -> None:
    import inspect

    page = (repository / "docs" / "how-to" / "modal.md").read_text()
    known = {f"--{name.replace('_', '-')}" for name in inspect.signature(app.main).parameters}
    used = set(re.findall(r"modal run deploy/modal_app\.py ([^\n]*)", page))
    assert used
    for line in used:
        outside = re.sub(r"'[^']*'", "", line)
        assert set(re.findall(r"--[a-z-]+", outside)) <= known, line
    assert "nobody has run it" in page
    for name in ("KEEPWARM_MODAL_SECRETS", app.MODEL, app.REVISION, "keepwarm-replays", "keepwarm-models"):
        assert name in page
