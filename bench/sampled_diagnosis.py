"""CPU seconds of a diagnosis against those of a 5% sample of its sessions, and how often its errors hold."""

from __future__ import annotations

import functools
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import msgspec

from bench.diagnose_memory import WORDS
from bench.harness import Result
from keepwarm.diagnose import Options, diagnose, engine
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.sample import Sampler

TARGET = "≥ 6×"
RATE = 0.05
SEEDS = 20
SESSIONS = 1_500
_TENANTS = 40
_DOCUMENT_SESSIONS = 6  # that a document is shown in: too few for most of them to be in a sample

Message = dict[str, str]


def run() -> Result:
    """Diagnose the whole trace once and a sample of it per seed; count the exact figures within the error."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "planted.jsonl"
        write_planted(trace, SESSIONS)
        started_s = time.process_time()
        exact = diagnose(str(trace))
        whole_s = time.process_time() - started_s
        sampled_s, held, stated, missed = 0.0, dict.fromkeys(_FIGURES, 0), dict.fromkeys(_FIGURES, 0), 0
        for seed in range(SEEDS):
            started_s = time.process_time()
            sampled = diagnose_with_seed(trace, RATE, seed)
            sampled_s += time.process_time() - started_s
            missed += len(_places(exact) - _places(sampled))
            for figure, holds in covered(exact, sampled):
                stated[figure] += 1
                held[figure] += holds
    ratio = whole_s / (sampled_s / SEEDS)
    detail: dict[str, object] = {"requests": exact.input.requests, "rate": RATE, "seeds": SEEDS}
    detail |= {
        f"{figure} within the error %": round(100 * held[figure] / stated[figure]) for figure in stated
    }
    detail["findings missed"] = f"{missed} of {SEEDS * len(exact.findings)}"
    return Result("sampled-diagnosis", round(ratio, 1), "×", detail)


def diagnose_with_seed(trace: Path, rate: float, seed: int) -> Diagnosis:
    """A sampled diagnosis with another sample than the one that users get."""
    with mock.patch.object(engine, "Sampler", functools.partial(Sampler, seed=seed)):
        return diagnose(str(trace), Options(sample=rate))


_FIGURES = ("hit rate", "hit rate if fixed", "lost tokens", "recoverable tokens")


def covered(exact: Diagnosis, sampled: Diagnosis) -> Iterator[tuple[str, bool]]:
    """Each figure of a sample, and whether the exact one lies within its error."""
    sample = sampled.sample
    assert sample is not None
    yield "hit rate", abs(exact.hit_rate - sampled.hit_rate) <= sample.hit_rate_error
    difference = abs(exact.hit_rate_if_fixed - sampled.hit_rate_if_fixed)
    yield "hit rate if fixed", difference <= sample.hit_rate_if_fixed_error
    sites = {site.name: site for site in exact.call_sites}
    for site, error in zip(sampled.call_sites, sample.call_site_errors, strict=True):
        if site.name in sites:
            yield "lost tokens", abs(sites[site.name].lost_tokens - site.lost_tokens) <= error.lost_tokens
    names = {site.id: site.name for site in exact.call_sites}
    findings = {(found.cause, names[found.call_site], found.path): found for found in exact.findings}
    names = {site.id: site.name for site in sampled.call_sites}
    for found, off in zip(sampled.findings, sample.finding_errors, strict=True):
        known = findings.get((found.cause, names[found.call_site], found.path))
        if known is not None:
            difference = abs(known.recoverable_tokens - found.recoverable_tokens)
            yield "recoverable tokens", difference <= off.recoverable_tokens


def _places(diagnosis: Diagnosis) -> set[tuple[str, str, str | None]]:
    names = {site.id: site.name for site in diagnosis.call_sites}
    return {(found.cause, names[found.call_site], found.path) for found in diagnosis.findings}


def write_planted(path: Path, sessions: int) -> None:
    """Write a trace of three call sites: with a clock, with tenants, with documents of a few sessions each.

    The same bytes every time. Sessions of one to six turns overlap in time.
    """
    rng = random.Random(8)
    prompts = {name: _text(rng, 350) for name in ("clerk", "tutor", "reader")}
    tenants = [f"{_text(rng, 2).title()} {rng.randrange(10**6)}" for _ in range(_TENANTS)]
    documents = [_text(rng, 300) for _ in range(max(1, sessions // 3 // _DOCUMENT_SESSIONS))]
    records: list[tuple[float, bytes]] = []
    for number in range(sessions):
        site = ("clerk", "tutor", "reader")[number % 3]
        start_s = 1_750_000_000 + 40 * number + rng.random()
        turns: list[Message] = []
        if site == "reader":
            turns = [
                {"role": "user", "content": f"Read this.\n{rng.choice(documents)}"},
                {
                    "role": "assistant",
                    "content": "I have read it and wait for your questions about the text.",
                },
            ]
        for turn in range(rng.choice((1, 1, 2, 3, 6))):
            time_s = start_s + 30 * turn
            turns.append({"role": "user", "content": _text(rng, rng.randint(20, 120))})
            system = _system(site, prompts[site], time_s, tenants[number % _TENANTS])
            answer = {"role": "assistant", "content": _text(rng, rng.randint(20, 80))}
            records.append((time_s, _record(len(records), f"s{number}", time_s, [system, *turns], answer)))
            turns.append(answer)
    path.write_bytes(b"\n".join(record for _, record in sorted(records)) + b"\n")


def _system(site: str, prompt: str, time_s: float, tenant: str) -> Message:
    head = f"You are the {site} of a small office on the coast, and you answer in full sentences.\n"
    if site == "clerk":
        clock = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time_s))
        return {"role": "system", "content": f"{head}The time is {clock}.\n{prompt}"}
    if site == "tutor":
        return {"role": "system", "content": f"{head}You speak for {tenant}.\n{prompt}"}
    return {"role": "system", "content": f"{head}{prompt}"}


def _record(number: int, session: str, time_s: float, messages: list[Message], answer: Message) -> bytes:
    return msgspec.json.encode(
        {
            "id": f"r{number}",
            "timestamp": time_s,
            "session_id": session,
            "body": {"model": "m", "messages": messages},
            "response": {"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]},
        }
    )


def _text(rng: random.Random, words: int) -> str:
    return " ".join(WORDS[min(int(rng.expovariate(0.02)), len(WORDS) - 1)] for _ in range(words))
