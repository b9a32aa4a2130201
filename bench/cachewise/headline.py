"""The three figures of active-set that the project holds itself to, for the benches of those names."""

from __future__ import annotations

from bench.cachewise import store
from bench.cachewise.compute import compute
from bench.cachewise.figures import Ratio, ratio
from bench.cachewise.page import shown
from bench.cachewise.plan import BASELINE, SEEDS, Run
from bench.harness import Result, UnavailableError
from bench.traces import AGENT_SESSIONS

EVICTIONS = ("lru", "cachewise")  # the oracle is no eviction that anybody can run
SESSIONS = (30, 40)


def headline(name: str, measure: str) -> Result:
    """FCFS with LRU ÷ active-set at N = 30; the better of its evictions by completion, N = 40 in the detail.

    Rows that the code as it is has computed before are taken from ``rows.jsonl``.
    """
    if not AGENT_SESSIONS.exists():
        raise UnavailableError(f"no trace at {str(AGENT_SESSIONS)!r}")
    runs = [
        Run(scheduling=order, eviction=eviction, sessions=sessions, seed=seed)
        for sessions in SESSIONS
        for seed in SEEDS
        for order, eviction in (BASELINE, *(("active-set", eviction) for eviction in EVICTIONS))
    ]
    compute(runs, processes=2)
    detail: dict[str, object] = {"seeds": len(SEEDS)}
    values: dict[tuple[int, str], Ratio] = {}
    for sessions in SESSIONS:
        for eviction in EVICTIONS:
            found = _ratio(sessions, eviction, measure)
            values[sessions, eviction] = found
            detail[f"N {sessions} {eviction}"] = shown(found)
    best = max(EVICTIONS, key=lambda eviction: _ratio(SESSIONS[0], eviction, "completion").mean)
    detail["eviction"] = best
    return Result(name, round(values[SESSIONS[0], best].mean, 2), "×", detail)


def _ratio(sessions: int, eviction: str, measure: str) -> Ratio:
    run = Run(scheduling="active-set", eviction=eviction, sessions=sessions, seed=0)
    found = ratio(store.load(), run, measure)
    assert found is not None, "computed above"
    return found
