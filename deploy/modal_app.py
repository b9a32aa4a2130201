"""vLLM 0.32.0 with Qwen3-4B on one L4 of Modal, and `keepwarm replay` beside it; results go to a volume.

    modal run deploy/modal_app.py --trace trace.jsonl --label before
    modal volume get keepwarm-replays before .

Unmeasured: the file is type-checked and import-tested, but nobody has run it on Modal yet. The commands are
in docs/how-to/modal.md.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import modal

VLLM = "0.32.0"
MODEL = "Qwen/Qwen3-4B"
REVISION = "1cfa9a7208912126459214e8b04321603b3df60c"
GPU = "L4"
PORT = 8000
URL = f"http://127.0.0.1:{PORT}"
STARTUP_LIMIT_S = 1200  # the first start downloads 8 GB and compiles
RUN_LIMIT_S = 4 * 3600
END_LIMIT_S = 30
MOST_TRACE_BYTES = 64 << 20
MODELS = "/models"
RESULTS = "/results"
REPOSITORY = Path(__file__).resolve().parent.parent
# Names of Modal secrets, created beforehand, with commas between them; values never come near this file.
SECRETS = [name for name in os.environ.get("KEEPWARM_MODAL_SECRETS", "").split(",") if name]
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SETTING = re.compile(r"(COMPUTECACHE_[A-Z_]+)=([\w.]+)")

app = modal.App("keepwarm-replay")
models = modal.Volume.from_name("keepwarm-models", create_if_missing=True)
results = modal.Volume.from_name("keepwarm-replays", create_if_missing=True)
image = (
    # The same image as in deploy/Dockerfile. Modal looks for `python`, and starts programs of its own.
    modal.Image.from_registry(
        f"vllm/vllm-openai:v{VLLM}",
        setup_dockerfile_commands=["RUN ln -sf $(command -v python3) /usr/local/bin/python"],
    )
    .entrypoint([])
    .add_local_dir(REPOSITORY / "src", "/keepwarm/src", copy=True, ignore=["**/__pycache__"])
    .add_local_file(REPOSITORY / "pyproject.toml", "/keepwarm/pyproject.toml", copy=True)
    .add_local_file(REPOSITORY / "README.md", "/keepwarm/README.md", copy=True)
    .add_local_file(REPOSITORY / "LICENSE", "/keepwarm/LICENSE", copy=True)
    # Installed: vLLM finds the plugin by its entry point. vLLM is named beside it, so that it stays as it is.
    .run_commands(f"uv pip install --system vllm=={VLLM} /keepwarm")
    .env({"HF_HOME": MODELS, "VLLM_CACHE_ROOT": f"{MODELS}/vllm", "VLLM_SERVER_DEV_MODE": "1"})
)


def server_command(max_model_len: int, arguments: str = "") -> list[str]:
    """The server's command line; ``arguments`` are more flags of vLLM, as typed in a shell."""
    return [
        "vllm",
        "serve",
        MODEL,
        *("--revision", REVISION),
        *("--host", "127.0.0.1"),
        *("--port", str(PORT)),
        *("--max-model-len", str(max_model_len)),
        *("--gpu-memory-utilization", "0.90"),
        "--enable-prefix-caching",
        "--enable-prompt-tokens-details",
        *shlex.split(arguments),
    ]


def server_environment(settings: str) -> dict[str, str]:
    """ComputeCache's settings, as ``COMPUTECACHE_MODE=active COMPUTECACHE_RULE=window``; none: stock vLLM.

    Raises ValueError: something that is no such setting.
    """
    environment: dict[str, str] = {}
    for word in settings.split():
        match = _SETTING.fullmatch(word)
        if match is None:
            raise ValueError(f"{word!r} is no setting of ComputeCache; write COMPUTECACHE_MODE=active")
        environment[match[1]] = match[2]
    return environment


def replay_command(trace: Path, label: str, out: Path, arguments: str = "") -> list[str]:
    """The replay's command line; ``arguments`` are more options of it, as typed in a shell."""
    return [
        "keepwarm",
        "replay",
        str(trace),
        *("--base-url", URL),
        *("--label", label),
        *("--out", str(out)),
        *shlex.split(arguments),
    ]


def check_label(label: str) -> None:
    """Raises ValueError: it names a folder of the volume, and nothing outside of it."""
    if not _LABEL.fullmatch(label):
        raise ValueError(f"label {label!r} is no short name; write before or after")


@app.function(
    image=image,
    gpu=GPU,
    timeout=RUN_LIMIT_S,
    volumes={MODELS: models, RESULTS: results},
    secrets=[modal.Secret.from_name(name) for name in SECRETS],
    max_containers=1,  # one server at a time: two would share nothing but the bill
)
def measure(
    trace: bytes, name: str, label: str, settings: str, max_model_len: int, serve: str, replay: str
) -> str:
    """Serve, replay, keep: the folder of the volume that the replay's evidence lies in.

    Raises RuntimeError: the server did not start, or the replay refused; the server's log is in the volume.
    """
    check_label(label)
    recorded = Path("/tmp") / Path(name).name  # noqa: S108 - a container of its own
    recorded.write_bytes(trace)
    out, log = Path(RESULTS) / label, Path(RESULTS) / f"{label}.server.log"
    if out.exists():
        raise RuntimeError(f"the volume has a run {label!r} already; choose another label or remove it")
    environment = {**os.environ, **server_environment(settings)}
    try:
        with log.open("wb") as said:
            command = server_command(max_model_len, serve)
            server = subprocess.Popen(command, env=environment, stdout=said, stderr=subprocess.STDOUT)  # noqa: S603
            try:
                wait_until_healthy(server)
                code = subprocess.call(replay_command(recorded, label, out, replay))  # noqa: S603
            finally:
                end(server)
        if code:
            raise RuntimeError(f"keepwarm replay ended with {code}; what it said is above")
    finally:
        results.commit()
        models.commit()
    return str(out)


def wait_until_healthy(server: subprocess.Popen[bytes], limit_s: float = STARTUP_LIMIT_S) -> None:
    """Returns as soon as the server answers. Raises RuntimeError: it ended, or took too long."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        code = server.poll()
        if code is not None:
            raise RuntimeError(f"vLLM ended with {code} before it served; its log is in the volume")
        try:
            with urllib.request.urlopen(f"{URL}/health", timeout=5) as answer:  # noqa: S310 - our own address
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise RuntimeError(f"vLLM did not serve within {limit_s:g} s; its log is in the volume")


def end(server: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then make it."""
    server.terminate()
    try:
        server.wait(END_LIMIT_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


@app.local_entrypoint()
def main(
    trace: str,
    label: str,
    settings: str = "",
    max_model_len: int = 16384,
    serve: str = "",
    replay: str = "",
) -> None:
    """Send TRACE to Modal, measure there, and say where the results are."""
    path = Path(trace)
    try:
        check_label(label)
        server_environment(settings)
        size_bytes = path.stat().st_size
    except (OSError, ValueError) as error:
        sys.exit(f"keepwarm: {error}")
    if size_bytes > MOST_TRACE_BYTES:
        sys.exit(
            f"keepwarm: {trace!r} has {size_bytes} bytes, more than {MOST_TRACE_BYTES}; take a part of it"
        )
    where = measure.remote(path.read_bytes(), path.name, label, settings, max_model_len, serve, replay)
    sys.stdout.write(f"{where} on the volume keepwarm-replays; modal volume get keepwarm-replays {label} .\n")
