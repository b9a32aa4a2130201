from __future__ import annotations

from pathlib import Path

import pytest

from tests.guard.building import Loop, a_loop


@pytest.fixture
def loop(tmp_path: Path) -> Loop:
    """A good repair with all its evidence."""
    return a_loop(tmp_path)
