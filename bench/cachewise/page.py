"""The tables of docs/cachewise.md, from the rows that are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from bench.cachewise.figures import Ratio, ratio
from bench.cachewise.plan import ANSWERS, BASELINE, FRONT, LEADING, NO_BOUND, RULES, Run
from bench.cachewise.store import Stored
from bench.traces import REPOSITORY
from keepwarm.scheduling.active_set import ActiveSet
from scripts.markers import between

PAGE = REPOSITORY / "docs" / "cachewise.md"
MAIN = ("completion", "evictions", "goodput", "P50", "P99", "max")
FAIR = ("completion", "P99", "P99 of later", "max", "max wait", "slowdown P99")
BRIEF = ("completion", "P99", "max")

Rows = Mapping[Run, Stored]
Case = tuple[str, Run]


def rewrite(stored: Rows, page: Path = PAGE) -> None:
    """Put every table between its markers; ``ValueError`` if the page has no place for one."""
    text = page.read_text()
    for name, body in tables(stored).items():
        text = between(
            text,
            f"<!-- {name}: rewritten by `python -m bench.cachewise` -->",
            f"<!-- end of {name} -->",
            body,
        )
    page.write_text(text)


def tables(stored: Rows) -> dict[str, str]:
    """Each table by its name on the page."""
    return {
        "published": _published(stored),
        "grid": "\n\n".join(_grid(stored, sessions) for sessions in (30, 40)),
        "sessions": _by_sessions(stored),
        "fairness": _table(stored, [(_rule(run), run) for run in _of(LEADING[1:], 40)], FAIR),
        "factors": _factors(stored),
        "answers": "\n\n".join(_answers(stored, sessions) for sessions in (30, 40)),
        "front": _front(stored),
        "ladder": _table(stored, _ladder(), BRIEF),
        "rebuild": _table(stored, _rebuild(), ("completion", "evictions", "P99")),
        "memory": _table(stored, list(_memory()), BRIEF),
        "host-memory": _host_memory(stored),
    }


def _of(rules: Sequence[tuple[str, str]], sessions: int) -> list[Run]:
    return [Run(scheduling=rule[0], eviction=rule[1], sessions=sessions, seed=0) for rule in rules]


def _rule(run: Run) -> str:
    return f"{run.scheduling} + {run.eviction}"


def _published(stored: Rows) -> str:
    published = {
        "completion": "2.7–3.5",
        "evictions": "2–2.6",
        "goodput": "1.64–2",
        "P50": "13–14",
        "P99": "below 1",
    }
    lines = _head(
        "cachewise + cachewise", ["published", "N = 30", "N = 40", "active-set + lru, N = 30", "N = 40"]
    )
    for measure, said in published.items():
        cells = [
            shown(ratio(stored, run, measure))
            for rule in (("cachewise", "cachewise"), ("active-set", "lru"))
            for sessions in (30, 40)
            for run in _of([rule], sessions)
        ]
        lines.append(f"| {measure} | {said} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _grid(stored: Rows, sessions: int) -> str:
    head = f"N = {sessions}"
    return _table(stored, [(_rule(run), run) for run in _of(RULES[1:], sessions)], MAIN, head)


def _table(stored: Rows, cases: Sequence[Case], measures: Sequence[str], head: str = "") -> str:
    lines = _head(head, measures)
    for name, run in cases:
        cells = [shown(ratio(stored, run, measure)) for measure in measures]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _head(first: str, columns: Sequence[str]) -> list[str]:
    return [f"| {first} | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]


def shown(found: Ratio | None) -> str:
    """A ratio with its interval, or a dash for one that was not computed."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return f"{found.mean:.2f}"
    return f"{found.mean:.2f} ({found.low:.2f}–{found.high:.2f})"


