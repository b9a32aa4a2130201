from __future__ import annotations

import msgspec

from keepwarm.guard.checks.reuse_target import ReuseTarget
from keepwarm.repair.task import ReuseTarget as Target
from tests.guard.building import Loop, system_after, system_before, traffic, write_trace


def test_the_figures_are_said(loop: Loop) -> None:
    answered = ReuseTarget().answer(loop.evidence())
    assert answered.outcome == "pass"
    assert answered.looked_at.startswith("site-1 goes from ")
    assert answered.looked_at.endswith("30.00% required (simulated, approximate tokens, blocks of 16)")


def test_a_repair_that_gives_nothing_fails(loop: Loop) -> None:
    answered = ReuseTarget().answer(loop.with_after(traffic(system_before)))
    assert answered.outcome == "fail"
    assert "below the required 0.3000" in answered.problems[0].what


def test_the_task_is_not_believed(loop: Loop) -> None:
    target = Target(hit_rate_before=0.0, hit_rate_repaired=0.99, hit_rate_required=0.9)
    task = msgspec.structs.replace(loop.task, target=target)
    assert ReuseTarget().answer(loop.evidence(task=task)).outcome == "fail"


def test_another_call_site_must_not_get_worse(loop: Loop) -> None:
    def other(noise: bool) -> list[dict[str, object]]:
        text = (
            "You translate letters between two languages and keep every number, name and date in them. " * 4
        )
        return [
            {
                "id": f"t-{n}",
                "session_id": f"t-{n}",
                "body": {
                    "model": "m",
                    "messages": [
                        {"role": "system", "content": f"{n if noise else ''} {text}"},
                        {"role": "user", "content": f"letter {n}"},
                    ],
                },
            }
            for n in range(6)
        ]

    write_trace([*traffic(system_before), *other(noise=False)], loop.before)
    good = loop.with_after([*traffic(system_after), *other(noise=False)], cause="clock")
    assert ReuseTarget().answer(good).outcome == "pass"
    bad = loop.with_after([*traffic(system_after), *other(noise=True)], cause="clock")
    answered = ReuseTarget().answer(bad)
    assert answered.outcome == "fail"
    assert answered.problems[0].where == "site-2"
    assert "fell from" in answered.problems[0].what


def test_a_call_site_that_is_not_there_fails(loop: Loop) -> None:
    task = msgspec.structs.replace(
        loop.task, finding=msgspec.structs.replace(loop.task.finding, call_site="site-7")
    )
    assert ReuseTarget().answer(loop.evidence(task=task)).outcome == "fail"
