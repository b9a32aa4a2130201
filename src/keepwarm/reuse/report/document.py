"""What ``keepwarm reuse report`` says, as one value and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import plain
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.durations.read import Durations
from keepwarm.reuse.model import ModelError, load
from keepwarm.reuse.predictor import Cluster, ReuseModel, ToolModel
from keepwarm.reuse.report.held_out import Row, SplitOptions, held_out_rows, model_rows

SCHEMA = "keepwarm.reuse-report/1"
_TERMS_SHOWN = 5


class InputInfo(msgspec.Struct, frozen=True):
    """The calls judged on; ``notes`` say what of the files was left out."""

    files: tuple[str, ...]
    calls: int
    cut_off: int
    tasks: int
    notes: tuple[str, ...]


class Step(msgspec.Struct, frozen=True):
    """A curve of a model: of all calls (no ``tool``), of a tool, of a cluster (``terms``, heaviest first)."""

    tool: str | None
    terms: tuple[str, ...]
    calls: int
    mean_s: float | None  # expected as a call starts
    known_to_s: float  # past it the step below is asked


class ModelInfo(msgspec.Struct, frozen=True):
    """How a model came to be, and its curves."""

    fitted: dict[str, Any]
    steps: tuple[Step, ...]


class Report(msgspec.Struct, frozen=True):
    """``rows`` are of held-out tasks, or, with a model, of the calls that were given; empty without calls."""

    settings: dict[str, Any]
    input: InputInfo | None
    model: ModelInfo | None
    rows: tuple[Row, ...]


def reuse_report(durations: Durations | None, model: ReuseModel | None, options: SplitOptions) -> Report:
    """Judge a model on the durations, or fit several on parts of them; without durations describe the model.

    Raises:
        InputError: neither is given, or the durations cannot be divided or fitted.
    """
    if durations is None and model is None:
        raise InputError("nothing to report on; name transcripts or CSV, or a fitted model with --model FILE")
    rows: tuple[Row, ...] = ()
    if durations is not None:
        held = durations.durations
        rows = held_out_rows(held, options) if model is None else model_rows(model, held, options)
    return Report(
        settings=options._asdict() if durations is not None and model is None else {"seed": options.seed},
        input=None if durations is None else _input(durations),
        model=None if model is None else ModelInfo(model.fitted._asdict(), tuple(_steps(model))),
        rows=rows,
    )


def load_model(path: str) -> ReuseModel:
    """The model in a file. Raises InputError: it is missing or cannot be used."""
    try:
        return load(path)
    except ModelError as error:
        raise InputError(str(error)) from None


def report_document(report: Report) -> dict[str, Any]:
    """The report as ``--json`` prints it."""
    return {"schema": SCHEMA, **plain(report)}


def _input(durations: Durations) -> InputInfo:
    held = durations.durations
    return InputInfo(
        files=durations.sources,
        calls=len(held),
        cut_off=sum(duration.cut_off for duration in held),
        tasks=len({duration.task for duration in held}),
        notes=durations.notes,
    )


def _steps(model: ReuseModel) -> Iterator[Step]:
    yield _step(None, (), model.curve)
    for name, tool in sorted(model.tools.items()):
        yield _step(name, (), tool.curve)
        for cluster in tool.clusters:
            yield _step(name, _heaviest(tool, cluster), cluster.curve)


def _step(tool: str | None, terms: Sequence[str], curve: Curve) -> Step:
    return Step(tool, tuple(terms), curve.samples, curve.remaining_s(0.0), curve.end_s)


def _heaviest(tool: ToolModel, cluster: Cluster) -> list[str]:
    weighed = sorted(zip(cluster.weights, cluster.terms, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return [tool.terms[term] for _, term in weighed[:_TERMS_SHOWN]]
