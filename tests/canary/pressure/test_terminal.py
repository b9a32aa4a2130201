"""The terminal report, whole, for a run whose times are known."""

from __future__ import annotations

import msgspec
import pytest

from keepwarm.canary.pressure import Failure, PressureOptions, PressureReport, Ttft, run_pressure
from keepwarm.canary.pressure.terminal import render_pressure
from tests.canary.pressure.fake_vllm import FakeVllm

LOST = """\
keepwarm: a hot prefix under pressure (measured) ───────────────────────────────
model       tiny
mode        stock
cache       127 usable blocks of 16 tokens
hot prefix  800 tokens
flood       one-use prompts of 1,023 tokens (seed 0), 0 tokens of them cached
hot TTFT    1.80 s cold, 81 ms warm, 90 ms after a batch (median), 1.90 s after
            the last

Lost: of 800 cached tokens 0 were left at the worst step of 4 one-use requests.

After each batch of one-use requests ───────────────────────────────────────────
 one-use  cached      of       by
requests  tokens    warm  counter    TTFT  failed
       1     800  100.0%      800   90 ms       0
       2     800  100.0%      800   90 ms       0
       4       0    0.0%        0  1.90 s       0
"""


@pytest.fixture(scope="module")
def lost() -> PressureReport:
    """Measured on the fake, with times put in."""
    options = PressureOptions(flood=(1, 2, 4))
    report = run_pressure("http://vllm", options, transport=FakeVllm().transport)
    steps = tuple(msgspec.structs.replace(s, ttft_s=0.09 if s.cached_tokens else 1.9) for s in report.steps)
    ttft = Ttft(cold_s=1.8, warm_s=0.081, post_flood_s=1.9, median_s=0.09)
    return msgspec.structs.replace(report, steps=steps, ttft=ttft)


def shown(report: PressureReport, **changes: object) -> str:
    return render_pressure(msgspec.structs.replace(report, **changes), width=80, colour=False)


def test_the_whole_report(lost: PressureReport) -> None:
    assert shown(lost) == LOST


def test_the_verdict_follows_the_report(lost: PressureReport) -> None:
    assert "Preserved: the hot prefix stayed cached through 4 one-use requests." in shown(
        lost, hot_prefix_preserved=True
    )
    text = shown(lost, inconsistencies=("step 1: usage says 1 cached tokens, the counters 2",))
    assert "Inconsistent: " in text
    assert "contradiction  step 1: usage says 1 cached tokens, the counters 2" in text
    assert "Lost" not in text


def test_failures_are_named_and_decide(lost: PressureReport) -> None:
    last = msgspec.structs.replace(
        lost.steps[-1], cached_tokens=None, counter_cached_tokens=None, ttft_s=None, failed_requests=2
    )
    failures = (Failure(reason="HTTP 500: engine dead", requests=2),)
    text = shown(lost, steps=(*lost.steps[:2], last), failures=failures, failed_requests=2)
    assert "2 requests: HTTP 500: engine dead" in text
    assert "Not shown: 2 requests failed." in text
    assert "       4       –       –        –      –       2\n" in text


def test_what_the_server_did_not_allow_is_said(lost: PressureReport) -> None:
    ttft = msgspec.structs.replace(lost.ttft, cold_s=None)
    text = shown(lost, cache_reset=False, cold_prefix_cached_tokens=16, ttft=ttft, model="\x1b[31mred")
    assert "The server does not let its cache be reset" in text
    assert "The first hot request hit 16 tokens that were there before the run." in text
    assert "– cold, 81 ms warm" in text
    assert "model       red" in text
