"""The type of a slot by its values. A row is (session, seconds since the start, value)."""

from __future__ import annotations

import datetime as dt
import json
import random
import uuid
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.diagnose.slot_types import classify
from keepwarm.diagnose.values import Seen, SlotType

START_S = 1_930_000_000.0  # 27 February 2031, 23:06:40 UTC, a Thursday
PASSAGE = "The pilots report that the eastern light is out and that nobody may lie at the mole tonight"
Row = tuple[str, float, str]


def seen(rows: list[Row], before: str = "At ", after: str = " in port.") -> list[Seen]:
    return [Seen(value, f"{before}{value}{after}", session, START_S + at) for session, at, value in rows]


def stamped(form: str, *, step_s: float = 97, zone_h: int = 0, count: int = 8) -> list[Row]:
    """Single calls that state their own time."""
    zone = dt.timezone(dt.timedelta(hours=zone_h))
    times = [n * step_s for n in range(count)]
    return [
        (f"s{n}", at, dt.datetime.fromtimestamp(START_S + at, zone).strftime(form))
        for n, at in enumerate(times)
    ]


@pytest.mark.parametrize(
    "rows",
    [
        stamped("%Y-%m-%d %H:%M:%S"),
        stamped("%Y-%m-%dT%H:%M:%S.%f", zone_h=2),
        stamped("%d.%m.%Y, %H:%M", zone_h=-7),
        stamped("%H:%M", step_s=61),
        stamped("%I:%M %p"),
        stamped("%B %d, %Y", step_s=86_400),
        stamped("%d %B %Y", step_s=86_400),
        stamped("%m/%d/%y", step_s=86_400),
        stamped("%s"),
        [(f"s{n}", 40.0 * n, f"{START_S + 40 * n:.3f}") for n in range(6)],
        [(f"s{n}", 40.0 * n, f"{(START_S + 40 * n) * 1000:.0f}") for n in range(6)],
    ],
    ids=[
        "seconds",
        "iso-zone",
        "german",
        "minutes",
        "half-day",
        "named",
        "day-first",
        "slashes",
        "epoch",
        "float",
        "ms",
    ],
)
def test_times_of_the_request_are_times(rows: list[Row]) -> None:
    kind, confidence = classify(seen(rows))
    assert kind is SlotType.TIME
    assert confidence >= 0.85


@pytest.mark.parametrize(
    "rows",
    [
        [(f"s{n}", 60.0 * n, f"{1950 + 7 * n}-03-1{n}") for n in range(8)],
        [(f"s{n}", 86_400.0 * n, f"{(n * 5) % 11 + 8}:17") for n in range(8)],
    ],
    ids=["years of birth", "opening hours"],
)
def test_dates_far_from_the_request_are_no_clock(rows: list[Row]) -> None:
    assert classify(seen(rows))[0] is not SlotType.TIME


def test_without_request_times_a_date_is_a_clock() -> None:
    rows = [Seen(f"2031-03-0{n}", f"On 2031-03-0{n}.", f"s{n}", None) for n in range(1, 6)]
    assert classify(rows)[0] is SlotType.TIME


def test_a_name_beside_a_clock_is_no_clock() -> None:
    names = ["Ansa", "Bo", "Carla", "Dag"]
    rows = [
        Seen(name, f"{name} asks at 23:0{6 + n // 2}", f"s{n % 4}", START_S + 40 * n)
        for n, name in enumerate(names * 2)
    ]
    assert classify(rows)[0] is SlotType.IDENTITY


@pytest.mark.parametrize(
    "value",
    [
        lambda rng: str(uuid.UUID(int=rng.getrandbits(128))),
        lambda rng: f"{rng.getrandbits(64):016x}",
        lambda rng: f"req_{rng.getrandbits(40):010x}",
        lambda rng: "".join(rng.choices("abcdefghjkmnpqrstvwxyzABCDEFGHJKMNPQRSTVWXYZ0123456789", k=22)),
        lambda rng: "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=12)),
    ],
    ids=["uuid", "hex", "prefixed", "base62", "letters"],
)
def test_fresh_codes_are_ids(value: Callable[..., str]) -> None:
    rng = random.Random(7)
    rows = [(f"s{n % 3}", 31.0 * n, value(rng)) for n in range(9)]
    assert classify(seen(rows))[0] is SlotType.ID


@pytest.mark.parametrize(
    "values",
    [
        ["Ansa Torvik", "Bo Lindqvist", "Carla Mendes"],
        ["acme-7731", "birch-2290", "cobalt-0417"],
        ["de-AT", "fr-CH", "en-IE"],
        ["3f2a9c10-0001", "3f2a9c10-0002", "77aa9c10-0003"],
    ],
    ids=["names", "tenants", "locales", "session ids"],
)
def test_what_stays_within_a_session_and_differs_between_them_is_an_identity(values: list[str]) -> None:
    rows = [(f"s{n % 3}", 31.0 * n, values[n % 3]) for n in range(9)]
    kind, confidence = classify(seen(rows))
    assert kind is SlotType.IDENTITY
    assert confidence >= 0.85


