from __future__ import annotations

from typing import Any

import msgspec
import pytest

from keepwarm.guard.base import Answer
from keepwarm.guard.checks.content_preserved import ContentPreserved
from tests.guard.building import (
    PASSAGES,
    RULES,
    Loop,
    Record,
    a_task,
    declared,
    edited,
    replaced,
    system_after,
    system_before,
    traffic,
    write_trace,
)

AFTER = traffic(system_after)
COMMITMENT = "The customer's written consent counts as authorization for 30 days."


def answer(loop: Loop, records: list[Record], **task: Any) -> Answer:
    return ContentPreserved().answer(loop.with_after(records, **task))


def said(answered: Answer) -> str:
    return "\n".join(f"{problem.where}: {problem.what}" for problem in answered.problems)


def test_the_good_repair_passes(loop: Loop) -> None:
    answered = ContentPreserved().answer(loop.evidence())
    assert (answered.outcome, answered.problems) == ("pass", ())
    assert answered.looked_at == "12 pairs of requests of 1 call site, paired by id"


def test_nothing_changed_passes(loop: Loop) -> None:
    assert answer(loop, traffic(system_before)).outcome == "pass"


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (
            f"{COMMITMENT}\n",
            "",
            "“The customer's written consent counts as authorization for 30 days.” is lost",
        ),
        ("Never refund", "Refund", "“Never refund an invoice twice.” is lost"),
        ("above 500", "above 5000", "“Refunds above 5000 need the approval of finance.” is new"),
        ("Do not promise dates.", "Do not promise dates. Do not promise dates.", "is new"),
        (RULES, f"{RULES}\n\n{RULES}", "is new"),
        ("three sentences", "three  sentences", "differs in white space"),
        ("Answer in three sentences.", "  Answer in three sentences.", "differs in white space"),
        ("finance.", "finance\u200b.", "finance"),
        ("approval of finance", "finance of approval", "is lost"),
        (
            "Answer in three sentences. Do not promise dates.",
            "Do not promise dates. Answer in three sentences.",
            "is not in the order it had",
        ),
        ("## Refunds", "## Style", "“## Refunds” is lost"),
        ("Current time: ", "Time: ", "is lost"),
    ],
)
def test_a_change_of_the_applications_text_fails(loop: Loop, old: str, new: str, what: str) -> None:
    answered = answer(loop, edited(AFTER, replaced(old, new)))
    assert answered.outcome == "fail"
    assert what in said(answered)


@pytest.mark.parametrize("only", [0, 7])
def test_one_request_of_many_is_enough(loop: Loop, only: int) -> None:
    answered = answer(loop, edited(AFTER, replaced(f"{COMMITMENT}\n", ""), only))
    assert answered.outcome == "fail"
    assert f"r-{only:03d}" in said(answered)


def test_a_dropped_passage_fails(loop: Loop) -> None:
    answered = answer(loop, edited(AFTER, replaced(PASSAGES[1], ""), 1))
    assert answered.outcome == "fail"
    assert said(answered).count("is lost from the system text") == 2


def test_a_value_of_another_request_fails(loop: Loop) -> None:
    assert answer(loop, edited(AFTER, replaced("07:03:30", "07:04:30"), 3)).outcome == "fail"


def test_a_users_words_in_the_system_role_fail(loop: Loop) -> None:
    def move(body: Record) -> None:
        system, user = body["messages"]
        instruction = user["content"].split(". ")[-1].split("? ")[-1]
        user["content"] = user["content"].replace(f" {instruction}", "")
        system["content"] += f"\n\n{instruction}"

    answered = answer(loop, edited(AFTER, move))
    assert answered.outcome == "fail"
    assert "moved from the user role into the system role" in said(answered)


def test_the_time_in_the_users_message_fails(loop: Loop) -> None:
    def move(body: Record) -> None:
        system, user = body["messages"]
        kept, time = system["content"].rsplit("\n\n", 1)
        system["content"], user["content"] = kept, f"{time}\n\n{user['content']}"

    answered = answer(loop, edited(AFTER, move))
    assert answered.outcome == "fail"
    assert "from the system role into the user role" in said(answered)


def test_a_message_of_the_same_role_may_take_the_value(loop: Loop) -> None:
    def move(body: Record) -> None:
        kept, time = body["messages"][0]["content"].rsplit("\n\n", 1)
        body["messages"][0]["content"] = kept
        body["messages"].append({"role": "system", "content": time})

    assert answer(loop, edited(AFTER, move)).outcome == "pass"


