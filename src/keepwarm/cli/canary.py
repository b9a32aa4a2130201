"""``keepwarm canary``: try ComputeCache on a server that may be restarted, and leave a record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from keepwarm._errors import InputError
from keepwarm.cli import canary_options as given
from keepwarm.cli import options as shared
from keepwarm.cli import pressure as workload
from keepwarm.cli.output import write_bytes, write_error, write_text

if TYPE_CHECKING:
    from keepwarm.canary.pressure import PressureOptions
    from keepwarm.canary.runs import Instruments

app = typer.Typer(help="Try ComputeCache on a server that may be restarted.", rich_markup_mode=None)


def run_command(
    local_model: given.LocalModel = None,
    python: given.Python = None,
    blocks: given.Blocks = 128,
    block_size: given.BlockSize = 32,
    compose: given.Compose = None,
    service: given.Service = None,
    start_command: given.StartCommand = None,
    stop_command: given.StopCommand = None,
    base_url: given.BaseUrl = None,
    set_: given.Set = None,
    hot_tokens: workload.HotTokens = None,
    flood: workload.Flood = None,
    flood_tokens: workload.FloodTokens = None,
    model: workload.Model = None,
    seed: workload.Seed = 0,
    ttft_budget: given.TtftBudget = 1.05,
    allow_other_text: given.OtherText = False,
    leave_running: given.LeaveRunning = False,
    device: given.Device = None,
    out: given.Out = Path("canary"),
    logs: given.Logs = None,
    json: shared.Json = False,
) -> None:
    """Baseline in lru, candidate in active, rollback drill, decision, record.

    Exit 1 if the candidate is not accepted or the drill fails. Nothing stays active that was not accepted.
    """
    from keepwarm._interrupts import terminated_as_interrupted
    from keepwarm.canary.choose import ServerChoice, adapter_for
    from keepwarm.canary.options import CanaryOptions, candidate_settings
    from keepwarm.canary.record import CanaryRecord, canary_document, gate, write_record
    from keepwarm.canary.report import canary_markdown
    from keepwarm.canary.run import run_canary

    if leave_running and local_model is not None:
        raise InputError("--leave-running: a local server ends with this command; leave it out")
    options = CanaryOptions(
        candidate=candidate_settings(set_ or ()),
        pressure=_pressure(hot_tokens, flood, flood_tokens, model, seed),
        ttft_budget=ttft_budget,
        other_text=allow_other_text,
        leave_running=leave_running,
    )
    adapter = adapter_for(
        ServerChoice(
            local_model=local_model,
            python=python,
            blocks=blocks,
            block_size=block_size,
            compose=compose,
            service=service,
            start_command=start_command,
            stop_command=stop_command,
            base_url=base_url,
        ),
        _folders(out, logs),
    )

    def keep(record: CanaryRecord) -> None:
        write_record(canary_document(record), canary_markdown(record), out, "canary")

    with terminated_as_interrupted():
        record = run_canary(
            adapter, options, _instruments(options.pressure, device), keep=keep, say=write_error
        )
    _show(canary_document(record) if json else canary_markdown(record))
    gate(record.accepted, record.reasons(), "the candidate is not accepted")


def tune_command(
    local_model: given.LocalModel = None,
    python: given.Python = None,
    blocks: given.Blocks = 128,
    block_size: given.BlockSize = 32,
    compose: given.Compose = None,
    service: given.Service = None,
    start_command: given.StartCommand = None,
    stop_command: given.StopCommand = None,
    base_url: given.BaseUrl = None,
    scan_limits: given.ScanLimits = "16,32,64",
    p95_ttft_budget: given.P95Budget = "1.05",
    set_: given.Set = None,
    hot_tokens: workload.HotTokens = None,
    flood: workload.Flood = None,
    flood_tokens: workload.FloodTokens = None,
    model: workload.Model = None,
    seed: workload.Seed = 0,
    allow_other_text: given.OtherText = False,
    device: given.Device = None,
    out: given.Out = Path("canary"),
    logs: given.Logs = None,
    json: shared.Json = False,
) -> None:
    """The smallest scan limit that keeps the hot prefix within a TTFT budget, for both rules.

    Each is tried on a server just started, so on a clean cache; ends with the rollback drill and the server
    stopped. Exit 1 if no limit fits or the drill fails.
    """
    from keepwarm._interrupts import terminated_as_interrupted
    from keepwarm.canary.choose import ServerChoice, adapter_for
    from keepwarm.canary.options import SCAN_LIMIT, TuneOptions, candidate_settings, ttft_budget
    from keepwarm.canary.record import gate, write_record
    from keepwarm.canary.report import tuning_markdown
    from keepwarm.canary.tune import TuningRecord, run_tuning, tuning_document
    from keepwarm.vllm.settings import MODE, RULE

    options = TuneOptions(
        scan_limits=shared.counts(scan_limits),
        p95_ttft_budget=ttft_budget(p95_ttft_budget),
        candidate=candidate_settings(set_ or (), taken=(MODE, RULE, SCAN_LIMIT)),
        pressure=_pressure(hot_tokens, flood, flood_tokens, model, seed),
        other_text=allow_other_text,
    )
    adapter = adapter_for(
        ServerChoice(
            local_model=local_model,
            python=python,
            blocks=blocks,
            block_size=block_size,
            compose=compose,
            service=service,
            start_command=start_command,
            stop_command=stop_command,
            base_url=base_url,
        ),
        _folders(out, logs),
    )

    def keep(record: TuningRecord) -> None:
        write_record(tuning_document(record), tuning_markdown(record), out, "canary-tuning")

    with terminated_as_interrupted():
        record = run_tuning(
            adapter, options, _instruments(options.pressure, device), keep=keep, say=write_error
        )
    _show(tuning_document(record) if json else tuning_markdown(record))
    gate(record.accepted, record.reasons(), "tuning found no setting to recommend")


def _pressure(
    hot_tokens: int | None, flood: str | None, flood_tokens: int | None, model: str | None, seed: int
) -> PressureOptions:
    from keepwarm.canary.pressure import DEFAULT_FLOOD, PressureOptions
    from keepwarm.canary.pressure.options import check_options

    options = PressureOptions(
        hot_tokens=hot_tokens,
        flood=shared.counts(flood) or DEFAULT_FLOOD,
        flood_tokens=flood_tokens,
        model=model,
        seed=seed,
    )
    check_options(options)
    return options


def _instruments(options: PressureOptions, device: str | None) -> Instruments:
    from keepwarm.canary.runs import instruments

    return instruments(options, device=device, api_key=shared.api_key())


def _folders(out: Path, logs: Path | None) -> Path:
    """Makes the record's folder before the long work; the one for logs."""
    from keepwarm.canary.record import make_folder

    make_folder(out)
    return out / "logs" if logs is None else logs


def _show(shown: dict[str, Any] | str) -> None:
    from keepwarm._json import to_json

    if isinstance(shown, str):
        write_text(shown)
    else:
        write_bytes(to_json(shown))


app.command("run")(run_command)
app.command("tune")(tune_command)