@pytest.mark.parametrize(
    "value",
    [
        lambda turn: f"{turn + 1}",
        lambda turn: f"{9 - turn} of 9",
        lambda turn: f"{20_000 - 1_317 * turn:,} tokens",
    ],
    ids=["up", "down", "budget"],
)
def test_numbers_that_go_one_way_within_a_session_are_counters(value: Callable[..., str]) -> None:
    rows = [(f"s{n % 3}", 31.0 * n, value(n // 3)) for n in range(15)]
    kind, confidence = classify(seen(rows))
    assert kind is SlotType.COUNTER
    assert confidence >= 0.85


def test_numbers_that_go_any_way_are_no_counter() -> None:
    rows = [(f"s{n % 2}", 31.0 * n, str(value)) for n, value in enumerate([4, 9, 1, 7, 12, 3, 8, 2])]
    assert classify(seen(rows))[0] is not SlotType.COUNTER


def test_long_text_that_changes_is_a_passage() -> None:
    rows = [(f"s{n % 2}", 31.0 * n, f"{PASSAGE[n:]} {n * 37 % 11}") for n in range(8)]
    assert classify(seen(rows))[0] is SlotType.PASSAGE


def test_a_passage_that_mentions_the_time_is_a_passage() -> None:
    clock = [value for _, _, value in stamped("%H:%M", count=8)]
    rows = [(f"s{n}", 97.0 * n, f"{PASSAGE[n:]} as of {clock[n]} by {n * 37 % 11}") for n in range(8)]
    assert classify(seen(rows))[0] is SlotType.PASSAGE


@given(st.permutations(["pump", "rope", "lamp", "key", "sail"]), st.sampled_from([", ", "\n", "\n- ", " | "]))
def test_the_same_things_in_another_order_are_an_order(items: list[str], separator: str) -> None:
    first = ["pump", "rope", "lamp", "key", "sail"]
    rows = [("a", 0.0, separator.join(first)), ("b", 9.0, separator.join(items))]
    expected = SlotType.ORDER if items != first else SlotType.IDENTITY
    if items != first:
        assert classify(seen(rows))[0] is expected


@given(st.permutations(["metres", "pier", "boat", "hour"]), st.sampled_from([(", ", ": "), (",", ":")]))
def test_equal_json_is_a_key_order_and_equal_but_for_space_is_white_space(
    keys: list[str], separators: tuple[str, str]
) -> None:
    value = {"metres": 9, "pier": ["north", "quay"], "boat": {"name": "Sula", "crew": None}, "hour": 1.0}
    first = json.dumps(value)
    second = json.dumps({key: value[key] for key in keys}, separators=separators)
    rows = [("a", 0.0, first), ("b", 9.0, second)]
    if first == second:
        return
    in_order = keys == list(value)
    assert classify(seen(rows))[0] is (SlotType.WHITESPACE if in_order else SlotType.KEY_ORDER)


@pytest.mark.parametrize(
    "cut", [lambda s: s[1:-1], lambda s: s[2:-1], lambda s: s[1:], lambda s: f"{s},"], ids=str
)
def test_json_that_the_slot_cuts_open_is_json(cut: Callable[[str], str]) -> None:
    values = [cut(json.dumps(item)) for item in ({"pier": 1, "boat": "a"}, {"boat": "a", "pier": 1})]
    assert classify(seen([("a", 0.0, values[0]), ("b", 9.0, values[1])]))[0] is SlotType.KEY_ORDER


def test_json_with_another_value_is_no_key_order() -> None:
    values = ['{"pier": "north", "boat": "Sula"}', '{"boat": "Tern", "pier": "north"}']
    assert classify(seen([("a", 0.0, values[0]), ("b", 9.0, values[1])]))[0] is not SlotType.KEY_ORDER


@pytest.mark.parametrize("values", [["", "\n"], ["  a b", "a  b\n"], ["one\ntwo", "one two"]])
def test_white_space_is_white_space(values: list[str]) -> None:
    rows = [("a", 0.0, values[0]), ("b", 9.0, values[1])]
    assert classify(seen(rows))[0] is SlotType.WHITESPACE


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 1e6), st.text(max_size=30)), min_size=1, max_size=12
    ),
    st.booleans(),
)
def test_any_values_have_a_type(rows: list[Row], timed: bool) -> None:
    items = [
        Seen(v, f"x {v} y", s, START_S + at if timed else None)
        for s, at, v in sorted(rows, key=lambda r: r[1])
    ]
    kind, confidence = classify(items)
    assert isinstance(kind, SlotType)
    assert 0 < confidence <= 1
    assert classify(items) == (kind, confidence)
