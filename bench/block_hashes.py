"""Block hashes of a long prompt: how many times faster than one SHA-256 call per block."""

from __future__ import annotations

import hashlib
import statistics

import numpy as np

from bench.harness import Result, cpu_s
from keepwarm.trace.hashes import block_hashes

TARGET = "≥ 5×"
TOKENS = 8192
BLOCK_SIZE = 16
RUNS = 300


def run() -> Result:
    """Both sides in turn on the same prompt; SHA-256 gets its tokens as ready-made bytes."""
    ids = np.random.default_rng(0).integers(0, 150_000, TOKENS, dtype=np.int32)
    encoded = ids.tobytes()
    ours_s, sha256_s = [], []
    for _ in range(RUNS):
        ours_s.append(cpu_s(lambda: block_hashes(ids, BLOCK_SIZE)))
        sha256_s.append(cpu_s(lambda: _sha256_chain(encoded)))
    our_median_s, sha256_median_s = statistics.median(ours_s), statistics.median(sha256_s)
    detail: dict[str, object] = {
        "tokens": TOKENS,
        "block_size": BLOCK_SIZE,
        "ours_ns_per_token": round(our_median_s * 1e9 / TOKENS, 2),
        "sha256_ns_per_token": round(sha256_median_s * 1e9 / TOKENS, 2),
    }
    return Result("block-hashes", round(sha256_median_s / our_median_s, 1), "×", detail)


def _sha256_chain(encoded: bytes) -> list[bytes]:
    parent, chain = bytes(32), []
    for start in range(0, len(encoded), 4 * BLOCK_SIZE):
        parent = hashlib.sha256(parent + encoded[start : start + 4 * BLOCK_SIZE]).digest()
        chain.append(parent)
    return chain
