"""What the invented traffic is made of: a harbour office, its rules, its skippers, its records."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Message = dict[str, Any]
Record = dict[str, Any]

START_S = 1_930_000_000.0
MODEL = "harbour-8b"


def one_line(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


RULES = one_line("""
You answer for the harbour office of Marnholm. Boats up to twelve metres lie at the north pier, longer
ones at the quay. A berth is kept for a boat until six in the evening of the day it was asked for; after
that it goes to whoever waits. Fees are due on arrival, children and crew in training pay nothing. Fuel is
sold between seven and noon, never during a thunderstorm. Nobody is told who lies where, not even family.
When the swell at the outer buoy exceeds two metres the harbour master is called before any boat is told
to come in. Lost ropes, fenders and lamps are kept for thirty days in the shed behind the crane. Answer in
at most three sentences, name the pier, and say what remains to be done by the skipper.
""")

SKIPPERS = ("Ansa Torvik", "Bo Lindqvist", "Carla Mendes", "Dag Hellesund", "Esther Quist", "Filip Moravec")

QUESTIONS = (
    "Is there room for a boat of nine metres tonight, and when do I have to be in?",
    "We broke a shackle on the way. Who can help on a Sunday morning?",
    "Can I fill up before the ferry leaves, or is the pump closed by then?",
    "My daughter sails in tomorrow with her class. What will the berth cost them?",
    "I left a blue fender at the crane last week. Has anybody brought it in?",
    "The forecast speaks of swell. May I still come in by the southern channel?",
    "Where do I find the key of the washroom after the office has closed?",
    "How long may the trailer stand on the slipway if I launch before eight?",
)

ANSWERS = (
    "The north pier has room; come in before six and pay on arrival.",
    "The boatyard opens at ten; until then the ferry crew lends out tools at the quay.",
    "The pump closes at noon, so please come to the quay by half past eleven.",
    "Crew in training pay nothing; let them ask for the north pier by radio.",
    "A blue fender is in the shed; ask at the north pier and bring a paper with your name.",
    "Not before the harbour master has agreed; wait off the buoy and call on channel twelve.",
    "The key hangs with the watch at the quay; sign for it and return it by morning.",
    "One hour at the slipway; then move it to the field behind the north pier.",
)

_NOTICES = """
Notice of the pilots. Between the fourth and the ninth the eastern light is out for repair; vessels under
sail keep two cables off the mole and show a second lamp at the stern until they are made fast.

Report of the diver. The chain of mooring eleven is worn to half its strength near the sinker; no boat
above five tonnes may lie there, and whoever is there already moves to the inner row before the gale.

Letter of the chandler. From this month on rope is sold by weight, paint only against a signature, and
what was ordered by telephone has to be fetched within a week or goes back into the shelves.

Minutes of the council. The slipway is closed to trailers while the school races; the field behind the
church serves instead, and the ferry carries tow cars across for nothing on both mornings.

Weather of the week. High pressure drifts north, mornings begin with fog in the sound, the breeze comes up
from the west by noon and dies at dusk; swell stays low except off the reef on Friday night.

List of the customs. Declared were two crates of lamps, a compass under glass, forty metres of chain and a
stove; not declared was a dog of the mate, which stays aboard until the vet has seen its papers.
"""
NOTICES = tuple(one_line(notice) for notice in _NOTICES.split("\n\n"))


class Pair(NamedTuple):
    """Requests that show a cause, requests that nearly do, and what else the two folders need."""

    bad: list[Record]
    good: list[Record]
    options: Mapping[str, int | float] = {}
    files: Mapping[str, str] = {}


def record(
    number: int,
    messages: Sequence[Message],
    *,
    session: str | None = None,
    time_s: float | None = None,
    around: Mapping[str, Any] | None = None,
    **body: Any,
) -> Record:
    """One line of a trace; ``number`` gives id and, unless said otherwise, time: 47 s apart."""
    line: Record = {"id": f"r{number:02}", "timestamp": START_S + 47 * number if time_s is None else time_s}
    if session is not None:
        line["session_id"] = session
    line["body"] = {"model": MODEL, "messages": list(messages), **body}
    return {**line, **(around or {})}


def system(text: str = RULES) -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def turns(number: int, *, offset: int = 0) -> list[Message]:
    """A conversation of ``number`` questions and the answers between them."""
    messages: list[Message] = []
    for i in range(offset, offset + number):
        messages += [user(QUESTIONS[i % len(QUESTIONS)]), assistant(ANSWERS[i % len(ANSWERS)])]
    return messages[:-1]


def in_turn(sessions: int, length: int) -> Iterator[tuple[int, int, int]]:
    """Number of the request, session and turn of sessions that take turns."""
    for number in range(sessions * length):
        yield number, number % sessions, number // sessions


def tool(name: str, purpose: str, **arguments: str) -> Message:
    """A tool definition whose arguments are strings with a description each."""
    properties = {key: {"type": "string", "description": text} for key, text in arguments.items()}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": purpose,
            "parameters": {"type": "object", "properties": properties, "required": list(arguments)},
        },
    }


TOOLS = (
    tool("find_berth", "Find a free berth for a boat.", metres="Length over all.", pier="Pier asked for."),
    tool("read_swell", "Height of the swell at a buoy, in metres.", buoy="Name of the buoy."),
    tool("book_crane", "Book the crane for half an hour.", boat="Name of the boat.", hour="Full hour."),
    tool("lost_things", "Look up what lies in the shed.", colour="Colour.", thing="What it is."),
)


def words(seed: int, count: int) -> str:
    """Plain words in an order of their own."""
    rng = random.Random(seed)
    return " ".join(rng.sample(" ".join(NOTICES).split(), count))


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
