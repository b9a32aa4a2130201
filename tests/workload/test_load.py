from __future__ import annotations

import random
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.reuse.calls import ToolCall
from keepwarm.workload.base import Trigger, Workload
from keepwarm.workload.load import LoadOptions, load_recording, load_workload
from tests.cache.traces import write_lines
from tests.workload.samples import Json, agent_sessions, entry, mooncake, raw_loops, session


def loaded(tmp_path: Path, *records: Json, share_system: bool = False) -> Workload:
    path = write_lines(tmp_path / "trace.jsonl", records)
    return load_workload(path, LoadOptions(share_system=share_system))


def gaps(workload: Workload) -> list[float]:
    return [turn.gap_s for loop in workload.sessions for turn in loop.turns]


def test_a_loop_has_lengths_gaps_and_triggers(tmp_path: Path) -> None:
    workload = loaded(
        tmp_path,
        session(
            "a",
            entry(0.0, [1, 2], api_time=1.5, think_time=0.0, input_types=["text"]),
            entry(5.0, [1, 2, 3], tokens=15, api_time=5, think_time=3.0, input_types=["text", "tool_result"]),
            entry(60.0, [1, 2, 3, 4], out=9, think_time=50.0, input_types=["text"]),
        ),
    )
    (loop,) = workload.sessions
    assert (workload.block_size, workload.skipped, loop.id, loop.start_s) == (4, (), "a", 0.0)
    assert [(t.prompt_tokens, t.output_tokens, len(t.blocks)) for t in loop.turns] == [
        (8, 2, 2), (15, 2, 3), (16, 9, 4),
    ]  # fmt: skip
    assert [(t.gap_s, t.trigger) for t in loop.turns] == [
        (0.0, Trigger.HUMAN), (3.0, Trigger.TOOL), (50.0, Trigger.HUMAN),
    ]  # fmt: skip


def test_gaps_where_the_recording_does_not_state_them(tmp_path: Path) -> None:
    """From the end of the answer before; from its request where no end is known; never below 0."""
    first, overlapping = entry(0.0, [1], api_time=2.0), entry(1.0, [1])
    assert gaps(loaded(tmp_path, session("a", first, overlapping, entry(9.0, [1])))) == [0.0, 0.0, 8.0]
    counts_from_the_first = entry(9.0, [1], think_time=7.0)
    assert gaps(loaded(tmp_path, session("a", first, entry(4.0, [1]), counts_from_the_first))) == [0, 2, 5]
    without_times = {key: value for key, value in first.items() if key != "t"}
    assert gaps(loaded(tmp_path, session("a", without_times, entry(9.0, [1])))) == [0.0, 0.0]


def test_after_an_answer_that_was_not_recorded_nobody_says_who_came_next(tmp_path: Path) -> None:
    """Its call would have been in it. Nor does a trace of block ids alone say so."""
    (loop,) = loaded(
        tmp_path,
        session(
            "a",
            entry(0.0, [1], input_types=["text"], output_types=["text"]),
            entry(5.0, [1], input_types=["text"], output_types=[]),
            entry(6.0, [1], input_types=["text"], output_types=[]),
            entry(7.0, [1], input_types=["tool_result"], output_types=["text"]),
            entry(8.0, [1]),
        ),
    ).sessions
    human, tool, unknown = Trigger.HUMAN, Trigger.TOOL, Trigger.UNKNOWN
    assert [turn.trigger for turn in loop.turns] == [human, human, unknown, tool, unknown]


def test_local_ids_are_kept_apart_and_numbered_by_first_appearance(tmp_path: Path) -> None:
    a, b = session("a", entry(0, [7, 8]), entry(9, [7, 8, 9])), session("b", entry(0, [7, 8]))
    blocks = [list(turn.blocks) for loop in loaded(tmp_path, a, b).sessions for turn in loop.turns]
    assert blocks == [[0, 1], [0, 1, 2], [3, 4]]
    a["hash_id_scope"] = b["hash_id_scope"] = "global"
    blocks = [list(turn.blocks) for loop in loaded(tmp_path, a, b).sessions for turn in loop.turns]
    assert blocks == [[0, 1], [0, 1, 2], [0, 1]]


