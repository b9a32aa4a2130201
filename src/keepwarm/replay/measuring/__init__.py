"""A measured replay: recorded requests sent to a real server, and what each of them got.

- ``options``: what the caller chooses; ``bodies``: a recorded request as it is sent
- ``plan``: the requests of a trace, counted by the server before anything is sent
- ``facts``: what the server says of itself; ``sending``: one request, one row; ``quoting``: a failure in the
  server's words without the request's; ``pacing``: one after another, several at once, or as recorded
- ``journal``: rows on disk while the run lasts; ``starting``: with a reset, or where one was interrupted
- ``counting``: the server's counters; ``summing``: rows to a record; ``run``: all of it, in order
- ``record``: what a run is, ``keepwarm.replay/1``; ``rows``: its rows as Parquet; ``files``: its folder
"""

from __future__ import annotations

from keepwarm.replay.measuring.options import ReplayOptions
from keepwarm.replay.measuring.record import Run
from keepwarm.replay.measuring.run import replay_trace

__all__ = ["ReplayOptions", "Run", "replay_trace"]
