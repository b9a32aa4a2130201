"""Costs found again in requests that were made from them, and in what a real server took."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from keepwarm._errors import InputError
from keepwarm.serving.alone import decode_s, prefill_s
from keepwarm.serving.costs import Coefficients
from keepwarm.serving.fit import LEAST_REQUESTS, Measured, fit_costs

TRUE = Coefficients(token_s=1e-3, pair_s=5e-7, weights_s=0.02, context_s=1e-6, overhead_s=0.03)


def measured(count: int, costs: Coefficients = TRUE, noise: float = 0.0) -> list[Measured]:
    chances = random.Random(0)
    made = []
    for _ in range(count):
        prompt, output = chances.randint(200, 3000), chances.randint(2, 40)
        cached = chances.choice([0, prompt // 2])
        ttft_s = prefill_s(prompt, cached, 512, costs) + chances.gauss(0, noise)
        made.append(Measured(prompt, cached, output, ttft_s, ttft_s + decode_s(prompt, output, costs)))
    return made


def test_costs_are_found_again() -> None:
    fitted = fit_costs(measured(60), 512)
    for found, true in zip(fitted.coefficients(), TRUE, strict=True):
        assert found == pytest.approx(true, rel=0.05)
    assert fitted.ttft_residual_s < 1e-3  # a last chunk of few tokens is bound by reading the weights
    assert fitted.total_residual_s < 1e-3
    assert fitted.requests == 60


def test_the_residual_is_the_noise() -> None:
    fitted = fit_costs(measured(400, noise=0.05), 512)
    assert fitted.ttft_residual_s == pytest.approx(0.05, rel=0.2)
    assert fitted.total_residual_s == pytest.approx(0.05, rel=0.2)


def test_no_cost_is_negative() -> None:
    """Prompts that take ever less time per token: a line fits best with a pair cost below 0."""
    requests = [Measured(100 * n, 0, 2, (100.0 * n) ** 0.5, (100.0 * n) ** 0.5 + 0.01) for n in range(1, 40)]
    costs = fit_costs(requests, 8192).coefficients()
    assert min(costs) >= 0
    times_s = [prefill_s(tokens, 0, 8192, costs) for tokens in (100, 1000, 4000)]
    assert all(shorter < longer for shorter, longer in pairwise(times_s))


def test_too_little_is_refused() -> None:
    with pytest.raises(InputError, match=f"a fit takes {LEAST_REQUESTS}"):
        fit_costs(measured(LEAST_REQUESTS - 1), 512)
    with pytest.raises(InputError, match="replay longer ones"):
        fit_costs([Measured(100, 0, 1, 1.0, 1.0)] * LEAST_REQUESTS, 512)
