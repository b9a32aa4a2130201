from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.durations.read import read_durations
from keepwarm.reuse.fit import fit
from keepwarm.workload.base import Trigger, Turn, Workload
from keepwarm.workload.commands import Attached, GapMap, Gaps, attach_commands, split_by_task
from keepwarm.workload.load import load_workload
from tests.workload.samples import agent_sessions, duration, of_gaps, tool_durations

TASKS = "abcdef"

seconds = st.one_of(st.sampled_from([0.01, 0.02, 1.0]), st.floats(0, 30))
durations = st.lists(
    st.tuples(st.sampled_from(["ls", "make", "pip"]), seconds, st.sampled_from(TASKS), st.booleans()),
    max_size=40,
).map(
    lambda drawn: (
        [duration("ls", 0.01, task) for task in TASKS]
        + [duration(command, s, task, cut_off=cut) for command, s, task, cut in drawn]
    )
)
gap_lists = st.lists(st.tuples(st.sampled_from(Trigger), st.floats(0, 1e5)), max_size=12)
workloads = st.lists(gap_lists, max_size=4).map(lambda lists: of_gaps([(Trigger.TOOL, 9.0)], *lists))


def tool_turns(workload: Workload) -> list[Turn]:
    return [turn for s in workload.sessions for turn in s.turns[1:] if turn.trigger is Trigger.TOOL]


def tool_gaps(workload: Workload) -> list[float]:
    return [turn.gap_s for turn in tool_turns(workload)]


def without_calls(workload: Workload) -> list[list[Turn]]:
    """All that no rule may touch."""
    return [
        [
            turn._replace(call=None, gap_s=0.0 if turn.trigger is Trigger.TOOL else turn.gap_s)
            for turn in s.turns
        ]
        for s in workload.sessions
    ]


@given(workloads, durations, st.integers(0, 5), st.sampled_from([Gaps.DRAWN, Gaps.MATCHED]))
def test_the_tool_gaps_stay_as_a_set_and_all_else_as_it_is(
    workload: Workload, calls: list[ToolDuration], seed: int, gaps: Gaps
) -> None:
    attached = attach_commands(workload, calls, seed=seed, gaps=gaps)
    assert sorted(tool_gaps(attached.workload)) == sorted(tool_gaps(workload))
    assert without_calls(attached.workload) == without_calls(workload)
    held_out = {d.call for d in split_by_task(calls).held_out}
    for s in attached.workload.sessions:
        assert s.turns[0].call is None
    for turn in tool_turns(attached.workload):
        assert turn.call in held_out
    assert attached == attach_commands(workload, calls, seed=seed, gaps=gaps)


@given(workloads, durations, st.integers(0, 5))
def test_a_longer_call_never_has_the_shorter_gap(
    workload: Workload, calls: list[ToolDuration], seed: int
) -> None:
    """Each duration has a command of its own here, so that the command tells which one was drawn."""
    named = [d._replace(call=d.call._replace(arguments=str(number))) for number, d in enumerate(calls)]
    attached = attach_commands(workload, named, seed=seed)
    length_s = {d.call: float("inf") if d.cut_off else d.duration_s for d in named}
    ascending = sorted(
        (length_s[turn.call], turn.gap_s) for turn in tool_turns(attached.workload) if turn.call
    )
    lengths = sorted(Counter(length for length, _ in ascending))
    for shorter, longer in pairwise(lengths):
        most = max(gap for length, gap in ascending if length == shorter)
        assert most <= min(gap for length, gap in ascending if length == longer)


@given(workloads, durations, st.integers(0, 5), st.randoms(use_true_random=False))
def test_the_command_knows_nothing_of_the_gap_that_was_recorded(
    workload: Workload, calls: list[ToolDuration], seed: int, chances: random.Random
) -> None:
    """Wherever the recorded tool gaps stand, the outcome is the same: their places do not go into it."""
    gaps = tool_gaps(workload)
    chances.shuffle(gaps)
    moved = iter(gaps)
    shuffled = workload._replace(
        sessions=[
            s._replace(
                turns=[
                    turn._replace(gap_s=next(moved)) if place and turn.trigger is Trigger.TOOL else turn
                    for place, turn in enumerate(s.turns)
                ]
            )
            for s in workload.sessions
        ]
    )
    ours, theirs = (attach_commands(w, calls, seed=seed) for w in (workload, shuffled))
    assert tool_turns(ours.workload) == tool_turns(theirs.workload)
    assert ours.training == theirs.training


