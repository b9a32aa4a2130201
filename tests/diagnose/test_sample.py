"""A diagnosis of a sample of the sessions: what it rests on, and what it says of the whole trace."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec
import numpy as np
import pytest

from bench.sampled_diagnosis import diagnose_with_seed, write_planted
from keepwarm._errors import InputError
from keepwarm.diagnose import Options, diagnose, engine
from keepwarm.diagnose.findings import Diagnosis, SampleInfo
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.sample import CONTEXT, Sampler
from keepwarm.diagnose.sample_estimate import _t_95, seen_from_sessions
from keepwarm.trace.open import open_trace
from tests.diagnose.building import LONG

RATE = 0.2
SEEDS = 24


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    trace = tmp_path_factory.mktemp("planted") / "trace.jsonl"
    write_planted(trace, 120)
    return trace


@pytest.fixture(scope="module")
def exact(planted: Path) -> Diagnosis:
    return diagnose(str(planted))


@pytest.fixture(scope="module")
def samples(planted: Path) -> list[Diagnosis]:
    return [diagnose_with_seed(planted, RATE, seed) for seed in range(SEEDS)]


def info(diagnosis: Diagnosis) -> SampleInfo:
    assert diagnosis.sample is not None
    return diagnosis.sample


def shares_held(pairs: list[tuple[float, float, float]]) -> float:
    """Of (exact, estimate, error), the share whose exact figure is within the error."""
    return float(np.mean([abs(truth - estimate) <= error for truth, estimate, error in pairs]))


def lost(diagnosis: Diagnosis) -> int:
    return sum(site.lost_tokens for site in diagnosis.call_sites)


def test_all_of_the_sessions_give_the_very_report(planted: Path, exact: Diagnosis) -> None:
    whole = diagnose(str(planted), Options(sample=1.0))
    document = diagnosis_document(whole, revealed=True)
    sample = document.pop("sample")
    assert document["options"].pop("sample") == 1.0
    assert document == diagnosis_document(exact, revealed=True)
    assert tuple(whole.rows) == tuple(exact.rows)
    assert sample["hit_rate_error"] == sample["hit_rate_if_fixed_error"] == sample["context_requests"] == 0
    assert not any(sample["token_errors"].values())
    assert not any(error["lost_tokens"] for error in sample["call_site_errors"])
    assert not any(error["recoverable_tokens"] for error in sample["finding_errors"])


def test_without_a_sample_no_document_speaks_of_one(exact: Diagnosis) -> None:
    document = diagnosis_document(exact, revealed=True)
    assert "sample" not in document
    assert "sample" not in document["options"]


def test_exact_figures_are_within_the_stated_errors(exact: Diagnosis, samples: list[Diagnosis]) -> None:
    rates = [(exact.hit_rate, each.hit_rate, info(each).hit_rate_error) for each in samples]
    prompts = [
        (float(exact.tokens.prompt), float(each.tokens.prompt), float(info(each).token_errors.prompt))
        for each in samples
    ]
    hits = [
        (float(exact.tokens.hit), float(each.tokens.hit), float(info(each).token_errors.hit))
        for each in samples
    ]
    for pairs in (rates, prompts, hits):
        assert shares_held(pairs) >= 0.85  # 95% stated, of 24 seeds
    assert np.median([error for _, _, error in rates]) < 0.25  # and they say something


def test_estimates_are_not_off_to_one_side(exact: Diagnosis, samples: list[Diagnosis]) -> None:
    for figure in (lost, lambda each: each.hit_rate, lambda each: each.findings[0].recoverable_tokens):
        estimates = [float(figure(each)) for each in samples]
        mean_error = np.std(estimates, ddof=1) / np.sqrt(SEEDS)
        assert abs(np.mean(estimates) - figure(exact)) < 3 * mean_error


def test_a_picked_request_meets_the_fate_it_has_in_the_whole_trace(
    exact: Diagnosis, samples: list[Diagnosis]
) -> None:
    whole = {row.id: row for row in exact.rows}
    counted = [row for row in samples[0].rows if row.counted]
    assert len(counted) == info(samples[0]).requests < len(whole) / 2
    for row in counted:
        assert abs(row.tokens.hit - whole[row.id].tokens.hit) <= 2 * 16
        assert row.session == whole[row.id].session


def test_without_context_the_first_holder_in_a_sample_would_pay_for_many(
    planted: Path, exact: Diagnosis
) -> None:
    """What context is for: documents of few sessions look new in a sample."""

    def hits_missed(diagnosis: Diagnosis) -> int:
        whole = {row.id: row.tokens.hit for row in exact.rows}
        return sum(whole[row.id] - row.tokens.hit for row in diagnosis.rows if row.counted)

    with mock.patch.object(Sampler, "_hold", return_value=False):
        alone = diagnose(str(planted), Options(sample=RATE))
    together = diagnose(str(planted), Options(sample=RATE))
    assert info(alone).context_requests < info(together).context_requests
    assert hits_missed(alone) > 20 * abs(hits_missed(together))


def test_sessions_are_taken_whole(planted: Path, exact: Diagnosis, samples: list[Diagnosis]) -> None:
    for sampled in samples[:3]:
        sessions = {row.session for row in sampled.rows if row.counted}
        wanted = {row.id for row in exact.rows if row.session in sessions}
        assert {row.id for row in sampled.rows if row.counted} == wanted
        assert info(sampled).total_sessions == len({row.session for row in exact.rows})
        assert sampled.input.requests == exact.input.requests


def test_inferred_sessions_are_taken_whole(planted: Path, tmp_path: Path) -> None:
    unnamed = tmp_path / "unnamed.jsonl"
    records = [msgspec.json.decode(line) for line in planted.read_bytes().splitlines()]
    for record in records:
        del record["session_id"]
    unnamed.write_bytes(b"\n".join(map(msgspec.json.encode, records)))
    whole = diagnose(str(unnamed))
    sampler = Sampler(open_trace(unnamed), RATE)
    sampler.pick()
    picked = [request.id for request in sampler.requests()]
    session = dict(zip(picked, sampler.result().session.tolist(), strict=True))
    of_request = {row.id: row.session for row in whole.rows}
    groups: dict[int, set[str]] = {}
    for request, number in session.items():
        if number != CONTEXT:
            groups.setdefault(number, set()).add(of_request[request])
    assert all(len(names) == 1 for names in groups.values())
    for names in groups.values():
        everybody = {request for request, name in of_request.items() if name in names}
        assert {request for request in everybody if session.get(request, CONTEXT) != CONTEXT} == everybody


def test_the_sample_is_the_same_in_every_process(planted: Path) -> None:
    script = (
        "import sys; from keepwarm._json import to_json; from keepwarm.diagnose import Options, diagnose;"
        "from keepwarm.diagnose.report.as_json import diagnosis_document;"
        f"d = diagnose({str(planted)!r}, Options(sample={RATE}));"
        "sys.stdout.buffer.write(to_json(diagnosis_document(d, revealed=True)))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(planted: Path, rate: float) -> None:
    with pytest.raises(InputError, match=r"not above 0 and at most 1; write 0\.01"):
        diagnose(str(planted), Options(sample=rate))


def test_a_capacity_is_refused_with_a_sample(planted: Path) -> None:
    with pytest.raises(InputError, match="--capacity-blocks"):
        diagnose(str(planted), Options(sample=RATE, capacity_blocks=500))


def test_a_sample_without_a_session_names_a_larger_rate(planted: Path) -> None:
    with pytest.raises(InputError, match=r"no session .* it has 120; take a larger one, say --sample 0\.17"):
        diagnose(str(planted), Options(sample=1e-6))


def test_a_prefix_of_many_costs_one_of_them(tmp_path: Path) -> None:
    """Under the fix the shared text is computed once in the whole trace, not once per picked session."""
    trace = tmp_path / "ids.jsonl"
    trace.write_bytes(b"\n".join(_with_ids(200)))
    whole = diagnose(str(trace)).findings[0]
    assert whole.cause == "random-id"
    found = [diagnose_with_seed(trace, 0.1, seed).findings[0].recoverable_tokens for seed in range(12)]
    assert abs(np.mean(found) / whole.recoverable_tokens - 1) < 0.02


def _with_ids(sessions: int) -> Iterator[bytes]:
    """Single calls with an id at the top, behind one of another call site."""
    other = [{"role": "user", "content": "Is anybody there?"}]
    yield msgspec.json.encode({"id": "first", "timestamp": 1e9, "body": {"model": "m", "messages": other}})
    for number in range(sessions):
        head = f"Request {hashlib.blake2b(b'%d' % number, digest_size=8).hexdigest()}."
        messages = [
            {"role": "system", "content": f"{head}\n{LONG * 4}"},
            {"role": "user", "content": f"What about ferry number {number}?"},
        ]
        yield msgspec.json.encode(
            {"id": f"r{number}", "timestamp": 1e9 + number, "body": {"model": "m", "messages": messages}}
        )


@pytest.mark.parametrize(("rate", "least"), [(0.5, 11), (0.05, 124), (0.01, 628)])
def test_what_may_be_missed_is_told_from_the_binomial_odds(rate: float, least: int) -> None:
    assert seen_from_sessions(rate) == least


def test_seen_from_is_one_where_nothing_is_left_out() -> None:
    assert seen_from_sessions(1.0) == 1


@pytest.mark.parametrize(
    ("freedom", "point"), [(0.5, 12.706), (1, 12.706), (2, 4.303), (7, 2.365), (30, 2.042), (1e9, 1.96)]
)
def test_few_sessions_widen_the_interval(freedom: float, point: float) -> None:
    assert _t_95(freedom) == pytest.approx(point, rel=0.01)


def test_without_a_rate_nothing_is_sampled(planted: Path) -> None:
    with mock.patch.object(engine, "Sampler") as sampler:
        diagnose(str(planted))
    sampler.assert_not_called()
