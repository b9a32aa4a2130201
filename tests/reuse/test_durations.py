from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from keepwarm._errors import TraceError
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.durations import READERS
from keepwarm.reuse.durations.base import ToolDuration
from keepwarm.reuse.durations.read import Durations, read_durations

CSV_ROWS = """\
task,tool_s,command
a,0.5,ls
a,,make
b,-0.1,cat x
b,nan,cat y
b,29.5,"cat <<'EOF'
two lines"
"""


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def seconds_by_command(read: Durations) -> dict[str, float]:
    return {d.call.arguments: round(d.duration_s, 3) for d in read.durations}


def claude(uuid: str, second: float, content: list[Any], **more: Any) -> dict[str, Any]:
    role = "assistant" if "requestId" in more else "user"
    stamp = f"2026-05-20T10:00:{second:06.3f}Z"
    return {
        "uuid": uuid,
        "sessionId": "s-1",
        "type": role,
        "timestamp": stamp,
        "message": {"role": role, "content": content},
        **more,
    }


def use(call_id: str, command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": {"command": command}}


def result(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


REFUSAL = "The user doesn't want to proceed with this tool use."


def test_claude_code(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        claude("1", 0, [{"type": "text", "text": "Go"}]),
        claude("2", 1, [use("a", "ls")], requestId="r1"),
        claude("3", 1.25, [result("a")]),
        claude("4", 2, [use("b", "make")], requestId="r2"),
        claude("5", 3, [use("c", "pytest")], requestId="r2"),
        claude("6", 4, [result("b")]),
        claude("7", 33, [result("c")]),
        claude("8", 40, [use("d", "rm -r x")], requestId="r3"),
        claude("9", 59, [result("d", REFUSAL, is_error=True)]),
        claude("10", 59.5, [use("e", "sleep 99")], requestId="r4"),
    )
    read = read_durations([path])
    assert seconds_by_command(read) == {
        '{"command": "ls"}': 0.25,
        # Side by side: the session waits for the last, from when all were asked for.
        '{"command": "make"}\n{"command": "pytest"}': 30.0,
    }
    assert {(d.call.tool, d.task) for d in read.durations} == {("Bash", "s-1")}
    assert read.notes == (f"{str(path)!r}: left out 1 × no time of the call or of its result",)


def codex(second: float, **payload: Any) -> dict[str, Any]:
    stamp = f"2026-05-20T10:00:{second:06.3f}Z"
    return {"timestamp": stamp, "type": "response_item", "payload": payload}


def test_codex(tmp_path: Path) -> None:
    def call(second: float, call_id: str, command: str) -> dict[str, Any]:
        return codex(second, type="function_call", name="shell", arguments=command, call_id=call_id)

    def output(second: float, call_id: str) -> dict[str, Any]:
        return codex(second, type="function_call_output", call_id=call_id, output="")

    meta = {"timestamp": "2026-05-20T10:00:00Z", "type": "session_meta", "payload": {"id": "s-9"}}
    local = codex(40, type="local_shell_call", call_id="d", action={"command": ["ls"]})
    path = lines(
        tmp_path / "rollout.jsonl",
        meta,
        call(1, "a", "one"),
        output(3, "a"),
        call(4, "b", "two"),
        call(4.5, "c", "three"),
        output(5, "c"),
        output(10, "b"),
        local,
        codex(41, type="local_shell_call_output", call_id="d"),
    )
    read = read_durations([path])
    assert seconds_by_command(read) == {"one": 2.0, "two\nthree": 5.5, '["ls"]': 1.0}
    assert {d.task for d in read.durations} == {"s-9"}


def test_swe_agent(tmp_path: Path) -> None:
    steps = [{"action": "ls", "execution_time": 0.5}, {"action": "make"}, {"action": "", "execution_time": 1}]
    path = tmp_path / "run.traj"
    path.write_text(json.dumps({"trajectory": steps, "info": {"instance_id": "i-1"}}, indent=2))
    read = read_durations([path])
    assert read.durations == (ToolDuration(ToolCall("bash", "ls"), 0.5, "i-1"),)
    assert read.notes == (f"{str(path)!r}: left out 1 × no time of the call or of its result",)


def test_mini_swe_agent(tmp_path: Path) -> None:
    def answer(at_s: float, *commands: str) -> dict[str, Any]:
        actions = [{"command": command} for command in commands]
        return {"role": "assistant", "content": "", "extra": {"timestamp": at_s, "actions": actions}}

    messages = [
        {"role": "system", "content": "You are an agent."},
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "First\n```bash\nls\n```", "timestamp": 100.0},
        {"role": "user", "content": "a b", "timestamp": 100.5},
        answer(110, "make", "pytest"),
        {"role": "tool", "content": "", "extra": {"timestamp": 140.0}},
        {"role": "tool", "content": "", "extra": {"timestamp": 141.0}},
        {"role": "assistant", "content": "I have nothing to run.", "timestamp": 150.0},
        {"role": "user", "content": "Then say so.", "timestamp": 151.0},
        {"role": "assistant", "content": "```mswea_bash\necho done\n```"},
        {"role": "user", "content": "done"},
    ]
    path = tmp_path / "run.traj.json"
    path.write_text(json.dumps({"trajectory_format": "mini-swe-agent-1.1", "messages": messages}, indent=2))
    read = read_durations([path])
    assert seconds_by_command(read) == {"ls": 0.5, "make\npytest": 31.0}
    assert read.notes == (f"{str(path)!r}: left out 1 × no time of the call or of its result",)


def event(number: int, second: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2026-05-20T10:00:{second:02d}", "source": "agent", **fields}


EVENTS = [
    event(0, 0, action="system", args={}),
    event(1, 1, action="run", args={"command": "ls", "thought": "Look first."}),
    event(2, 4, observation="run", cause=1),
    event(3, 5, action="think", args={}),
    event(4, 5, observation="think", cause=3),
    event(5, 6, action="run", args={"command": "sleep 99"}),
]


def test_openhands(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(EVENTS))
    assert seconds_by_command(read_durations([path])) == {'{"command": "ls"}': 3.0}


def test_openhands_evaluations_number_events_anew_in_each_history(tmp_path: Path) -> None:
    other = [event(1, 1, action="run", args={"command": "make"}), event(2, 9, observation="run", cause=1)]
    path = lines(
        tmp_path / "output.jsonl",
        {"instance_id": "i-1", "history": EVENTS},
        {"instance_id": "i-2", "history": other},
    )
    read = read_durations([path])
    assert [(d.task, d.duration_s) for d in read.durations] == [("i-1", 3.0), ("i-2", 8.0)]


def test_openhands_sdk(tmp_path: Path) -> None:
    def action(name: str, second: int, command: str) -> dict[str, Any]:
        asked = {"name": "terminal", "arguments": command}
        fields = {"kind": "ActionEvent", "tool_name": "terminal", "tool_call": asked, "llm_response_id": "r"}
        return {**event(0, second, **fields), "id": name}

    path = lines(
        tmp_path / "events.jsonl",
        action("a", 1, "one"),
        action("b", 2, "two"),
        event(7, 5, kind="ObservationEvent", action_id="a"),
        event(8, 9, kind="ObservationEvent", action_id="b"),
    )
    assert seconds_by_command(read_durations([path])) == {"one\ntwo": 7.0}


def test_csv_leaves_out_rows_without_a_duration(tmp_path: Path) -> None:
    path = tmp_path / "steps.csv.gz"
    path.write_bytes(gzip.compress(CSV_ROWS.encode()))
    read = read_durations([path])
    assert [(d.call.tool, d.duration_s, d.task, d.cut_off) for d in read.durations] == [
        ("bash", 0.5, "a", False),
        ("bash", 29.5, "b", False),
    ]
    assert read.notes == (f"{str(path)!r}: left out 3 × a row with no duration",)
    assert [d.cut_off for d in read_durations([path], censored_at_s=30.0).durations] == [False, True]


def test_csv_may_name_the_tool_and_what_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    path.write_text("tool,duration_s,arguments,cut_off\nRead,0.1,a.py,0\nBash,9,make,1\n")
    assert read_durations([path]).durations == (
        ToolDuration(ToolCall("Read", "a.py"), 0.1, ""),
        ToolDuration(ToolCall("Bash", "make"), 9.0, "", cut_off=True),
    )


def test_terminal_bench_is_cut_off_at_its_limit(shared: Path) -> None:
    read = read_durations([shared / "data" / "tool_durations" / "terminal_bench_steps.csv"])
    assert len(read.durations) == 2_066
    assert sum(d.cut_off for d in read.durations) == 194
    assert min(d.duration_s for d in read.durations if d.cut_off) >= 29.0
    assert len({d.task for d in read.durations}) == 27
    assert len(read.notes) == 1


@pytest.mark.parametrize("name", ["claude-code.jsonl", "codex-rollout.jsonl", "swe-agent-traj.traj"])
def test_labelled_cases(shared: Path, name: str) -> None:
    read = read_durations([shared / "cases" / "formats" / name])
    assert read.durations
    assert all(0.0 < d.duration_s < 10.0 for d in read.durations)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("one,two\n1,2\n", "neither a transcript of an agent nor CSV with a column 'tool_s'"),
        ("tool_s,other\n1,2\n", "'command' or 'arguments'"),
        ('{"model": "x", "messages": []}\n', "no transcript of an agent recognised"),
        ("{broken\n", "no transcript of an agent recognised"),
        ('{"trajectory": [], "info": {}}\n', "no tool call with a result"),
        ('{"trajectory": [{"action": "ls"}], "info": {}}\n', "no time of the call"),
        ("tool_s,command\n,ls\n", "a row with no duration"),
    ],
)
def test_a_file_that_says_nothing_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(TraceError, match=said) as caught:
        read_durations([path])
    assert "\n" not in str(caught.value)


def test_a_broken_line_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    good = {"trajectory": [{"action": "ls", "execution_time": 1}], "info": {}}
    deep = '{"trajectory": ' + "[" * 100_000 + "]" * 100_000 + ', "info": {}}'
    path.write_text(json.dumps(good) + "\n{oops\n" + deep + "\n")
    read = read_durations([path])
    assert len(read.durations) == 1
    assert read.notes == (f"{str(path)!r}: left out 2 × a line that cannot be read as JSON",)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
@pytest.mark.parametrize("odd", [None, 5, "x", [], [[]], {}, [{"type": "tool_use"}], True, {"a": None}])
def test_odd_records_raise_nothing(reader: Any, odd: Any) -> None:
    keys = ("message", "payload", "trajectory", "messages", "history", "timestamp", "info", "action", "kind")
    for key in (*keys, "cause", "args", "id", "type", "source", "trajectory_format", "sessionId", "uuid"):
        record = {"type": "response_item", "kind": "ActionEvent", "source": "agent", key: odd}
        reader.owns(record)
        one = reader("file")
        assert list(one.read(record)) + list(one.finish()) == []