def test_without_leave_nothing_moves(loop: Loop) -> None:
    answered = answer(loop, AFTER, moves_allowed=False)
    assert answered.outcome == "fail"
    assert "not in the order" in said(answered)


def test_another_message_than_the_findings_does_not_move(loop: Loop) -> None:
    answered = answer(loop, AFTER, path="messages[1].content")
    assert answered.outcome == "fail"


def test_another_call_site_does_not_move(loop: Loop) -> None:
    answered = answer(loop, AFTER, call_site="site-9")
    assert answered.outcome == "fail"
    assert "has no call site 'site-9'" in said(answered)


def test_the_order_of_a_users_words_is_kept(loop: Loop) -> None:
    def turn(body: Record) -> None:
        first, second = body["messages"][1]["content"].split("? ")
        body["messages"][1]["content"] = f"{second}\n{first}?"

    answered = answer(loop, edited(AFTER, turn))
    assert answered.outcome == "fail"
    assert "not in the order it had in the user text" in said(answered)


def test_turns_of_a_conversation_do_not_change_places(loop: Loop) -> None:
    def more(first: str, second: str) -> Any:
        def add(body: Record) -> None:
            number = body["messages"][1]["content"]
            body["messages"] += [
                {"role": "assistant", "content": f"Which one? {number}"},
                {"role": "user", "content": f"{first} {number}"},
                {"role": "assistant", "content": "And?"},
                {"role": "user", "content": f"{second} {number}"},
            ]

        return add

    before = write_trace(edited(traffic(system_before), more("yes", "no")), loop.before)
    task = a_task(before)
    good = loop.with_after(edited(AFTER, more("yes", "no")))
    bad = loop.with_after(edited(AFTER, more("no", "yes")))
    assert ContentPreserved().answer(msgspec.structs.replace(bad, task=task)).outcome == "fail"
    write_trace(edited(AFTER, more("yes", "no")), loop.folder / "spoilt.jsonl")
    assert ContentPreserved().answer(msgspec.structs.replace(good, task=task)).outcome == "pass"


def test_declared_text_may_be_new_once(loop: Loop) -> None:
    added = edited(AFTER, replaced("Current time:", "The time follows. Current time:"))
    assert answer(loop, added).outcome == "fail"
    once = declared(("added", "The time follows."))
    assert answer(loop, added, declared=once).outcome == "pass"
    twice = edited(added, replaced("The time follows.", "The time follows. The time follows."))
    assert answer(loop, twice, declared=once).outcome == "fail"


def test_declared_text_may_be_gone(loop: Loop) -> None:
    gone = edited(AFTER, replaced(" Do not promise dates.", ""))
    assert answer(loop, gone).outcome == "fail"
    assert answer(loop, gone, declared=declared(("removed", "Do not promise dates."))).outcome == "pass"


def test_a_value_taken_out_of_its_line(loop: Loop) -> None:
    def take(body: Record) -> None:
        content = body["messages"][0]["content"]
        kept, time = content.rsplit("\n\nCurrent time: ", 1)
        kept = kept.replace("bookkeeper.", "bookkeeper.\nCurrent time: see the end")
        body["messages"][0]["content"] = f"{kept}\n\nNow it is {time}"

    moved = edited(AFTER, take)
    repairs = declared(
        ("removed", "Current time: <time-1>"),
        ("added", "Current time: see the end"),
        ("added", "Now it is <time-1>"),
    )
    assert answer(loop, moved).outcome == "fail"
    assert answer(loop, moved, declared=repairs).outcome == "pass"
    # The placeholder stands for the value that was there, not for any.
    other = edited(moved, replaced("07:02:30", "09:09:09"), 2)
    assert answer(loop, other, declared=repairs).outcome == "fail"
    # And not for words of the application.
    theft = edited(moved, replaced("Never refund", "Refund"))
    theft = edited(theft, replaced("Now it is ", "Now it is Never "))
    assert answer(loop, theft, declared=repairs).outcome == "fail"


def test_white_space_may_differ_where_it_is_repaired(loop: Loop) -> None:
    spaced = edited(traffic(system_before), replaced("three sentences", "three  sentences"))
    assert answer(loop, spaced, cause="whitespace").outcome == "pass"
    assert answer(loop, spaced).outcome == "fail"


def test_blank_lines_and_line_ends_may_differ(loop: Loop) -> None:
    spaced = edited(AFTER, replaced("\n\n## Style\n\n", "  \r\n\r\n\r\n## Style\n"))
    assert answer(loop, spaced).outcome == "pass"