@given(workloads, durations, st.integers(0, 5), st.randoms(use_true_random=False))
def test_durations_change_hands_among_equal_commands_and_no_prediction_changes(
    workload: Workload, calls: list[ToolDuration], seed: int, chances: random.Random
) -> None:
    """A predictor sees the calls and was fitted on ``training``: both stay, only gaps move."""
    swapped = list(calls)
    tasks = {d.task for d in split_by_task(calls).held_out}
    for command in {d.call for d in calls}:
        places = [p for p, d in enumerate(calls) if d.call == command and d.task in tasks]
        moved = chances.sample(places, len(places))
        for place, other in zip(places, moved, strict=True):
            swapped[place] = calls[other]._replace(task=calls[place].task)
    ours, theirs = (attach_commands(workload, given_, seed=seed) for given_ in (calls, swapped))
    assert [t.call for t in tool_turns(ours.workload)] == [t.call for t in tool_turns(theirs.workload)]
    assert ours.training == theirs.training


@given(durations, st.lists(st.floats(0, 1e5), min_size=1), st.floats(0, 1), st.floats(0, 1))
def test_the_map_rises(calls: list[ToolDuration], gaps: list[float], one: float, other: float) -> None:
    gap_map = GapMap(calls, gaps)
    low, high = sorted((one, other))
    for shorter in calls:
        assert gap_map.gap_s(shorter, low) <= gap_map.gap_s(shorter, high)
        for longer in calls:
            ends_first = not shorter.cut_off and (longer.cut_off or shorter.duration_s < longer.duration_s)
            if ends_first:
                assert gap_map.gap_s(shorter, high) <= gap_map.gap_s(longer, low)


def test_matched_calls_leave_every_gap_where_it_was() -> None:
    """And so their rank is that of the gap: what a predictor must not be judged by."""
    workload = of_gaps([(Trigger.TOOL, float(gap)) for gap in (5, 1, 3, 2, 4)])
    calls = [duration(f"{s}", s, task) for s in (1.0, 2.0, 3.0) for task in "ab"]
    attached = attach_commands(workload, calls, gaps=Gaps.MATCHED).workload
    assert tool_gaps(attached) == [5.0, 1.0, 3.0, 2.0, 4.0]
    by_gap = sorted((turn.gap_s, turn.call.arguments) for turn in tool_turns(attached) if turn.call)
    assert [command for _, command in by_gap] == sorted(command for _, command in by_gap)


def test_recorded_gaps_come_without_commands_but_with_what_to_fit_on() -> None:
    workload = of_gaps([(Trigger.TOOL, 5.0), (Trigger.HUMAN, 7.0)])
    calls = [duration("ls", 0.1, task) for task in TASKS]
    attached = attach_commands(workload, calls, gaps=Gaps.RECORDED)
    assert attached.workload is workload
    assert {d.duration_s for d in attached.training} == {5.0}


def test_calls_that_were_cut_off_share_out_the_tail() -> None:
    """Four in ten calls were cut off: they get the longest four tenths, and none is cut off in the model."""
    workload = of_gaps([(Trigger.TOOL, float(gap)) for gap in range(1_000)])
    calls = [duration("ls", 0.1, task) for task in "abcdef" for _ in range(6)]
    calls += [duration("make", 30.0, task, cut_off=True) for task in "abcdef" for _ in range(4)]
    attached = attach_commands(workload, calls, held_out=0.5)
    made = [
        turn.gap_s for turn in tool_turns(attached.workload) if turn.call and turn.call.arguments == "make"
    ]
    assert sorted(made) == [float(gap) for gap in range(1_000 - len(made), 1_000)]
    assert made != sorted(made)
    trained = [d for d in attached.training if d.call.arguments == "make"]
    assert not any(d.cut_off for d in trained)
    assert min(d.duration_s for d in trained) >= 600
    assert len({d.duration_s for d in trained}) > 1


def test_what_a_session_gets_does_not_depend_on_the_others() -> None:
    """Its calls, not its gaps, which are ranks among all."""
    one, other = [(Trigger.TOOL, 1.0)] * 5, [(Trigger.TOOL, 2.0)] * 5
    calls = [duration(f"{number}", 1.0, task) for number in range(50) for task in TASKS]
    alone, both = (
        tool_turns(attach_commands(w, calls).workload) for w in (of_gaps(one), of_gaps(one, other))
    )
    assert [turn.call for turn in alone] == [turn.call for turn in both[:5]]


