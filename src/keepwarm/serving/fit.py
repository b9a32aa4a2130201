"""Costs of a server from measured requests, each sent when the one before was answered.

Two least-squares fits, no coefficient below 0. The time to the first token over prefill chunks, tokens
computed and pairs attended gives ``overhead_s``, ``token_s`` and ``pair_s``; the time per further token over
the mean context gives what a decode step takes, ``overhead_s + weights_s``, and ``context_s``. What the
client and the network take is in ``overhead_s``. The residuals say how far the fitted steps are off.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.serving.alone import decode_s, prefill_s
from keepwarm.serving.costs import Coefficients, Fitted, pairs_within

LEAST_REQUESTS = 20
_Matrix = npt.NDArray[np.float64]


class Measured(NamedTuple):
    """One request alone on the server; times from sending."""

    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    ttft_s: float
    total_s: float


def fit_costs(requests: Sequence[Measured], step_tokens: int) -> Fitted:
    """Raises InputError for too few requests, or such that all answers have one token."""
    if len(requests) < LEAST_REQUESTS:
        raise InputError(f"{len(requests)} measured requests; a fit takes {LEAST_REQUESTS} at least")
    longer = [request for request in requests if request.output_tokens > 1]
    if not longer:
        raise InputError(
            "all answers have one token: nothing says how long decoding takes; replay longer ones"
        )
    overhead_s, token_s, pair_s = _not_negative(
        np.array([_prefill_work(request, step_tokens) for request in requests], dtype=np.float64),
        np.array([request.ttft_s for request in requests]),
    )
    decode_step_s, context_s = _not_negative(
        np.array([[1.0, request.prompt_tokens + request.output_tokens / 2] for request in longer]),
        np.array([(request.total_s - request.ttft_s) / (request.output_tokens - 1) for request in longer]),
    )
    weights_s = max(0.0, decode_step_s - overhead_s)
    costs = Coefficients(token_s, pair_s, weights_s, context_s, min(overhead_s, decode_step_s))
    ttft_off, total_off = _residuals(requests, costs, step_tokens)
    return Fitted(
        **costs._asdict(), requests=len(requests), ttft_residual_s=ttft_off, total_residual_s=total_off
    )


def _prefill_work(request: Measured, step_tokens: int) -> tuple[int, int, int]:
    """Chunks, tokens and pairs of its prefill."""
    tokens = request.prompt_tokens - request.cached_tokens
    pairs = tokens * request.cached_tokens + pairs_within(tokens)
    return -(-tokens // step_tokens), tokens, pairs


def _not_negative(work: _Matrix, times_s: _Matrix) -> list[float]:
    """Least squares; a coefficient that comes out negative is 0 and the others are fitted again."""
    kept = list(range(work.shape[1]))
    while kept:
        scale = work[:, kept].max(axis=0)
        found = np.linalg.lstsq(work[:, kept] / scale, times_s, rcond=None)[0] / scale
        if (found >= 0).all():
            break
        kept.pop(int(np.argmin(found * scale)))
    coefficients = [0.0] * work.shape[1]
    for place, value in zip(kept, found if kept else (), strict=True):
        coefficients[place] = float(value)
    return coefficients


def _residuals(requests: Sequence[Measured], costs: Coefficients, step_tokens: int) -> tuple[float, float]:
    """Root mean squares of modelled less measured: time to the first token, total time."""
    ttft_off, total_off = [], []
    for request in requests:
        ttft_s = prefill_s(request.prompt_tokens, request.cached_tokens, step_tokens, costs)
        ttft_off.append(ttft_s - request.ttft_s)
        total_s = ttft_s + decode_s(request.prompt_tokens, request.output_tokens, costs)
        total_off.append(total_s - request.total_s)
    return _root_mean_square(ttft_off), _root_mean_square(total_off)


def _root_mean_square(values: Sequence[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))
