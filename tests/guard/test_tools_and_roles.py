from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from keepwarm.guard.base import Answer
from keepwarm.guard.checks.tools_and_roles import ToolsAndRoles
from tests.guard.building import (
    TOOLS,
    Loop,
    Record,
    declared,
    edited,
    system_after,
    system_before,
    traffic,
    write_trace,
)

AFTER = traffic(system_after)


def answer(loop: Loop, edit: Callable[[Record], Any], only: int | None = 3, **task: Any) -> Answer:
    def done(body: Record) -> None:
        edit(body)

    return ToolsAndRoles().answer(loop.with_after(edited(AFTER, done, only), **task))


def said(answered: Answer) -> str:
    return "\n".join(f"{problem.where}: {problem.what}" for problem in answered.problems)


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (lambda body: body["tools"].pop(), "tools lost or changed: look_up"),
        (lambda body: body["tools"].append(TOOLS[0]), "tools new or changed: refund"),
        (lambda body: body["tools"][0]["function"].update(description="Refund it"), "refund"),
        (lambda body: body["tools"][1]["function"]["parameters"].update(required=["number"]), "look_up"),
        (lambda body: body["tools"].reverse(), "the tools come in another order"),
        (lambda body: body.pop("tools"), "tools lost or changed: look_up, refund"),
        (lambda body: body.update(model="other"), "the model was 'm' and is 'other'"),
        (lambda body: body.update(temperature=1), "temperature was 0 and is 1"),
        (lambda body: body.pop("temperature"), "temperature was 0 and is not set"),
        (lambda body: body.update(tool_choice="required"), "tool_choice was not set and is"),
        (lambda body: body.update(response_format={"type": "json_object"}), "response_format"),
        (lambda body: body["messages"][0].update(role="developer"), "the roles were system, user"),
        (lambda body: body["messages"].pop(), "the roles were system, user and are system"),
        (lambda body: body["messages"].reverse(), "are user, system"),
        (lambda body: body["messages"].append({"role": "assistant", "content": "x"}), "assistant"),
    ],
)
def test_what_differs_fails(loop: Loop, edit: Callable[[Record], Any], what: str) -> None:
    answered = answer(loop, edit)
    assert answered.outcome == "fail"
    assert what in said(answered)


def test_keys_of_a_schema_may_come_in_any_order(loop: Loop) -> None:
    def edit(body: Record) -> None:
        body["tools"] = [
            {"function": dict(reversed(tool["function"].items())), "type": "function"}
            for tool in body["tools"]
        ]

    assert answer(loop, edit).outcome == "pass"


def test_the_order_of_tools_may_be_repaired(loop: Loop) -> None:
    def edit(body: Record) -> None:
        body["tools"].reverse()

    assert answer(loop, edit, cause="tool-order").outcome == "pass"
    assert answer(loop, edit, declared=declared(("moved", "tools[0]"))).outcome == "pass"
    assert answer(loop, edit, declared=declared(("moved", "messages[0].content"))).outcome == "fail"


def test_more_tools_need_an_approval_where_the_set_is_repaired(loop: Loop) -> None:
    before = edited(traffic(system_before), lambda body: body["tools"].pop(), only=3)
    write_trace(before, loop.before)
    answered = answer(loop, lambda body: None, cause="tool-set")
    assert answered.outcome == "needs-approval"
    assert "offers tools it did not have before: look_up" in said(answered)
    assert answer(loop, lambda body: None, cause="clock").outcome == "fail"

    def invent(body: Record) -> None:
        body["tools"].append({"type": "function", "function": {"name": "erase"}})

    assert answer(loop, invent, cause="tool-set").outcome == "fail"


def test_one_message_may_become_two_of_its_role(loop: Loop) -> None:
    def split(body: Record) -> None:
        body["messages"].insert(1, {"role": "system", "content": "x"})

    assert answer(loop, split).outcome == "pass"
    assert answer(loop, split, moves_allowed=False).outcome == "fail"


def test_a_role_at_another_turn_needs_an_approval(loop: Loop) -> None:
    def append(body: Record) -> None:
        body["messages"].append({"role": "system", "content": "x"})

    answered = answer(loop, append, only=None)
    assert answered.outcome == "needs-approval"
    assert len(answered.problems) == 1
    assert answered.problems[0].where == "site-1, r-000 and 11 more"


def test_another_model_needs_an_approval_where_switches_are_repaired(loop: Loop) -> None:
    answered = answer(loop, lambda body: body.update(model="other"), cause="model-switch")
    assert answered.outcome == "needs-approval"


def test_values_of_parameters_are_not_shown(loop: Loop) -> None:
    answered = answer(loop, lambda body: body.update(user="someone@example.org"))
    assert answered.outcome == "fail"
    assert "someone" not in said(answered)
