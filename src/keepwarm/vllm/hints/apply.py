"""What a hint changes in the table of sessions, a while after it came in."""

from __future__ import annotations

import time
from dataclasses import dataclass

from keepwarm.scheduling.sessions import SessionTable
from keepwarm.vllm.hints.hint import Hint, Kind


@dataclass(slots=True)
class HintCounts:
    """Of one listener. The first three are the listener's to write, the others those of ``apply``."""

    accepted: int = 0  # taken into the queue
    refused: int = 0  # answered 4xx or 5xx
    dropped: int = 0  # the queue was full: the oldest went
    applied: int = 0
    unknown: int = 0  # of a session that sent no request, or of one that was forgotten
    late: int = 0  # the session has a request here again


def apply(hint: Hint, table: SessionTable, now_s: float, counts: HintCounts) -> None:
    """Mutates ``table``, whose time is ``now_s``. O(1).

    A session that sent no request is left unknown: it holds no blocks, and ids that somebody makes up must
    not push out the sessions that do. What a session did before the request that is here now is over, so a
    hint of it comes too late; the end of a session may be told while its last request runs.
    """
    known = table.get(hint.session)
    if known is None:
        counts.unknown += 1
        return
    received_s = now_s - max(0.0, time.monotonic() - hint.received_s)
    if known.requests and (hint.kind is not Kind.FINISHED or received_s < known.since_s):
        counts.late += 1
        return
    counts.applied += 1
    if hint.kind is Kind.FINISHED:
        table.finish(hint.session)
    elif hint.kind is Kind.HUMAN:
        table.awaits_human(hint.session, now_s)
    else:
        # No earlier than the answer that asked for the call, whatever the client's clock says.
        started_s = known.since_s if hint.kind is Kind.IDLE else received_s - hint.elapsed_s
        table.doing(hint.session, hint.call, max(known.since_s, started_s))
