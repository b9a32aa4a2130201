"""Prompts laid out otherwise: what a move does to a request, and what is simulated of it."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.diagnose.engine import Examination, examine
from keepwarm.diagnose.fixes import MoveSlot, Place, Spot, apply_fixes
from keepwarm.diagnose.options import Options
from keepwarm.diagnose.reorder import ReorderCall, ReorderResult, Resimulator, relaid, resimulate
from keepwarm.diagnose.reorder_moves import Move, moving, without_moved
from keepwarm.diagnose.rules import CAUSES
from keepwarm.diagnose.rules.clock import Clock
from keepwarm.diagnose.rules.identity import Identity
from keepwarm.diagnose.slots import Range
from keepwarm.diagnose.suspects import candidates_of
from keepwarm.diagnose.template_pieces import placed_pieces, slot_ids
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import Catalog
from keepwarm.trace.records import Request
from tests.diagnose.building import LONG, chat, message, request

COUNT = 8
FIRST, SECOND, USER = "messages[0].content#1", "messages[0].content#2", "messages[1].content#1"


def bodies() -> list[list[dict[str, Any]]]:
    """A clock on top, a name in the middle, a number in the question; shared text between them."""
    return [
        [
            message("system", f"{LONG}12:0{n}:17 {LONG}{NAMES[n % 4]} {RULES}"),
            message("user", f"{LONG}9{n}41 {LONG}"),
        ]
        for n in range(COUNT)
    ]


NAMES = ("ANNA", "BEN", "CARLA", "DMITRI")
RULES = LONG * 4


def write(path: Path, conversations: Sequence[Sequence[dict[str, Any]]]) -> Path:
    records = [
        {
            "id": f"r{n}",
            "timestamp": 1_900_000_000 + 60 * n,
            "session_id": f"s{n % 4}",
            "body": {"model": "m", "messages": list(messages)},
        }
        for n, messages in enumerate(conversations)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("reorder") / "trace.jsonl", bodies())


@pytest.fixture(scope="module")
def examination(trace: Path) -> Examination:
    return examine(str(trace))


@pytest.fixture(scope="module")
def view(examination: Examination) -> SiteView:
    return candidates_of(examination.accounts, examination.accounts.sites[0], [])[0]


@pytest.fixture(scope="module")
def helpdesk(repository: Path) -> Examination:
    return examine(str(repository / "examples" / "helpdesk" / "traffic.jsonl.gz"))


def moved(view: SiteView, *moves: Move) -> list[Request]:
    fixes = [move.fix for move in moving(view, moves)]
    return [apply_fixes(fixes, row, view.catalog.request(row)) for row in view.rows]


def all_text(item: Request) -> str:
    if item.prompt_text is not None:
        return item.prompt_text
    return "".join(str(entry["content"]) for entry in item.messages)


def stable(text: str) -> str:
    """What no slot of these tests holds: letters of the shared text."""
    return "".join(char for char in text if char.islower() or char.isspace())


def test_the_site_is_what_these_tests_are_about(view: SiteView) -> None:
    assert list(slot_ids(view)) == [FIRST, SECOND, USER]
    assert [piece.slot for piece in placed_pieces(view)] == [
        None,
        FIRST,
        None,
        SECOND,
        None,
        None,
        USER,
        None,
    ]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_character_is_lost_or_invented_and_stable_text_keeps_its_order(
    view: SiteView, data: st.DataObject
) -> None:
    slots = data.draw(st.lists(st.sampled_from([FIRST, SECOND, USER]), unique=True, min_size=1))
    places = len(placed_pieces(view))
    moves = [Move(slot=slot, before_piece=data.draw(st.integers(0, places))) for slot in slots]
    for row, after in zip(view.rows, moved(view, *moves), strict=True):
        before = view.catalog.request(row)
        assert Counter(all_text(after)) == Counter(all_text(before))
        assert stable(all_text(after)) == stable(all_text(before))
        assert len(after.messages) == len(before.messages)


@given(
    texts=st.lists(st.text("ab \n", max_size=20), min_size=1, max_size=3),
    edges=st.lists(st.integers(0, 20), min_size=4, max_size=4),
    data=st.data(),
)
def test_fixes_of_any_two_slots_lose_nothing(texts: list[str], edges: list[int], data: st.DataObject) -> None:
    """Slots, texts and spots at random, the empty ones too; a spot is never inside of a slot."""
    item = request(0, [message("user", text) for text in texts])
    catalog = Catalog([item])
    (row,) = catalog
    home = data.draw(st.integers(0, len(texts) - 1))
    points = sorted(min(edge, len(texts[home])) for edge in edges)
    slots = [Range(points[0], points[1]), Range(points[2], points[3])]
    fixes = []
    for found in slots:
        to = data.draw(st.integers(0, len(texts)))
        inside = {char for slot in slots for char in range(slot.start + 1, slot.end)} if to == home else set()
        free = [char for char in range(len(texts[to]) + 1) if char not in inside] if to < len(texts) else []
        spot = Spot(Place(to), {0: data.draw(st.sampled_from(free))}) if free else None
        fixes.append(MoveSlot(Place(home), {0: found}, spot))
    after = apply_fixes(fixes, row, catalog.request(row))
    assert Counter(all_text(after)) == Counter("".join(texts))


@pytest.mark.parametrize("slot", [FIRST, SECOND, USER])
def test_a_slot_moved_to_where_it_is_changes_nothing(
    examination: Examination, view: SiteView, slot: str
) -> None:
    number = [piece.slot for piece in placed_pieces(view)].index(slot)
    for before_piece in (number, number + 1):
        again = relaid(examination, "site-1", (), [Move(slot=slot, before_piece=before_piece)])
        assert again.changed == {}
    assert moved(view, Move(slot=slot, before_piece=number)) == [
        view.catalog.request(row) for row in view.rows
    ]


def test_a_slot_goes_before_the_piece_that_is_named(view: SiteView) -> None:
    first = moved(view, Move(slot=SECOND, before_piece=1))[0].messages[0]["content"]
    assert first == f"{LONG}ANNA12:00:17 {LONG} {RULES}"
    behind = moved(view, Move(slot=FIRST, before_piece=4))[1].messages[0]["content"]
    assert behind == f"{LONG} {LONG}BEN12:01:17 {RULES}"
    other = moved(view, Move(slot=FIRST, before_piece=5))[2].messages
    assert [entry["content"][:9] for entry in other] == [LONG[:9], "12:02:17" + LONG[0]]


def test_the_end_is_behind_everything(view: SiteView) -> None:
    places = len(placed_pieces(view))
    moves = [Move(slot=SECOND, before_piece=places), Move(slot=FIRST, before_piece=places)]
    assert moved(view, *moves)[3].messages[-1]["content"].endswith(f"{LONG}DMITRI12:03:17")


def test_two_slots_at_one_spot_stand_in_the_order_of_the_call(view: SiteView) -> None:
    moves = [Move(slot=USER, before_piece=0), Move(slot=SECOND, before_piece=0)]
    assert moved(view, *moves)[0].messages[0]["content"].startswith("9041ANNA")


def test_a_prompt_text_and_a_message_of_parts() -> None:
    text = request(0, prompt_text="at 08:12 we open")
    parts = request(1, [message("system", "It is 8."), message("user", [{"type": "text", "text": "Ask"}])])
    for item, place, found, expected in (
        (text, Place(-1), Range(3, 8), "at  we open08:12"),
        (parts, Place(0), Range(6, 7), "It is .[{'type': 'text', 'text': 'Ask'}]8"),
    ):
        catalog = Catalog([item])
        fix = MoveSlot(place, {0: found}, None)
        assert all_text(apply_fixes([fix], catalog.rows[0], catalog.request(catalog.rows[0]))) == expected


def test_a_row_without_the_slot_or_the_spot_is_left_alone() -> None:
    catalog = Catalog([request(n, chat("Ask.", system="It is 8.")) for n in range(3)])
    spot = Spot(Place(1), {0: 0, 1: 0})
    fix = MoveSlot(Place(0), {0: Range(6, 7), 2: Range(6, 7)}, spot)
    after = [apply_fixes([fix], row, catalog.request(row)) for row in catalog]
    assert [entry["content"] for entry in after[0].messages] == ["It is .", "8Ask."]
    assert after[1:] == [catalog.request(row) for row in catalog.rows[1:]]


def call(examination: Examination, *findings: str, moves: Sequence[Move] = ()) -> ReorderCall:
    return ReorderCall(call_site="site-1", findings=findings, moves=tuple(moves))


def test_a_clock_moved_to_the_end_wins_what_stands_behind_it(
    examination: Examination, view: SiteView
) -> None:
    places = len(placed_pieces(view))
    moves = [Move(slot=slot, before_piece=places) for slot in (FIRST, SECOND, USER)]
    result = resimulate(examination, call(examination, moves=moves))
    assert result.changed_requests == COUNT
    assert result.call_site_before == result.trace_before
    assert result.call_site_after == result.trace_after
    assert result.call_site_after.hit_rate > 0.8 > 0.4 > result.call_site_before.hit_rate
    back = resimulate(examination, call(examination, moves=[Move(slot=USER, before_piece=0)]))
    assert back.call_site_after.hit_rate < result.call_site_before.hit_rate


def promised(examination: Examination, site: str) -> int:
    """What the diagnosis says that all repairs of a site give back."""
    return sum(
        finding.recoverable_tokens for finding in examination.diagnosis.findings if finding.call_site == site
    )


def everything(examination: Examination, site: str) -> ReorderResult:
    simulator = Resimulator(examination)
    return simulator.resimulate(ReorderCall(call_site=site, findings=simulator.removable(site)))


def layered(lines: Sequence[int]) -> list[list[dict[str, Any]]]:
    """Shared text with an id (1), a time (2), a name (3) or nothing (0) on top of each part of it."""
    ids = random.Random(9)
    values = [("", f"{ids.getrandbits(40):010x}", f"12:0{n}:17", NAMES[n % 4]) for n in range(COUNT)]
    return [
        chat(f"Ask {n}?", system="\n".join([LONG, *(f"{values[n][line]}\n{LONG}" for line in lines)]))
        for n in range(COUNT)
    ]


def test_all_findings_of_a_site_win_what_the_diagnosis_promises(tmp_path: Path) -> None:
    """Where every suspect is reported: each gain is rounded down, so up to a token a finding more is won.

    A promise that is cut to what was lost may be outdone by the block that each session shares anew.
    """
    equal = 0
    for lines in itertools.product(range(4), range(4), (0, 3)):
        found = examine(str(write(tmp_path / "t.jsonl", layered(lines))))
        site = found.accounts.sites[0]
        count, suspects = len(found.diagnosis.findings), _suspects(found)
        if count == 0 or count < suspects:
            continue  # what is left out is in the promise of the others
        result = everything(found, site.id)
        won = result.call_site_after.hit_tokens - result.call_site_before.hit_tokens
        promise = promised(found, site.id)
        cut = promise + count >= found.accounts.lost_tokens(site.rows)
        assert promise <= won <= promise + (16 * COUNT if cut else count)
        equal += not cut
    assert equal >= 4


@pytest.mark.long
def test_how_far_a_promise_may_be_off(tmp_path: Path) -> None:
    """The last row of the table in ``docs/design/resimulating.md``."""
    shares = []
    for lines in itertools.product(range(4), repeat=3):
        found = examine(str(write(tmp_path / "t.jsonl", layered(lines))))
        if found.diagnosis.findings:
            result = everything(found, "site-1")
            won = result.call_site_after.hit_tokens - result.call_site_before.hit_tokens
            off = won - promised(found, "site-1")
            is_equal = 0 <= off <= len(found.diagnosis.findings)
            shares.append(1.0 if is_equal else 1 + off / promised(found, "site-1"))
    assert len(shares) == 63
    assert (sum(s == 1 for s in shares), sum(s > 1 for s in shares), sum(s < 1 for s in shares)) == (
        26,
        14,
        23,
    )
    assert (round(max(shares), 3), round(min(shares), 2)) == (1.012, 0.77)


def _suspects(found: Examination) -> int:
    view = candidates_of(found.accounts, found.accounts.sites[0], [])[0]
    return sum(len(list(rule().candidates(view))) for rule in CAUSES.values())


def test_the_helpdesk_wins_at_least_what_is_promised(helpdesk: Examination) -> None:
    """A promise is cut to what the site lost; where repaired prompts happen to share more, more is won."""
    for site in helpdesk.diagnosis.call_sites:
        result = everything(helpdesk, site.id)
        won = result.call_site_after.hit_tokens - result.call_site_before.hit_tokens
        assert promised(helpdesk, site.id) <= won <= 1.03 * promised(helpdesk, site.id)
        others = result.trace_after.hit_tokens - result.trace_before.hit_tokens
        assert others == won  # no other call site is touched
        assert result.call_site_before.hit_rate == site.hit_rate
        assert result.trace_before.hit_rate == helpdesk.diagnosis.hit_rate


def test_fixes_and_moves_compose(examination: Examination, view: SiteView) -> None:
    """A moved slot goes where it is moved to, once, whatever the fix of its finding would do with it."""
    findings = [finding.id for finding in examination.diagnosis.findings]
    places = len(placed_pieces(view))
    moves = [Move(slot=slot, before_piece=places) for slot in (FIRST, SECOND, USER)]
    both = resimulate(examination, call(examination, *findings, moves=moves))
    assert both == resimulate(examination, call(examination, moves=moves))


@pytest.mark.parametrize("slot", [FIRST, SECOND, USER])
@pytest.mark.parametrize("place", [0, 2, 5, 8])
def test_with_all_fixes_taken_a_moved_slot_is_there_once(
    examination: Examination, view: SiteView, slot: str, place: int
) -> None:
    move = moving(view, [Move(slot=slot, before_piece=place)])
    candidates = [found for rule in (Clock, Identity) for found in rule().candidates(view)]
    fixes = [fix for candidate in candidates for fix in without_moved(candidate, move).fixes]
    assert len(fixes) >= 2 - (slot != USER)
    for row in view.rows:
        after = apply_fixes([*fixes, move[0].fix], row, view.catalog.request(row))
        before = Counter(all_text(view.catalog.request(row)))
        separators = Counter(all_text(after)) - before
        assert set(separators) <= {"\n"}
        assert not before - Counter(all_text(after))


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_result_depends_on_the_call_alone(examination: Examination, data: st.DataObject) -> None:
    ids = [finding.id for finding in examination.diagnosis.findings]
    findings = data.draw(st.permutations(ids))
    moves = [Move(slot=USER, before_piece=data.draw(st.integers(0, 8)))]
    kept = _resimulator(examination).resimulate(call(examination, *findings, *findings, moves=moves))
    fresh = resimulate(examination, call(examination, *sorted(ids), moves=moves))
    assert msgspec.json.encode(kept) == msgspec.json.encode(fresh)


def _resimulator(examination: Examination) -> Resimulator:
    """One for all examples, so that what it keeps is used."""
    return _KEPT.setdefault(id(examination), Resimulator(examination))


_KEPT: dict[int, Resimulator] = {}


def test_the_same_bytes_in_any_process(trace: Path) -> None:
    program = (
        "import sys, msgspec; from keepwarm.diagnose.engine import examine;"
        "from keepwarm.diagnose.reorder import ReorderCall, resimulate;"
        "call = msgspec.json.decode(sys.argv[2], type=ReorderCall);"
        "sys.stdout.buffer.write(msgspec.json.encode(resimulate(examine(sys.argv[1]), call)))"
    )
    wanted = msgspec.json.encode(
        ReorderCall(call_site="site-1", findings=("F1",), moves=(Move(slot=USER, before_piece=0),))
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program, str(trace), wanted.decode()],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] != b""


@pytest.mark.parametrize("capacity_blocks", [None, 200, 60])
def test_the_cache_is_that_of_the_diagnosis(trace: Path, capacity_blocks: int | None) -> None:
    found = examine(str(trace), Options(block_size=32, capacity_blocks=capacity_blocks))
    if not found.diagnosis.findings:
        pytest.fail("the trace has findings at any capacity")
    site = found.diagnosis.call_sites[0].id
    result = Resimulator(found).resimulate(
        ReorderCall(call_site=site, moves=(Move(slot=FIRST, before_piece=8),))
    )
    assert result.trace_before.hit_tokens == found.diagnosis.tokens.hit
    assert result.trace_after.hit_tokens % 32 == 0


def test_what_no_change_of_prompts_removes_is_left_out_or_refused(tmp_path: Path) -> None:
    """An eviction: laid out it changes nothing, asked for it is refused."""
    first, second = (chat("go on?", system=f"{word} {LONG * 6}") for word in ("alpha", "omega"))
    trace = write(tmp_path / "t.jsonl", [first, second] * 4)
    found = examine(str(trace), Options(capacity_blocks=30))
    finding = next(f for f in found.diagnosis.findings if f.cause == "eviction")
    assert relaid(found, finding.call_site, [finding.id]).changed == {}
    assert finding.id not in Resimulator(found).removable(finding.call_site)
    with pytest.raises(InputError, match=f"finding '{finding.id}' is not removed by a change of prompts"):
        resimulate(found, ReorderCall(call_site=finding.call_site, findings=(finding.id,)))


def test_every_finding_of_the_labelled_cases_is_simulated_or_refused(shared: Path) -> None:
    """None that is offered changes nothing, and none that is left out would change something."""
    refused = set()
    for label in sorted((shared / "cases" / "breaks").glob("*-1.label.json")):
        trace = label.with_name(label.name.replace(".label.json", ".jsonl"))
        if not trace.is_file():
            continue
        found = examine(str(trace))
        simulator = Resimulator(found)
        for finding in found.diagnosis.findings:
            laid = simulator.relaid(finding.call_site, [finding.id])
            can = finding.id in simulator.removable(finding.call_site)
            assert can == bool(laid.changed or laid.reading), (label.name, finding.cause)
            refused |= set() if can else {finding.cause}
    assert refused <= {"eviction", "expired", "routing", "below-block"}
    assert refused


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (ReorderCall(call_site="site-9", findings=("F1",)), "no call site 'site-9'; known are site-1"),
        (ReorderCall(call_site="site-1"), "names no finding and no move"),
        (ReorderCall(call_site="site-1", findings=("F99",)), "no finding 'F99' at call site 'site-1'"),
        (
            ReorderCall(call_site="site-1", moves=(Move(slot="tools#order", before_piece=0),)),
            "no slot 'tools#order' that can be moved",
        ),
        (
            ReorderCall(call_site="site-1", moves=(Move(slot=FIRST, before_piece=9),)),
            "no piece 9 in the template of 'site-1'; it has 0 to 8",
        ),
        (ReorderCall(call_site="site-1", moves=(Move(slot=FIRST, before_piece=-1),)), "no piece -1"),
        (
            ReorderCall(
                call_site="site-1",
                moves=(Move(slot=FIRST, before_piece=0), Move(slot=FIRST, before_piece=8)),
            ),
            "is moved twice",
        ),
    ],
)
def test_a_wrong_call_is_one_line(examination: Examination, wrong: ReorderCall, says: str) -> None:
    with pytest.raises(InputError, match=says.replace("[", r"\[")) as caught:
        resimulate(examination, wrong)
    assert "\n" not in str(caught.value)


def test_a_finding_of_another_site_is_refused(helpdesk: Examination) -> None:
    with pytest.raises(InputError, match="no finding 'F1' at call site 'site-2'; known are F3"):
        resimulate(helpdesk, ReorderCall(call_site="site-2", findings=("F1",)))


def test_nothing_can_stand_in_front_of_tools(helpdesk: Examination) -> None:
    site = next(site for site in helpdesk.accounts.sites if site.id == "site-4")
    view = candidates_of(helpdesk.accounts, site, [])[0]
    pieces = placed_pieces(view)
    number = next(n for n, piece in enumerate(pieces) if piece.place is None)
    movable = next(iter(slot_ids(view)), None)
    if movable is None:
        assert moving(view, ()) == []
        pytest.fail("site-4 has a slot in its texts")
    with pytest.raises(InputError, match="is no text of a message, so nothing can stand in front of it"):
        moving(view, [Move(slot=movable, before_piece=number)])


def test_a_trace_of_hashes_has_nothing_to_move(tmp_path: Path) -> None:
    rows = [
        {"timestamp": 1000 * n, "input_length": 2048, "output_length": 8, "hash_ids": [1, 2, 3, 10 + n]}
        for n in range(4)
    ]
    path = tmp_path / "m.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = examine(str(path))
    site = found.accounts.sites[0].id
    with pytest.raises(InputError, match="no slot"):
        resimulate(found, ReorderCall(call_site=site, moves=(Move(slot=FIRST, before_piece=0),)))


def test_progress_is_told(examination: Examination) -> None:
    stages: list[str] = []

    class Heard:
        def stage(self, name: str, total: int | None) -> None:
            stages.append(name)

        def advance(self, n: int = 1) -> None: ...

    resimulate(examination, call(examination, "F1"), Heard())
    assert stages == ["laying out", "simulating"]


def test_nothing_recorded_is_changed(examination: Examination, view: SiteView) -> None:
    before = [view.catalog.request(row) for row in view.rows]
    hashes = [encoded.blocks.copy() for encoded in examination.accounts.traffic.encoded]
    for slot, place in itertools.product((FIRST, USER), (0, 8)):
        resimulate(examination, call(examination, "F1", moves=[Move(slot=slot, before_piece=place)]))
    assert [view.catalog.request(row) for row in view.rows] == before
    kept = [encoded.blocks for encoded in examination.accounts.traffic.encoded]
    assert all((one == other).all() for one, other in zip(hashes, kept, strict=True))
