"""BEFORE and AFTER on vLLM's CPU build with a small real model, and what the difference is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from keepwarm.canary.servers.local import LocalServer, cpu_options
from scripts.loop.chosen import SETS, chosen_ids, read, write_set
from scripts.loop.shell import keepwarm

# 2,047 usable blocks of 16 tokens: BEFORE's first uses would fill 4,893, AFTER's fill 1,011.
POOL_BLOCKS = 2048
MAX_MODEL_LEN_TOKENS = 4096  # the longest prompt of the day has 2,981
_ANSWER_TOKENS = 8  # answers are not compared here, and each token takes as long as forty of a prompt
_WARM_UP_REQUESTS = 3  # not compared: the first requests of a fresh server are slow whatever they ask


class Place(NamedTuple):
    """Where to measure: the folder with the traces, the model, and the interpreter that has vLLM."""

    out: Path
    model: Path
    python: str = sys.executable
    arguments: tuple[str, ...] = ()  # more of the server's


def write_sets(out: Path, names: tuple[str, ...] = SETS) -> None:
    """The requests to be replayed, of ``before.jsonl`` and ``after.jsonl``, into ``replays``."""
    before = read(out / "before.jsonl")
    for name in names:
        folder = out / "replays" / name
        folder.mkdir(parents=True)
        ids = chosen_ids(before, name)
        for label in ("before", "after"):
            write_set(out / f"{label}.jsonl", ids, folder / f"{label}.jsonl")


def measure(place: Place, names: tuple[str, ...] = SETS) -> None:
    """Replay each set before and after the repair on one server, and compare. Raises CommandFailed."""
    options = cpu_options(
        str(place.model),
        python=place.python,
        pool_blocks=POOL_BLOCKS,
        max_model_len_tokens=MAX_MODEL_LEN_TOKENS,
        arguments=(
            *("--chat-template", str(place.out / "chat_template.jinja")),
            *("--served-model-name", place.model.name, *place.arguments),
        ),
        environment={"VLLM_CPU_KVCACHE_SPACE": "2"},
    )
    with LocalServer(options, place.out / "server") as server:
        print("\n== The server starts", flush=True)
        server.start({})
        warm_up = ("--limit", str(_WARM_UP_REQUESTS))
        replay(place.out, server.base_url, f"replays/{names[0]}/before", "warm-up", *warm_up)
        for name in names:
            for label in ("before", "after"):
                replay(place.out, server.base_url, f"replays/{name}/{label}", label)
    for name in names:
        compare(
            place.out, f"replays/{name}", "--tokenizer", "model", "--chat-template", "chat_template.jinja"
        )


def replay(out: Path, base_url: str, trace: str, label: str, *more: str) -> None:
    """Send the requests of ``TRACE.jsonl`` and keep the run beside it, in a folder called ``label``."""
    keepwarm(
        out,
        *("replay", f"{trace}.jsonl", "--base-url", base_url, "--label", label),
        *("--out", str(Path(trace).with_name(label)), "--tool-choice", "none"),
        *("--max-tokens", str(_ANSWER_TOKENS), *more),
    )


def compare(out: Path, runs: str, *more: str) -> None:
    """Compare the runs ``before`` and ``after`` in a folder, and keep that there as well."""
    keepwarm(out, "compare", f"{runs}/before", f"{runs}/after", "--out", f"{runs}/comparison", *more)
