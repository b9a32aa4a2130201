from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.gate.baseline import FindingMark, SiteMark
from keepwarm.gate.matching import match_findings, match_sites
from keepwarm.gate.sketches import Sketch, likeness, tools_agree

HASHES = st.sets(st.integers(0, 2**32 - 1).map("{:08x}".format), max_size=60)
SKETCHES = HASHES.map(lambda hashes: Sketch(" ".join(sorted(hashes)[:48])))
KEYS = st.sampled_from("abcdef")


@st.composite
def sites(draw: st.DrawFn) -> list[SiteMark]:
    keys = draw(st.lists(KEYS, unique=True))
    return [
        SiteMark(
            key=key,
            name=draw(st.none() | st.sampled_from(["triage", "letters"])),
            tools=draw(st.sampled_from([Sketch(""), Sketch("00000001"), Sketch("00000001 00000002")])),
            text=draw(SKETCHES | st.just(Sketch("00000001 00000002"))),
            requests=draw(st.integers(1, 9)),
            prompt_tokens=1,
            hit_tokens=0,
            hit_rate=0.0,
        )
        for key in keys
    ]


@given(SKETCHES, SKETCHES)
def test_likeness_is_a_share_and_the_same_both_ways(a: Sketch, b: Sketch) -> None:
    assert 0 <= likeness(a, b) == likeness(b, a) <= 1
    assert likeness(a, a) == 1
    assert tools_agree(a, b) == tools_agree(b, a)


@given(HASHES, HASHES)
def test_of_small_texts_likeness_is_exact(a: set[str], b: set[str]) -> None:
    small_a, small_b = set(sorted(a)[:24]), set(sorted(b)[:24])
    expected = len(small_a & small_b) / len(small_a | small_b) if small_a | small_b else 1.0
    found = likeness(Sketch(" ".join(sorted(small_a))), Sketch(" ".join(sorted(small_b))))
    assert (found > 0) <= (expected > 0)
    if max(len(small_a), len(small_b)) == len(small_a | small_b):
        assert found == expected


@given(sites())
def test_call_sites_match_themselves(marks: list[SiteMark]) -> None:
    names = [mark.name for mark in marks if mark.name is not None]
    matched = match_sites(marks, marks)
    assert set(matched) == {mark.key for mark in marks}
    if len(names) == len(set(names)):
        assert all(new == old for new, old in matched.items())


@given(sites(), sites())
def test_each_call_site_is_matched_once(before: list[SiteMark], now: list[SiteMark]) -> None:
    matched = match_sites(before, now)
    assert len(set(matched.values())) == len(matched)
    assert set(matched) <= {mark.key for mark in now}
    assert set(matched.values()) <= {mark.key for mark in before}


MARKS = st.builds(
    FindingMark,
    call_site=KEYS,
    cause=st.sampled_from(["clock", "random-id"]),
    path=st.none() | st.sampled_from(["messages[0].content", "messages[1].content", "tools[0]"]),
    recoverable_tokens=st.just(1),
)


@given(st.lists(MARKS, unique=True), st.lists(MARKS, unique=True))
def test_every_finding_is_accounted_for(before: list[FindingMark], now: list[FindingMark]) -> None:
    marks = {f"F{number}": mark for number, mark in enumerate(now, 1)}
    found = match_findings(before, marks)
    assert sorted([*found.known, *found.moved, *found.new]) == sorted(marks)
    used = [*found.known.values(), *found.moved.values(), *found.vanished]
    assert len(used) == len(before)
    assert set(used) == set(before)
