"""Real prompts encoded part by part, against encoding every prompt whole; both from rendered text."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bench.harness import Result
from bench.traces import REPOSITORY, SHARED
from keepwarm.diagnose.traffic import common_prefix
from keepwarm.trace.encode import CACHE_BYTES
from keepwarm.trace.open import open_trace
from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.render import builtin_renderer, load_renderer
from keepwarm.trace.tokens import PartCache, Tokenizer, load_tokenizer
from keepwarm.trace.tokens.hugging_face import HuggingFaceTokenizer

TARGET = "≥ 10×; coding traffic ≥ 0.7 of the ceiling"
TOKENIZERS = Path(os.environ.get("KEEPWARM_TEST_TOKENIZERS", REPOSITORY / "build/test-tokenizers"))
RUNS = 5


def run() -> Result:
    """Qwen3's tokenizer and template where the test tokenizers were fetched, else the built-in ones.

    The ceiling of a trace is what its reuse allows: all its tokens by those that are not in the
    longest prefix that a prompt shares with any earlier one. Parts that come back elsewhere than in
    a prefix are reused too, so a ratio may pass it. Both ways run on one core.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    folder = TOKENIZERS / "qwen3"
    is_real = (folder / "tokenizer.json").is_file()
    tokenizer = load_tokenizer(str(folder) if is_real else None)
    renderer = load_renderer(folder) if is_real else builtin_renderer()
    figures: dict[str, object] = {"tokenizer": "Qwen3" if is_real else "built-in", "runs": RUNS}
    ratios = {}
    for label, name in (("airline", "tau_airline"), ("coding", "mlperf_agentic")):
        trace = open_trace(SHARED / "cases" / "healthy" / f"{name}.jsonl.gz")
        texts = [renderer.text(request) for request in trace.requests()]
        whole_s, parts_s, ids = _times(tokenizer, texts)
        ratios[label] = whole_s / parts_s
        ceiling = _ceiling(ids)
        figures |= {
            f"{label}_prompts": len(texts),
            f"{label}_tokens": sum(map(len, ids)),
            f"{label}_whole_s": round(whole_s, 3),
            f"{label}_parts_s": round(parts_s, 3),
            f"{label}_ratio": round(ratios[label], 1),
            f"{label}_ceiling": round(ceiling, 1),
            f"{label}_of_ceiling": round(ratios[label] / ceiling, 2),
        }
    return Result("tokenise", round(ratios["airline"], 1), "×", figures)


def _times(tokenizer: Tokenizer, texts: list[str]) -> tuple[float, float, list[TokenIds]]:
    """Median seconds of both ways, run in turns, and the ids, which must be the same."""
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    model = tokenizer.model  # the library's own, so that the plain way pays for nothing of ours

    def whole() -> list[TokenIds]:
        encoded = (model.encode_batch_fast([text], add_special_tokens=False)[0] for text in texts)
        return [np.array(one.ids, dtype=np.int32) for one in encoded]

    def parts() -> list[TokenIds]:
        cache = PartCache(tokenizer, CACHE_BYTES)
        return [cache.ids(text) for text in texts]

    ids = whole()
    assert all(np.array_equal(a, b) for a, b in zip(ids, parts(), strict=True)), "the ways disagree"
    times_s = [(_seconds(whole), _seconds(parts)) for _ in range(RUNS)]
    wholes, ours = zip(*times_s, strict=True)
    return statistics.median(wholes), statistics.median(ours), ids


def _seconds(call: Callable[[], object]) -> float:
    started_s = time.perf_counter()
    call()
    return time.perf_counter() - started_s


def _ceiling(prompts: list[TokenIds]) -> float:
    """All tokens by those beyond the longest common prefix with any earlier prompt."""
    new = 0
    for index, ids in enumerate(prompts):
        new += len(ids) - max((common_prefix(ids, prompts[i]) for i in range(index)), default=0)
    return sum(map(len, prompts)) / new