@pytest.mark.parametrize(("tasks", "held_out"), [("a", 0.5), ("ab", 1.0), ("", 0.5)])
def test_a_split_that_leaves_nothing_to_fit_on_is_refused(tasks: str, held_out: float) -> None:
    with pytest.raises(InputError, match="leave none to fit on"):
        split_by_task([duration("ls", 1.0, task) for task in tasks], held_out=held_out)


def test_a_split_is_by_task_and_by_seed() -> None:
    calls = [duration(f"{number}", 1.0, task) for number in range(3) for task in TASKS]
    split = split_by_task(calls)
    assert {d.task for d in split.training} | {d.task for d in split.held_out} == set(TASKS)
    assert not {d.task for d in split.training} & {d.task for d in split.held_out}
    assert len({d.task for d in split.held_out}) == 2
    assert {d.task for d in split_by_task(calls[::-1]).held_out} == {d.task for d in split.held_out}
    assert len({tuple(split_by_task(calls, seed=seed).held_out) for seed in range(9)}) > 1


def test_a_trace_of_no_tools_is_refused() -> None:
    calls = [duration("ls", 1.0, task) for task in TASKS]
    with pytest.raises(InputError, match="no request of the trace follows a tool call"):
        attach_commands(of_gaps([(Trigger.HUMAN, 5.0)]), calls)


@pytest.fixture(scope="module")
def real(shared: Path) -> tuple[Workload, Sequence[ToolDuration]]:
    return load_workload(agent_sessions(shared)), read_durations([tool_durations(shared)]).durations


def test_the_real_sessions_with_real_commands(real: tuple[Workload, Sequence[ToolDuration]]) -> None:
    workload, calls = real
    runs: list[Attached] = [attach_commands(workload, calls, seed=seed) for seed in (0, 1)]
    for run in runs:
        assert sorted(tool_gaps(run.workload)) == sorted(tool_gaps(workload))
        drawn = {turn.call for turn in tool_turns(run.workload)}
        assert drawn <= {d.call for d in split_by_task(calls).held_out}
        assert {d.task for d in run.training} == {d.task for d in split_by_task(calls).training}
    assert runs[0].workload != runs[1].workload
    assert runs[0].training == runs[1].training  # one model serves all seeds
    longest_first = sorted(tool_gaps(workload), reverse=True)
    assert 0.4 < sum(longest_first[:10]) / sum(longest_first) < 0.5  # why they are kept, not drawn


def test_real_commands_tell_something_of_the_gaps_to_come(
    real: tuple[Workload, Sequence[ToolDuration]],
) -> None:
    """What the simulation is to learn from: installing takes longer than listing, in training and in use."""
    workload, calls = real
    run = attach_commands(workload, calls)
    in_use = [(turn.call.arguments, turn.gap_s) for turn in tool_turns(run.workload) if turn.call]
    in_training = [(d.call.arguments, d.duration_s) for d in run.training]
    for given_ in (in_use, in_training):
        listing = sorted(gap for command, gap in given_ if command.startswith("ls"))
        installing = sorted(gap for command, gap in given_ if "pip install" in command)
        assert len(listing) > 20
        assert len(installing) > 20
        assert listing[len(listing) // 2] * 3 < installing[len(installing) // 2]


def order_accuracy(predictions: Sequence[float], gaps: Sequence[float]) -> float:
    """How many of so many random pairs of different gaps are predicted in their order; a tie is half."""
    chances = random.Random(0)
    right = pairs = 0.0
    while pairs < 20_000:
        one, other = chances.randrange(len(gaps)), chances.randrange(len(gaps))
        if gaps[one] == gaps[other]:
            continue
        pairs += 1
        ahead, longer = predictions[one] - predictions[other], gaps[one] - gaps[other]
        right += 0.5 if not ahead else (ahead > 0) == (longer > 0)
    return right / pairs


def test_a_model_of_the_training_tasks_orders_the_gaps_by_what_commands_say(
    real: tuple[Workload, Sequence[ToolDuration]],
) -> None:
    """Better than chance, far from the oracle; no better than chance once calls and gaps are torn apart."""
    workload, calls = real
    run = attach_commands(workload, calls)
    model = fit(run.training)
    turns = [turn for turn in tool_turns(run.workload) if turn.call is not None]
    predictions = [model.remaining_s(turn.call, 0.0) or 0.0 for turn in turns if turn.call]
    gaps = [turn.gap_s for turn in turns]
    assert 0.6 < order_accuracy(predictions, gaps) < 0.9
    random.Random(1).shuffle(gaps)
    assert order_accuracy(predictions, gaps) == pytest.approx(0.5, abs=0.02)
