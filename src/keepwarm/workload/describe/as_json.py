"""A description as a JSON document."""

from __future__ import annotations

from typing import Any

from keepwarm._json import plain
from keepwarm.workload.describe.figures import SCHEMA, Description


def sessions_document(description: Description) -> dict[str, Any]:
    """Records as dictionaries; floats are rounded to six digits."""
    return {"schema": SCHEMA, **plain(description)}