def test_part_blocks_have_no_hash(tmp_path: Path) -> None:
    (loop,) = loaded(tmp_path, session("a", entry(0, [1, 2], tokens=7))).sessions
    assert list(loop.turns[0].blocks) == [0]


def test_a_subagent_is_a_session_that_starts_in_the_midst_and_shares_blocks(tmp_path: Path) -> None:
    nested = {"t": 30.0, "type": "subagent", "agent_id": "x", "requests": [entry(2.0, [1, 5])]}
    main, agent = loaded(tmp_path, session("a", entry(0, [1, 2]), nested, entry(90, [1, 2]))).sessions
    assert (main.id, agent.id, agent.start_s) == ("a", "a/x", 32.0)
    assert [len(main.turns), len(agent.turns)] == [2, 1]
    assert main.turns[0].blocks[0] == agent.turns[0].blocks[0]
    assert main.turns[1].gap_s == 90.0  # as recorded: the subagent ran meanwhile


def test_shared_heads_are_an_assumption_that_is_off_until_asked_for(tmp_path: Path) -> None:
    """Eight tokens of tools and system text, in three sessions; the third has other tools."""
    heads = {"tool_tokens": 5, "system_tokens": 3}
    records = [
        session("a", entry(0, [1, 2, 3]), entry(9, [1, 2, 3, 4]), entry(20, [1, 6]), **heads),
        session("b", entry(0, [1, 2, 3]), **heads),
        session("c", entry(0, [1, 2, 3]), tool_tokens=6, system_tokens=3),
    ]
    alone = loaded(tmp_path, *records)
    a, b, c = loaded(tmp_path, *records, share_system=True).sessions
    assert not set(alone.sessions[0].turns[0].blocks) & set(alone.sessions[1].turns[0].blocks)
    assert a.turns[0].blocks[:2] == b.turns[0].blocks[:2]
    assert a.turns[0].blocks[2] != b.turns[0].blocks[2]
    assert a.turns[1].blocks[:3] == a.turns[0].blocks
    assert a.turns[2].blocks[0] == a.turns[0].blocks[0]
    assert a.turns[2].blocks[1] not in (*a.turns[0].blocks, *b.turns[0].blocks)  # another system text
    assert not set(c.turns[0].blocks) & set(a.turns[0].blocks)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"t": 1, "in": 8, "hash_ids": [1, 2]}, "the length of its answer is not recorded"),
        ({"t": 1, "in": 8, "out": 1, "hash_ids": []}, "its block ids are not recorded"),
        ({"t": 1, "in": 0, "out": 1, "hash_ids": []}, "its prompt is empty"),
        ({"t": 1, "in": 2**29, "out": 1, "hash_ids": [1]}, "more tokens than any model takes"),
        (
            {"t": 1, "in": 8, "out": 1, "hash_ids": [1], "block_size": 8},
            "blocks of 8 tokens, but of 4 before",
        ),
    ],
)
def test_a_request_of_no_use_is_left_out_with_a_line(tmp_path: Path, bad: Json, reason: str) -> None:
    workload = loaded(tmp_path, session("a", entry(0, [1, 2]), bad))
    assert list(workload.skipped) == [f"line 1, request 'a/1': {reason}"]
    assert [len(loop.turns) for loop in workload.sessions] == [1]


def test_lines_the_reader_skips_are_told_too(tmp_path: Path) -> None:
    workload = loaded(tmp_path, session("a", entry(0, [1]), entry(0, ["no id"])))  # type: ignore[list-item]
    assert list(workload.skipped) == ["line 1: requests[1]: hash_ids holds something else than whole numbers"]


def test_an_empty_answer_has_one_token(tmp_path: Path) -> None:
    (loop,) = loaded(tmp_path, session("a", entry(0, [1], out=0))).sessions
    assert loop.turns[0].output_tokens == 1


