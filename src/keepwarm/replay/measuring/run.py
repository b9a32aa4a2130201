"""The run itself: ask, plan, reset, send, count, keep."""

from __future__ import annotations

import os
from pathlib import Path

import httpx2

from keepwarm._errors import InputError, KeepwarmError, ServerError
from keepwarm._progress import Progress, Silent
from keepwarm.replay.measuring.counting import (
    counters_of,
    first_wave_least_cached_tokens,
    hits_since,
    plugin_totals,
    settled,
)
from keepwarm.replay.measuring.facts import ask_server
from keepwarm.replay.measuring.files import check_out, keep_run
from keepwarm.replay.measuring.interrupt import stopped_by_interrupt
from keepwarm.replay.measuring.journal import Journal, Line, Pause, journal_of
from keepwarm.replay.measuring.options import ReplayOptions, check_options
from keepwarm.replay.measuring.pacing import sent_rows
from keepwarm.replay.measuring.plan import Plan, make_plan, template_text
from keepwarm.replay.measuring.record import Run
from keepwarm.replay.measuring.sending import Sender
from keepwarm.replay.measuring.starting import Start, earlier_run, start_of_run
from keepwarm.replay.measuring.summing import Measured, summed
from keepwarm.server.client import VllmClient


class RunInterrupted(KeepwarmError):
    """The run was interrupted; the message says how it goes on."""

    exit_code = 130


def replay_trace(
    path: str,
    base_url: str,
    out: Path,
    options: ReplayOptions,
    *,
    resume: bool = False,
    api_key: str | None = None,
    transport: httpx2.BaseTransport | None = None,
    progress: Progress | None = None,
) -> Run:
    """Send the requests of the trace at ``path`` and keep what each got, as evidence in the folder ``out``.

    The folder appears when the run is complete. A failed request is a row, not an exception. ``transport``
    replaces the network in tests.

    Raises:
        InputError: the options, the trace, the place or an interrupted run there cannot be used.
        ServerError: the server cannot be reached, does not tell its limits, its usage or its counters, did
            not empty its cache, or failed five requests in a row.
        RunInterrupted: by SIGINT.
    """
    check_options(options)
    out = Path(os.path.abspath(out))  # noqa: PTH100 - what is done beside it needs its name
    check_out(out)
    journal_path = journal_of(out)
    earlier = earlier_run(journal_path, resume)
    heard = progress or Silent()
    with VllmClient(base_url, api_key=api_key, transport=transport, timeout_s=options.timeout_s) as client:
        template = template_text(options.chat_template)
        served = ask_server(client, options.model, device=options.device, chat_template=template)
        plan = make_plan(client, served.facts, path, options, heard)
        if not any(entry.is_sent for entry in plan.entries):
            first = plan.entries[0].row
            raise InputError(f"no request of {path!r} fits the server; the first: {first.error}")
        start = start_of_run(client, options, plan, served.facts, earlier)
        with Journal(journal_path, fresh=start.is_fresh) as journal:
            if start.is_fresh:
                journal.add(start.head)
            measured = _Measurement(client, options, plan, start, journal, heard).run(journal_path)
    run, rows = summed(plan, measured)
    keep_run(out, run, rows)
    journal_path.unlink()
    return run


class _Measurement:
    """Sends what is left of a plan."""

    def __init__(
        self,
        client: VllmClient,
        options: ReplayOptions,
        plan: Plan,
        start: Start,
        journal: Journal,
        progress: Progress,
    ) -> None:
        self._client = client
        self._options = options
        self._start = start
        self._journal = journal
        self._progress = progress
        done = {row.index for row in start.rows}
        self._left = [entry for entry in plan.entries if entry.is_sent and entry.row.index not in done]
        self._rows = list(start.rows)

    def run(self, journal_path: Path) -> Measured:
        """All of it. Raises as ``replay_trace`` does."""
        options, start = self._options, self._start
        self._progress.stage("replaying", len(self._left))
        sender = Sender(self._client, keep_text=options.keep_text, earlier_s=start.wall_s)
        with stopped_by_interrupt() as stopped:
            for row in sent_rows(options.mode, self._left, sender, options.concurrency or 1, stopped):
                self._rows.append(row)
                self._journal.add(Line(row=row))
                self._check_first(journal_path)
                self._progress.advance()
        wall_s = sender.now_s()
        after = settled(self._client, start.head.before, self._rows)
        if len(self._rows) < len(start.rows) + len(self._left):
            raise self._interrupted(wall_s, counters_of(after), journal_path)
        self._check_cold(journal_path)
        # Should the folder not be made now, the rows are whole, and --resume has nothing left to send.
        self._journal.add(Pause(wall_s=wall_s, counters=counters_of(after)))
        return Measured(
            label=options.label,
            head=start.head,
            rows=tuple(self._rows),
            wall_s=wall_s,
            interruptions=start.interruptions,
            kept_requests=len(start.rows),
            after=counters_of(after),
            plugin_after=plugin_totals(after),
            end_mode=after.mode(),
        )

    def _check_first(self, journal_path: Path) -> None:
        """A run that goes one by one need not be finished to show that the cache was not empty."""
        if len(self._rows) != 1 or self._options.mode != "sequential" or not self._options.reset:
            return
        self._check_cold(journal_path)
        before = self._start.head.before
        hits = hits_since(before, settled(self._client, before, self._rows))
        if hits and self._rows[0].status == "ok":
            journal_path.unlink()
            raise _not_reset(self._client.name, hits, "by its counters")

    def _check_cold(self, journal_path: Path) -> None:
        least = first_wave_least_cached_tokens(self._rows)
        if self._options.reset and least:
            journal_path.unlink()
            raise _not_reset(self._client.name, least, "by its usage")

    def _interrupted(self, wall_s: float, counters: dict[str, int], journal_path: Path) -> RunInterrupted:
        if self._options.mode != "sequential":
            return RunInterrupted(
                "interrupted; requests that are sent side by side cannot go on half-way, so --resume begins "
                "again with a reset"
            )
        self._journal.add(Pause(wall_s=wall_s, counters=counters))
        return RunInterrupted(
            f"interrupted after {len(self._rows)} requests, kept in {str(journal_path)!r}; --resume goes "
            "on as long as nobody else uses the server"
        )


def _not_reset(server: str, tokens: int, how: str) -> ServerError:
    return ServerError(
        f"{server} says that it reset its cache, but the first request hit {tokens} tokens {how}; wait until "
        "nobody else uses it, or add --no-reset, which the record will say"
    )
