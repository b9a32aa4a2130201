"""Replay a day of tickets through the desk and write down the model's traffic.

The desk runs as short-lived workers: one process for each incoming message. A recording has to come
out the same every time, so it runs in a single process, and what differs between workers is played: the
clock is simulated, and each worker iterates over a set of names in an order of its own, drawn from the
seed, as separate processes do because Python salts the hashes of strings anew in each of them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import heapq
import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

from helpdesk.app import Helpdesk
from helpdesk.client import ChatBody, ChatResponse, HttpTransport, Transport
from helpdesk.config import ENABLED_TOOLS, Settings
from helpdesk.customers import Records, load_json
from helpdesk.errors import HelpdeskError
from helpdesk.knowledge import HelpCentre
from helpdesk.scripted import ScriptedModel
from helpdesk.tickets import Ticket

DEFAULT_SEED = 7
_DAY_STARTS = datetime(2026, 5, 12, 6, 50, tzinfo=UTC)
_FIRST_MESSAGES_WITHIN_S = 11.5 * 3600
_ANSWER_AFTER_S = (240, 5400)
_BASE_LATENCY_S = 0.35
_PROMPT_TOKENS_PER_S = 6000
_OUTPUT_TOKENS_PER_S = 90


class WorkerNames(frozenset[str]):
    """A set of names that one particular worker iterates over in its own order."""

    worker: str

    def __new__(cls, names: frozenset[str], worker: str) -> WorkerNames:
        """The same members as ``names``."""
        made = super().__new__(cls, names)
        made.worker = worker
        return made

    def __iter__(self) -> Iterator[str]:
        """The members, by a hash salted with the worker."""
        return iter(sorted(super().__iter__(), key=self._salted_hash))

    def _salted_hash(self, name: str) -> bytes:
        return hashlib.sha256(f"{self.worker}/{name}".encode()).digest()


@dataclass
class SimulatedClock:
    """The time of one worker; moves only when told to."""

    now: datetime

    def __call__(self) -> datetime:
        """The current time, UTC."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


@dataclass
class RecordingTransport:
    """Passes requests on and keeps a copy of each with its answer."""

    inner: Transport
    clock: SimulatedClock
    records: list[dict[str, Any]] = field(default_factory=list)

    def send(self, body: ChatBody, session: str) -> ChatResponse:
        """Answer ``body`` through the inner transport; raises ``UpstreamError`` and then records nothing."""
        asked_at = self.clock.now
        sent = json.loads(json.dumps(body))
        response = self.inner.send(body, session)
        usage = response.get("usage") or {}
        self.clock.advance(
            _BASE_LATENCY_S
            + usage.get("prompt_tokens", 0) / _PROMPT_TOKENS_PER_S
            + usage.get("completion_tokens", 0) / _OUTPUT_TOKENS_PER_S
        )
        self.records.append(
            {
                "timestamp": round(asked_at.timestamp(), 3),
                "session_id": session,
                "body": sent,
                "response": {"created": int(self.clock.now.timestamp()), **response},
            }
        )
        return response


def record_day(transport: Transport, seed: int, model: str) -> list[dict[str, Any]]:
    """The traffic of one day in time order. Raises ``HelpdeskError`` where the upstream fails."""
    rng = random.Random(seed)
    office, help_centre = Records.load(), HelpCentre.load()
    settings = Settings(model=model)
    day = load_json("day.json")
    tickets = [Ticket(row["ticket"], office.customer(row["customer"]), row["subject"]) for row in day]
    waiting = [(_first_arrival(row, rng), index, 0) for index, row in enumerate(day)]
    heapq.heapify(waiting)
    records: list[dict[str, Any]] = []
    while waiting:
        arrival, index, turn = heapq.heappop(waiting)
        clock = SimulatedClock(arrival)
        recorder = RecordingTransport(transport, clock)
        names = WorkerNames(ENABLED_TOOLS, f"{seed}/{tickets[index].id}/{turn}")
        desk = Helpdesk(
            recorder,
            clock,
            records=office,
            help_centre=help_centre,
            settings=replace(settings, enabled_tools=names),
        )
        desk.handle(tickets[index], day[index]["messages"][turn])
        records += recorder.records
        if turn + 1 < len(day[index]["messages"]):
            shortest, longest = _ANSWER_AFTER_S
            pause = timedelta(seconds=shortest + (longest - shortest) * rng.random())
            heapq.heappush(waiting, (clock.now + pause, index, turn + 1))
    records.sort(key=lambda record: record["timestamp"])
    return [{"id": f"hd-{number:04d}", **record} for number, record in enumerate(records, start=1)]


def _first_arrival(row: dict[str, Any], rng: random.Random) -> datetime:
    if "at" in row:
        return datetime.combine(_DAY_STARTS, time.fromisoformat(row["at"]), UTC)
    return _DAY_STARTS + timedelta(seconds=_FIRST_MESSAGES_WITHIN_S * rng.random())


def write_traffic(records: Sequence[dict[str, Any]], path: Path) -> None:
    """One JSON object a line; compressed, with no time in the header, where the name ends in ``.gz``."""
    lines = "".join(
        json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n" for record in records
    )
    data = lines.encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main(argv: Sequence[str] | None = None) -> int:
    """The command line; 0 fine, 2 the call or the upstream is wrong."""
    parser = argparse.ArgumentParser(prog="python -m helpdesk.record", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="order of arrivals and of tools")
    parser.add_argument("--out", type=Path, default=Path("traffic.jsonl.gz"), help="file to write")
    parser.add_argument(
        "--upstream", metavar="URL", help="OpenAI-compatible server; default: a scripted model"
    )
    parser.add_argument("--model", default=Settings().model, help="model to ask for")
    options = parser.parse_args(argv)
    api_key = os.environ.get("OPENAI_API_KEY", "")
    try:
        transport: Transport = (
            HttpTransport(options.upstream, api_key) if options.upstream else ScriptedModel()
        )
        records = record_day(transport, options.seed, options.model)
        write_traffic(records, options.out)
    except (HelpdeskError, OSError) as error:
        print(f"helpdesk: {error}", file=sys.stderr)
        return 2
    sessions = len({record["session_id"] for record in records})
    print(f"{len(records)} requests of {sessions} tickets written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
