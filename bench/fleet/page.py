"""The tables of docs/fleet.md, from the rows that are stored; a dash stands for what was not computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bench.fleet import figures
from bench.fleet.compute import BLOCKS_AT_ONCE, CAPACITY_TOKENS, REQUESTS
from bench.fleet.figures import Mean, Rows
from bench.fleet.plan import (
    ACTIVE_SET,
    BALANCERS,
    BASELINE,
    BOUND_REPLICAS,
    BOUNDS,
    CACHEWISE,
    GROUPS,
    LEADING,
    REPLICAS,
    RULES,
    SEEDS,
    SESSIONS,
    Run,
    plan,
    run_of,
)
from bench.traces import REPOSITORY
from keepwarm.fleet.row import FleetRow
from scripts.markers import between

PAGE = REPOSITORY / "docs" / "fleet.md"

Figure = Callable[[Rows, Run], Mean | None]


def rewrite(rows: Rows, page: Path = PAGE) -> None:
    """Put every table between its markers; ``ValueError`` if the page has no place for one."""
    text = page.read_text(encoding="utf-8")
    for name, body in tables(rows).items():
        start = f"<!-- {name}: rewritten by `python -m bench.fleet` -->"
        text = between(text, start, f"<!-- end of {name} -->", body)
    page.write_text(text, encoding="utf-8")


def tables(rows: Rows) -> dict[str, str]:
    """Each generated part by its name on the page."""
    thirty, forty = SESSIONS
    return {
        "setting": _setting(rows),
        "kept": _by_replicas(rows, _kept, CACHEWISE, thirty),
        "active-set": _by_replicas(rows, _kept, ACTIVE_SET, thirty),
        "hits": _by_replicas(rows, _share(lambda row: row.overall.hit_rate), CACHEWISE, thirty),
        "stock-hits": _by_replicas(rows, _share(lambda row: row.overall.hit_rate), BASELINE, thirty),
        "slower": _by_replicas(rows, _slower, CACHEWISE, thirty),
        "uneven": _by_replicas(rows, _uneven, CACHEWISE, thirty),
        "bound": _bound(rows),
        "forty": _by_replicas(rows, _kept, CACHEWISE, forty),
        "coverage": _coverage(rows),
    }


def _setting(rows: Rows) -> str:
    said = (
        f"The first {REQUESTS} requests of each session; blocks of {64 * BLOCKS_AT_ONCE} tokens; "
        f"{CAPACITY_TOKENS:,} tokens of cache and {SESSIONS[0]} sessions per server."
    )
    lines = [
        said,
        "",
        "| one server | completion, s | gain | hits | seeds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for rule in RULES:
        run = run_of("", 1, rule, SESSIONS[0], 0)
        completion = figures.completion_s(rows, run)
        cells = [
            "–" if completion is None else f"{completion.value:,.0f}",
            _factor(figures.gain(rows, run)),
            _percent(figures.mean(rows, run, lambda row: row.overall.hit_rate)),
            "–" if completion is None else str(completion.seeds),
        ]
        lines.append(f"| {rule[0]} + {rule[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _by_replicas(rows: Rows, cell: Callable[[Rows, Run], str], rule: tuple[str, str], sessions: int) -> str:
    counts = REPLICAS[1:]
    balancers = BALANCERS if sessions == SESSIONS[0] else LEADING
    if not any(run_of(name, count, rule, sessions, 0) in rows for name in balancers for count in counts):
        return "Not computed yet."
    lines = _head(f"{rule[0]} + {rule[1]}, N = {sessions}", [f"R = {count}" for count in counts])
    for balancer in balancers:
        cells = [cell(rows, run_of(balancer, count, rule, sessions, 0)) for count in counts]
        lines.append(f"| `{balancer}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _bound(rows: Rows) -> str:
    columns = ["completion, s", "gain", "hits", "hot", "cv of tokens", "sessions moved"]
    lines = _head(f"bound, R = {BOUND_REPLICAS}, N = {SESSIONS[0]}", columns)
    rows = {run: row for run, row in rows.items() if run.seed == SEEDS[0]}  # bounds have no other
    for bound in BOUNDS:
        run = run_of("prefix-bounded", BOUND_REPLICAS, CACHEWISE, SESSIONS[0], 0, bound)
        lines.append(f"| {bound:g} | {' | '.join(_of_balancer(rows, run))} |")
    for balancer in BALANCERS[:-1]:
        run = run_of(balancer, BOUND_REPLICAS, CACHEWISE, SESSIONS[0], 0)
        lines.append(f"| `{balancer}` | {' | '.join(_of_balancer(rows, run))} |")
    return "\n".join(lines)


def _of_balancer(rows: Rows, run: Run) -> list[str]:
    completion = figures.completion_s(rows, run)
    together = run.replicas * run.sessions
    return [
        "–" if completion is None else f"{completion.value:,.0f}",
        _factor(figures.gain(rows, run)),
        _percent(figures.mean(rows, run, lambda row: row.overall.hit_rate)),
        _percent(figures.mean(rows, run, lambda row: row.hot_spot_share)),
        _factor(figures.mean(rows, run, lambda row: row.served_tokens.cv)),
        _percent(figures.mean(rows, run, lambda row: row.moved_sessions / together)),
    ]


def _coverage(rows: Rows) -> str:
    wanted = plan(list(GROUPS))
    done = sum(run in rows for run in wanted)
    without = [str(count) for count in REPLICAS if all(run.replicas != count for run in rows)]
    none = f" There is no row yet of R = {', '.join(without)}." if without else ""
    return (
        f"{done} of the {len(wanted)} runs of the plan are computed.{none} A figure is of as many seeds "
        "as stand behind it in brackets, of one where none stand."
    )


def _head(first: str, columns: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]


def _kept(rows: Rows, run: Run) -> str:
    gain, kept = figures.gain(rows, run), figures.gain_kept(rows, run)
    return "–" if gain is None or kept is None else f"{gain.value:.2f}, {kept.value:.0%}{_seeds(gain)}"


def _slower(rows: Rows, run: Run) -> str:
    found = figures.slower(rows, run)
    return "–" if found is None else f"{found.value:.2f}{_seeds(found)}"


def _share(figure: Callable[[FleetRow], float]) -> Callable[[Rows, Run], str]:
    return lambda rows, run: _percent(figures.mean(rows, run, figure))


def _uneven(rows: Rows, run: Run) -> str:
    spread = figures.mean(rows, run, lambda row: row.served_tokens.cv)
    if spread is None:
        return "–"
    return f"{_factor(spread)} / {_percent(figures.mean(rows, run, lambda row: row.hot_spot_share))}"


def _percent(found: Mean | None) -> str:
    return "–" if found is None else f"{found.value:.0%}"


def _factor(found: Mean | None) -> str:
    return "–" if found is None else f"{found.value:.2f}"


def _seeds(found: Mean) -> str:
    return f" ({found.seeds})" if found.seeds > 1 else ""
