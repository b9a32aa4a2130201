"""How often pictures at one place are compared: it costs a second each where pixels decide."""

from __future__ import annotations

import pytest

from keepwarm.diagnose.rules import _pictures
from keepwarm.trace.records import Request
from tests.diagnose.building import traffic_of, view_of


def calls(names: list[str]) -> list[Request]:
    """One call per picture, each in a session of its own."""
    return [
        Request(
            line=i + 1,
            id=f"r{i}",
            session=f"s{i}",
            messages=[
                {"role": "system", "content": "Say what the picture shows, in one sentence and no more."},
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"data:,{name}"}}]},
            ],
        )
        for i, name in enumerate(names)
    ]


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Pairs that were compared; pictures are the same if their first letters are."""
    pairs = []

    def same(a: str, b: str) -> float:
        pairs.append((a, b))
        return float(a[6] == b[6])

    monkeypatch.setattr(_pictures, "same_media", same)
    return pairs


def test_pictures_of_every_call_s_own_are_soon_left_alone(compared: list[tuple[str, str]]) -> None:
    view = view_of(traffic_of(calls([f"{chr(97 + i)}" for i in range(20)])))
    assert not _pictures.resent_pictures(view)
    assert len(compared) == 0 + 1 + 2 + 3


def test_one_picture_in_other_bytes_is_soon_taken_for_granted(compared: list[tuple[str, str]]) -> None:
    view = view_of(traffic_of(calls([f"a{i}" for i in range(20)])))
    assert len(_pictures.resent_pictures(view)) == 19
    assert len(compared) == 3


def test_equal_bytes_are_never_compared(compared: list[tuple[str, str]]) -> None:
    view = view_of(traffic_of(calls(["a1", "b1", "a1", "b1", "b2"])))
    assert list(_pictures.resent_pictures(view)) == [4]
