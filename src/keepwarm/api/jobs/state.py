"""The jobs of the running application: with it from its start, ended with it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, FastAPI, Request
from fastapi.concurrency import run_in_threadpool

from keepwarm.api.jobs.jobs import Jobs


@contextlib.asynccontextmanager
async def ending_jobs(app: FastAPI) -> AsyncIterator[None]:
    """The application's lifespan: no process of a job outlives it."""
    try:
        yield
    finally:
        await run_in_threadpool(app.state.jobs.close)


def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


JobsNow = Annotated[Jobs, Depends(_jobs)]
