"""The canary: baseline, candidate, rollback drill, decision. Nothing stays active that was not accepted."""

from __future__ import annotations

from collections.abc import Callable

from keepwarm._errors import ServerError
from keepwarm.canary.acceptance import ACTIVE, Decision, decide, refuse_unserved
from keepwarm.canary.checks import check
from keepwarm.canary.options import CanaryOptions
from keepwarm.canary.record import CanaryRecord, Final
from keepwarm.canary.rollback import LRU, Drill, drill, rolled_back
from keepwarm.canary.runs import Instruments, Run, take_run
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.vllm.settings import MODE

Say = Callable[[str], None]


def run_canary(
    adapter: ServerAdapter,
    options: CanaryOptions,
    measure: Instruments,
    *,
    keep: Callable[[CanaryRecord], None],
    say: Say,
) -> CanaryRecord:
    """Run all of it; ``keep`` puts the record away, ``say`` hears a line per stage.

    A candidate that does not serve is refused, and a rollback that does not come back is a failed drill: both
    are in the record. The server is stopped at the end, whatever happens, unless it was asked to stay:
    then it runs in the mode the record ends with, or not at all if the drill failed.

    Raises:
        ServerError: the baseline could not be taken.
        InputError: options that make no sense; whatever ``keep`` raises, too.
    """
    left_running = False
    try:
        record = _all_stages(adapter, options, measure, say)
        keep(record)
        left_running = record.final.left_running
        return record
    finally:
        if not left_running:
            adapter.stop()


def _all_stages(
    adapter: ServerAdapter, options: CanaryOptions, measure: Instruments, say: Say
) -> CanaryRecord:
    candidate_settings = {**options.candidate, MODE: ACTIVE}
    say("baseline: a server with COMPUTECACHE_MODE=lru, under pressure")
    baseline = take_baseline(adapter, measure)
    identity = measure.identity(adapter.base_url)
    say("candidate: the same with COMPUTECACHE_MODE=active")
    candidate = _take_candidate(adapter, candidate_settings, measure, say)
    say("rollback drill: the mode back at lru, restarted, under pressure")
    rollback = drill(adapter, candidate_settings, baseline, measure, other_text=options.other_text)
    if candidate is None:
        decision = refuse_unserved()
    else:
        decision = decide(baseline, candidate, again=rollback.run, options=options)
    final = _settle(adapter, options, measure, decision, rollback)
    return CanaryRecord.made(
        identity=identity,
        options=options,
        candidate_settings=candidate_settings,
        baseline=baseline,
        candidate=candidate,
        decision=decision,
        drill=rollback,
        final=final,
    )


def take_baseline(adapter: ServerAdapter, measure: Instruments) -> Run:
    """The run that all others are held to. Raises ServerError: it is not in lru, or requests fail."""
    baseline = take_run(adapter, {MODE: LRU}, measure)
    if baseline.plugin.mode != LRU:
        raise ServerError(
            f"the baseline's mode is {baseline.plugin.mode!r} where 'lru' was set; "
            "do the adapter's settings reach the server's environment?"
        )
    if baseline.pressure.failed_requests:
        raise ServerError(
            f"{baseline.pressure.failed_requests} of the baseline's requests failed: "
            f"{baseline.pressure.failures[0].reason if baseline.pressure.failures else 'no reason given'}; "
            "a canary needs a server that serves"
        )
    return baseline


def _take_candidate(
    adapter: ServerAdapter, settings: dict[str, str], measure: Instruments, say: Say
) -> Run | None:
    """None if its server does not start or stops to answer; why is said, not recorded: it may hold paths."""
    try:
        return take_run(adapter, settings, measure)
    except ServerError as error:
        say(f"the candidate does not serve: {first_line(error)}")
        return None


def _settle(
    adapter: ServerAdapter, options: CanaryOptions, measure: Instruments, decision: Decision, rollback: Drill
) -> Final:
    """The mode to end with, and the server in it if it is to stay."""
    accepted = decision.accepted and rollback.passed
    if not options.leave_running or rollback.run is None:
        return Final(mode=ACTIVE if accepted else LRU, left_running=False)
    if not accepted:
        return Final(mode=LRU, left_running=rollback.passed)  # as the drill left it
    if _starts(adapter, {**options.candidate, MODE: ACTIVE}, measure):
        return Final(mode=ACTIVE, left_running=True)
    message = "the accepted candidate starts once more, to stay"
    return Final(
        mode=LRU,
        left_running=_starts(adapter, rolled_back(options.candidate), measure),
        checks=(check("starts-to-stay", False, message),),
    )


def _starts(adapter: ServerAdapter, settings: dict[str, str], measure: Instruments) -> bool:
    """Whether the server runs in the mode of ``settings`` now."""
    try:
        adapter.start(settings)
        return measure.plugin(adapter.base_url).mode == settings[MODE]
    except ServerError:
        return False


def first_line(error: ServerError) -> str:
    """Without the end of the server's log, which is in its file."""
    return str(error).partition("\n")[0]
