from __future__ import annotations

import pytest

from keepwarm.diagnose.findings import Diagnosis
from keepwarm.diagnose.report.mask import masked
from tests.report.sample import helpdesk


@pytest.fixture
def diagnosis() -> Diagnosis:
    return helpdesk()


@pytest.fixture
def shown(diagnosis: Diagnosis) -> Diagnosis:
    """As it may be shown: masked."""
    return masked(diagnosis)
