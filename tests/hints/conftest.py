from __future__ import annotations

from collections.abc import Iterator

import pytest

from keepwarm.vllm.hints.listener import HintListener
from tests.hints.endpoint import started


@pytest.fixture
def listener() -> Iterator[HintListener]:
    listener = started()
    yield listener
    listener.close()
