"""Small diagnoses with the files beside them, made of what a test says."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keepwarm._json import to_json
from keepwarm.diagnose.findings import (
    CacheInfo,
    CallSite,
    Diagnosis,
    Evidence,
    Finding,
    InputInfo,
    Owner,
    RequestRow,
    TokenFates,
)
from keepwarm.diagnose.prompt_map import FATES
from keepwarm.diagnose.report.as_json import diagnosis_document
from keepwarm.diagnose.report.map_file import write_map
from keepwarm.diagnose.runs import MapRuns, RunGatherer, joined
from keepwarm.trace.records import EncodingInfo
from tests.report.sample import to_parquet

SECRET = "Wilhelmina-7731"
"""A recorded value: it must not be seen without --reveal."""


def row(index: int, **given: object) -> RequestRow:
    """A request; fates are counts by name."""
    fates = {name: int(str(given.pop(name, 0))) for name in FATES}
    known: dict[str, object] = {
        "line": index + 1,
        "id": f"request-{index}",
        "session": "session-0",
        "call_site": "site-1",
        "model": "m",
        "time_s": float(index),
    }
    tokens = TokenFates(prompt=sum(fates.values()), **fates)
    return RequestRow(index=index, tokens=tokens, **(known | given))  # type: ignore[arg-type]


def finding(name: str = "F1", **given: object) -> Finding:
    known: dict[str, object] = {
        "cause": "identity",
        "owner": Owner.APP,
        "fixable": True,
        "call_site": "site-1",
        "path": "messages[0].content",
        "token_offset": 4,
        "requests": 2,
        "recoverable_tokens": 10,
        "confidence": 0.9,
        "evidence": Evidence(
            request="request-1", before="You write to ", values=(SECRET, "Bartholomew-99"), after=" today."
        ),
        "suggestion": "Put it last.",
        "slot_type": "identity",
    }
    return Finding(id=name, **(known | given))  # type: ignore[arg-type]


def diagnosis(rows: tuple[RequestRow, ...], findings: tuple[Finding, ...] = ()) -> Diagnosis:
    """Totals and call sites as the rows say."""
    names = list(dict.fromkeys(each.call_site for each in rows))
    total = _sum(rows)
    return Diagnosis(
        input=InputInfo(path="trace.jsonl", sha256="0" * 64, format="openai-chat", requests=len(rows)),
        cache=CacheInfo(block_size=16),
        encoding=EncodingInfo(tokenizer="t", chat_template="c", exact=False, note=""),
        tokens=total,
        hit_rate=_rate(total),
        hit_rate_if_fixed=_rate(total),
        call_sites=tuple(_site(name, [each for each in rows if each.call_site == name]) for name in names),
        findings=findings,
        rows=rows,
    )


def save(
    folder: Path, rows: tuple[RequestRow, ...], findings: tuple[Finding, ...] = (), *, revealed: bool = True
) -> Path:
    """``diagnosis.json`` with its requests and its map; values stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    told = diagnosis(rows, findings)
    (folder / "diagnosis.json").write_bytes(to_json(diagnosis_document(told, revealed=revealed)))
    (folder / "requests.parquet").write_bytes(to_parquet(rows))
    (folder / "map.parquet").write_bytes(write_map(_runs(rows)))
    return folder / "diagnosis.json"


def _runs(rows: tuple[RequestRow, ...]) -> MapRuns:
    fates, sections = RunGatherer(), RunGatherer()
    for each in rows:
        counts = [getattr(each.tokens, name) for name in FATES]
        fates.add(joined(list(range(len(FATES))), np.cumsum(counts).tolist()))
        sections.add(joined([1, 3], [each.tokens.prompt // 2, each.tokens.prompt]))
    prompts = np.array([each.tokens.prompt for each in rows], dtype=np.int32)
    return MapRuns(16, prompts, fates.column(), sections.column())


def _site(name: str, rows: list[RequestRow]) -> CallSite:
    total = _sum(rows)
    return CallSite(
        id=name,
        name=f"Name of {name}",
        requests=len(rows),
        sessions=len({each.session for each in rows}),
        hit_rate=_rate(total),
        lost_tokens=total.diverged + total.evicted,
        prompt_tokens=total.prompt,
    )


def _sum(rows: tuple[RequestRow, ...] | list[RequestRow]) -> TokenFates:
    return TokenFates(
        **{name: sum(getattr(each.tokens, name) for each in rows) for name in ("prompt", *FATES)}
    )


def _rate(tokens: TokenFates) -> float:
    return round(tokens.hit / tokens.prompt, 6) if tokens.prompt else 0.0
