"""``keepwarm sessions describe``: from files to the whole description."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm._progress import Progress, Silent
from keepwarm.cache.models import read_model_config
from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.model import ModelError, ReuseModel, load
from keepwarm.workload.describe.figures import Description, TraceFigures
from keepwarm.workload.describe.measure import measure
from keepwarm.workload.describe.tools import calls_of_trace, tool_times
from keepwarm.workload.load import LoadOptions, load_recording
from keepwarm.workload.recording import Recording

WINDOW_S = 600.0


class DescribeOptions(NamedTuple):
    """What to describe, and against what.

    ``beside``: a second trace. ``tools``: tool calls with their durations; else those the trace names.
    ``reuse_model``: a fitted predictor, whose clusters sort the calls. ``model_config``: of the model whose
    KV is moved. ``load`` is how to read the trace; the one beside it is read with the defaults.
    """

    load: LoadOptions = LoadOptions()
    beside: str | None = None
    capacity_tokens: int | None = None
    tools: str | None = None
    reuse_model: str | None = None
    model_config: str | None = None
    window_s: float = WINDOW_S


def describe(path: str, options: DescribeOptions, *, progress: Progress | None = None) -> Description:
    """Describe the trace at ``path``. Raises InputError: a file cannot be read, or holds nothing of use."""
    heard = progress or Silent()
    per_token = None
    if options.model_config is not None:
        per_token = read_model_config(Path(options.model_config)).bytes_per_token()
    model = None if options.reuse_model is None else _model(options.reuse_model)
    durations = None if options.tools is None else read_durations([options.tools]).durations
    recording = load_recording(path, options.load, progress=heard)
    if durations is None:
        durations = tuple(calls_of_trace(recording))
    trace = _measured(recording, options, per_token, heard)
    beside = None
    if options.beside is not None:
        recording = load_recording(options.beside, progress=heard)  # the first may go: both are large
        beside = _measured(recording, options, per_token, heard)
    return Description(
        capacity_tokens=options.capacity_tokens,
        bytes_per_token=per_token,
        trace=trace,
        beside=beside,
        tools=tool_times(durations, source=options.tools, model=model),
    )


def _model(path: str) -> ReuseModel:
    try:
        return load(path)
    except ModelError as error:
        raise InputError(str(error)) from None


def _measured(
    recording: Recording, options: DescribeOptions, per_token: int | None, progress: Progress
) -> TraceFigures:
    progress.stage("measuring", None)
    return measure(
        recording,
        window_s=options.window_s,
        capacity_tokens=options.capacity_tokens,
        bytes_per_token=per_token,
    )
