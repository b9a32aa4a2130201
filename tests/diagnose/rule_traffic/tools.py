"""Traffic whose tool definitions differ from request to request."""

from __future__ import annotations

import random

from tests.diagnose.rule_traffic.parts import TOOLS, Pair, in_turn, record, system, turns


def tool_order() -> Pair:
    """Tools gathered in any order; sessions with tools of their own, in one order."""
    rng = random.Random(2)
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        messages = [system(), *turns(turn + 1, offset=3 * session)]
        name = f"call-{session + 1}"
        bad.append(record(number, messages, session=name, tools=rng.sample(TOOLS, len(TOOLS))))
        good.append(record(number, messages, session=name, tools=list(TOOLS[session : session + 3])))
    return Pair(bad, good)


def tool_set() -> Pair:
    """A tool that comes with the second turn and goes with the fourth; tools that differ by session."""
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        messages = [system(), *turns(turn + 1, offset=3 * session)]
        name = f"call-{session + 1}"
        offered = list(TOOLS) if turn in (1, 2) else [TOOLS[0], *TOOLS[2:]]
        bad.append(record(number, messages, session=name, tools=offered))
        good.append(record(number, messages, session=name, tools=list(TOOLS[: 3 + session])))
    return Pair(bad, good)
