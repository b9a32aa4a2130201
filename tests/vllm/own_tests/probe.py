"""A pytest plugin inside the process that runs vLLM's own tests: ``-p probe``.

It loads vLLM's general plugins first, as every process of a server does, and in the end writes how each test
ended, and how many pools were made and were not of vLLM's own classes.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from vllm.plugins import load_general_plugins
from vllm.v1.core.block_pool import BlockPool

from keepwarm.vllm.classes import pool_class

load_general_plugins()

_made = {"pools": 0, "hooked_pools": 0, "hooked_queues": 0}
_outcomes: dict[str, str] = {}
_init = BlockPool.__init__


@wraps(_init)
def _counting_init(self: Any, *args: Any, **options: Any) -> None:
    _init(self, *args, **options)
    _made["pools"] += 1


def _count_hooked(hooked: Any) -> None:
    attach = hooked.on_made

    def attach_and_count(pool: Any) -> None:
        attach(pool)
        _made["hooked_pools"] += hasattr(pool, "computecache")
        _made["hooked_queues"] += type(pool.free_block_queue).__module__.startswith("keepwarm.")

    hooked.on_made = staticmethod(attach_and_count)


BlockPool.__init__ = _counting_init
if hasattr(pool_class(BlockPool), "on_made"):  # the plugin was asked for
    _count_hooked(pool_class(BlockPool))


@pytest.fixture
def caplog_vllm(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """What vLLM logs; vLLM's own conftest, which has it, needs packages that are not here."""
    logger = logging.getLogger("vllm")
    propagate, level = logger.propagate, logger.level
    logger.propagate = True
    logger.setLevel(logging.INFO)
    yield caplog
    logger.propagate = propagate
    logger.setLevel(level)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test passed if its call did and neither set-up nor tear-down failed."""
    if report.when == "call" or report.outcome != "passed":
        _outcomes[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """For the process that started this one."""
    Path(os.environ["PROBE_RESULT"]).write_text(json.dumps({"outcomes": _outcomes, "made": _made}))
