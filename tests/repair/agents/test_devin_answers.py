from __future__ import annotations

import json
from typing import Any

import pytest

from keepwarm.repair.agents.devin_answers import opened_session, v3_session


@pytest.mark.parametrize(
    ("written", "acus"),
    [
        ("1.5", 1.5),
        ("2", 2.0),
        ("0", 0.0),
        ("-1", None),
        ("NaN", None),
        ("Infinity", None),
        ("1e999", None),
        ("1" + "0" * 400, None),
        ("true", None),
        ('"3"', None),
        ("null", None),
    ],
)
def test_a_cost_is_a_number_or_not_known(written: str, acus: float | None) -> None:
    assert v3_session(json.loads(f'{{"status": "exit", "acus_consumed": {written}}}')).acus == acus


@pytest.mark.parametrize("tags", [None, "t", {"t": 1}, [1, None], []])
def test_tags_that_are_no_texts_are_none(tags: Any) -> None:
    assert opened_session({"session_id": "s", "tags": tags}).tags == ()