@pytest.mark.parametrize(("cause", "outcome"), [("schema-key-order", "pass"), ("clock", "fail")])
def test_json_written_otherwise(loop: Loop, cause: str, outcome: str) -> None:
    before = edited(traffic(system_before), replaced("Source:", 'Source: {"a": 1, "b": {"c": [1, 2]}}'))
    write_trace(before, loop.before)
    after = edited(traffic(system_before), replaced("Source:", 'Source: {"b":{"c":[1,2]},"a":1}'))
    assert answer(loop, after, cause=cause).outcome == outcome
    for spoilt in ('{"b":{"c":[2,1]},"a":1}', '{"b":{"c":[1,2]},"a":1.0}', '{"b":{"c":[1,2]},"a":1,"a":1}'):
        other = edited(traffic(system_before), replaced("Source:", f"Source: {spoilt}"))
        assert answer(loop, other, cause=cause).outcome == "fail"


def test_what_is_no_text_is_compared_too(loop: Loop) -> None:
    def parts(url: str) -> Any:
        def edit(body: Record) -> None:
            text = body["messages"][1]["content"]
            body["messages"][1]["content"] = [
                {"type": "text", "text": text},
                {"type": "image_url", "image_url": {"url": url}},
            ]

        return edit

    write_trace(edited(traffic(system_before), parts("data:a")), loop.before)
    assert answer(loop, edited(AFTER, parts("data:a")), cause="clock").outcome == "pass"
    assert answer(loop, edited(AFTER, parts("data:b")), cause="clock").outcome == "fail"
    assert answer(loop, AFTER, cause="clock").outcome == "fail"


def test_an_empty_message_is_new(loop: Loop) -> None:
    def add(body: Record) -> None:
        body["messages"].append({"role": "user", "content": ""})

    assert answer(loop, edited(AFTER, add)).outcome == "fail"


def test_requests_without_a_counterpart_fail(loop: Loop) -> None:
    answered = answer(loop, AFTER[:-1])
    assert "1 request of BEFORE without a counterpart in AFTER" in said(answered)
    assert answer(loop, [*AFTER, AFTER[0] | {"id": "new"}]).outcome == "fail"


def test_other_ids_are_paired_by_session_and_position(loop: Loop) -> None:
    renamed = [record | {"id": f"x-{n}"} for n, record in enumerate(AFTER)]
    answered = answer(loop, renamed)
    assert answered.outcome == "pass"
    assert answered.looked_at.endswith("paired by session and position")


def test_another_trace_than_the_tasks_fails(loop: Loop) -> None:
    answered = answer(loop, AFTER, trace_sha256="0" * 64)
    assert "is not the trace the task was made from" in said(answered)


def test_a_line_that_cannot_be_read_fails(loop: Loop) -> None:
    evidence = loop.with_after(AFTER)
    assert evidence.after is not None
    with evidence.after.open("a") as file:
        file.write('{"id": "cut", "body": {"mess\n')
    assert "line 13: could not be read" in said(ContentPreserved().answer(evidence))


def test_recorded_values_are_not_shown(loop: Loop) -> None:
    spoilt = edited(AFTER, replaced("My name is", "I am", message=1))
    assert "Customer" not in said(answer(loop, spoilt))
    evidence = loop.with_after(spoilt)
    shown = ContentPreserved().answer(msgspec.structs.replace(evidence, reveal=True))
    assert "My name is Customer" in said(shown)


def completions(records: list[Record]) -> list[Record]:
    """The same requests as rendered prompts."""
    return [
        {
            "id": record["id"],
            "session_id": record["session_id"],
            "body": {
                "model": "m",
                "prompt": "\n\n".join(message["content"] for message in record["body"]["messages"]),
            },
        }
        for record in records
    ]


def test_rendered_prompts_are_compared_too(loop: Loop) -> None:
    write_trace(completions(traffic(system_before)), loop.before)
    good = completions(AFTER)
    assert answer(loop, good, path="prompt").outcome == "pass"
    bad = [record | {"body": record["body"] | {"prompt": record["body"]["prompt"][:-4]}} for record in good]
    assert answer(loop, bad, path="prompt").outcome == "fail"


def test_a_trace_of_hashes_says_nothing_of_content(loop: Loop) -> None:
    hashed = [
        {"timestamp": n, "input_length": 1000, "output_length": 1, "hash_ids": [1, n]} for n in range(3)
    ]
    write_trace(hashed, loop.before)
    answered = answer(loop, hashed, trace_sha256="0" * 64)
    assert answered.outcome == "fail"
    assert "does not hold the whole text of the prompts" in said(answered)
