"""A job as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec
from fastapi.responses import StreamingResponse

from keepwarm.api.jobs.jobs import Jobs, Seen

HEARTBEAT_S = 15.0


def event_stream(jobs: Jobs, job: str, heartbeat_s: float = HEARTBEAT_S) -> StreamingResponse:
    """The job now, every change, its end; a reader may go away and come back. Raises NoSuchResult."""
    jobs.get(job)
    return StreamingResponse(
        _events(jobs, job, heartbeat_s), media_type="text/event-stream", headers={"cache-control": "no-store"}
    )


async def _events(jobs: Jobs, job: str, heartbeat_s: float) -> AsyncIterator[bytes]:
    async for seen in jobs.watch(job, heartbeat_s):
        yield b": still at it\n\n" if seen is None else _event(seen)


def _event(seen: Seen) -> bytes:
    return b"id: %d\nevent: job\ndata: %b\n\n" % (seen.version, msgspec.json.encode(seen.job))