def _by_sessions(stored: Rows) -> str:
    counts = (5, 10, 20, 30, 40, 50, 60)
    lines = _head("completion / P99 at N =", list(map(str, counts)))
    for rule in RULES[1:]:
        cells = []
        for count in counts:
            (run,) = _of([rule], count)
            found = [ratio(stored, run, measure) for measure in ("completion", "P99")]
            cells.append(" / ".join("–" if one is None else f"{one.mean:.2f}" for one in found))
        lines.append(f"| {rule[0]} + {rule[1]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _factors(stored: Rows) -> str:
    settings: dict[str, dict[str, object]] = {
        "as published": {},
        "constant population": {"population": "constant"},
        "2,048 tokens a step": {"step_tokens": 2_048},
        "8,192 tokens a step": {"step_tokens": 8_192},
        "gaps × 4": {"gap_scale": 4.0},
        "gaps × 8": {"gap_scale": 8.0},
        "recorded gaps": {"gaps": "recorded"},
        "costs without attention": {"costs": "flat"},
    }
    found = []
    for sessions in (30, 40):
        rows = _head(f"completion / P99, N = {sessions}", list(settings))
        for run in _of(LEADING[1:], sessions):
            cells = []
            for setting in settings.values():
                other = msgspec.structs.replace(run, **setting)
                pair = [ratio(stored, other, measure) for measure in ("completion", "P99")]
                cells.append(" / ".join("–" if one is None else f"{one.mean:.2f}" for one in pair))
            rows.append(f"| {_rule(run)} | {' | '.join(cells)} |")
        found.append("\n".join(rows))
    return "\n\n".join(found)


def _answers(stored: Rows, sessions: int) -> str:
    cases = []
    for answer_tokens in (None, *ANSWERS):
        said = "as recorded" if answer_tokens is None else f"of at most {answer_tokens:,}"
        for run in _of([("cachewise", "lru"), ("active-set", "lru")], sessions):
            case = msgspec.structs.replace(run, answer_tokens=answer_tokens)
            cases.append((f"{said}, {_rule(run)}", case))
    return _table(stored, cases, (*BRIEF, "evictions"), f"answers, N = {sessions}")


def _front(stored: Rows) -> str:
    ships = ActiveSet.tuning.gamma
    found = []
    for sessions in (30, 40):
        (run,) = _of([("active-set", "lru")], sessions)
        cases = [(ships, f"{ships:g}, as it ships", run)]
        for gamma in FRONT:
            name = "no bound" if gamma == NO_BOUND else f"{gamma:g}"
            cases.append((gamma, name, msgspec.structs.replace(run, gamma=gamma)))
        named = [(name, case) for _, name, case in sorted(cases, key=lambda case: case[0])]
        found.append(_table(stored, named, (*BRIEF, "evictions", "max wait"), f"γ, N = {sessions}"))
    return "\n\n".join(found)


def _ladder() -> list[Case]:
    (lru, run) = _of([("active-set", "lru"), ("active-set", "cachewise")], 40)
    (oracle,) = _of([("active-set", "oracle")], 40)
    far = {"gap_scale": 8.0}
    names = {
        "all": "one curve for all calls",
        "tool": "by tool",
        "C20": "up to 20 clusters",
        "C50": "up to 50, as it ships",
        "C100": "up to 100 clusters",
    }
    cases = [("nothing (LRU)", msgspec.structs.replace(lru, **far))]
    cases += [(name, msgspec.structs.replace(run, ladder=step, **far)) for step, name in names.items()]
    return [*cases, ("the truth", msgspec.structs.replace(oracle, **far))]


def _rebuild() -> list[Case]:
    (run,) = _of([("cachewise", "cachewise")], 40)
    return [
        (f"every {steps} steps", msgspec.structs.replace(run, n_rebuild=steps)) for steps in (1, 3, 30, 300)
    ]


def _memory() -> Iterator[Case]:
    for tokens in (380_000, 763_000, 1_526_000):
        for run in _of([("cachewise", "lru"), ("active-set", "lru")], 40):
            yield (
                f"{tokens // 1000} thousand tokens, {_rule(run)}",
                msgspec.structs.replace(run, capacity_tokens=tokens),
            )


def _host_memory(stored: Rows) -> str:
    """Against FCFS with LRU and no host memory, so that what the tier itself gains is seen."""
    lines = _head("host memory", ["fcfs + lru", "cachewise + lru", "active-set + lru"])
    for gib in (0.0, 512.0, 2_048.0):
        cells = []
        for rule in (BASELINE, ("cachewise", "lru"), ("active-set", "lru")):
            (run,) = _of([rule], 40)
            tiered = msgspec.structs.replace(run, host_memory_gib=gib)
            cells.append(shown(ratio(stored, tiered, "completion", without_host_memory=True)))
        lines.append(f"| {gib:g} GiB | {' | '.join(cells)} |")
    return "\n".join(lines)