def test_nothing_of_use_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no request of .* can be served \(.*its prompt is empty"):
        loaded(tmp_path, session("a", entry(0, [])))
    with pytest.raises(InputError, match="is empty"):
        loaded(tmp_path)


def test_a_block_size_other_than_the_traces_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "trace.jsonl", [session("a", entry(0, [1]))])
    with pytest.raises(InputError, match="holds hashes of blocks of 4 tokens, not of 16"):
        load_workload(path, LoadOptions(block_size=16))


def test_requests_of_no_session_are_one_each_by_their_arrival(shared: Path) -> None:
    recording = load_recording(mooncake(shared))
    sessions = recording.workload.sessions
    assert recording.workload.block_size == 512
    assert {len(loop.turns) for loop in sessions} == {1}
    assert len({loop.id for loop in sessions}) == len(sessions)
    assert sessions[0].start_s == 0.0
    assert [loop.start_s for loop in sessions] == sorted(loop.start_s for loop in sessions)
    shared_blocks = sum(len(loop.turns[0].blocks) for loop in sessions)
    assert len({block for loop in sessions for block in loop.turns[0].blocks}) < shared_blocks


def test_recorded_messages_name_the_calls(tmp_path: Path) -> None:
    """Out of order in the file; the session's second request answers two calls made side by side."""

    def record(time_s: float, *messages: Json) -> Json:
        usage = {"prompt_tokens": 9, "completion_tokens": 3}
        body = {"model": "m", "messages": list(messages)}
        return {"timestamp": time_s, "session_id": "s", "body": body, "response": {"usage": usage}}

    def call(name: str) -> Json:
        return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}

    user = {"role": "user", "content": "hello"}
    asks = {"role": "assistant", "content": None, "tool_calls": [call("ls"), call("cat")]}
    results = [{"role": "tool", "tool_call_id": name, "content": "done"} for name in ("ls", "cat")]
    (loop,) = loaded(tmp_path, record(107.0, user, asks, *results), record(100.0, user)).sessions
    assert [(turn.gap_s, turn.trigger) for turn in loop.turns] == [
        (0.0, Trigger.HUMAN), (7.0, Trigger.TOOL),
    ]  # fmt: skip
    assert [turn.call for turn in loop.turns] == [None, ToolCall("cat+ls", "{}\n{}")]
    assert loop.turns[1].prompt_tokens > loop.turns[0].prompt_tokens


def test_the_real_sessions_as_they_are_in_the_file(shared: Path) -> None:
    """Every length, trigger and stated gap; of the blocks, which are equal to which."""
    loops = raw_loops(shared)
    workload = load_workload(agent_sessions(shared))
    assert [loop.id for loop in workload.sessions] == list(loops)
    assert sum(len(loop.turns) for loop in workload.sessions) == 8_930
    chances = random.Random(0)
    for loop in workload.sessions:
        items = loops[loop.id]
        assert [t.prompt_tokens for t in loop.turns] == [item["in"] for item in items]
        assert [t.output_tokens for t in loop.turns] == [max(1, item["out"]) for item in items]
        assert [len(t.blocks) for t in loop.turns] == [item["in"] // 64 for item in items]
        for turn, item, answer in zip(loop.turns, items, [None, *items], strict=False):
            if "tool_result" in item["input_types"]:
                assert turn.trigger is Trigger.TOOL
            else:
                told = answer is None or bool(answer["output_types"])
                assert turn.trigger is (Trigger.HUMAN if told else Trigger.UNKNOWN)
        for turn, item, before in zip(loop.turns[1:], items[1:], items, strict=False):
            if "api_time" not in before:
                assert turn.gap_s == pytest.approx(item["t"] - before["t"])
            elif "think_time" in item:
                assert turn.gap_s == item["think_time"]
        one, other = chances.choices(range(len(items)), k=2)
        alike = [a == b for a, b in zip(loop.turns[one].blocks, loop.turns[other].blocks, strict=False)]
        raw = [a == b for a, b in zip(items[one]["hash_ids"], items[other]["hash_ids"], strict=False)]
        assert alike == raw[: len(alike)]
