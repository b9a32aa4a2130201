"""Traffic whose history is not sent again as it was sent."""

from __future__ import annotations

import base64
import struct
import zlib

from tests.diagnose.rule_traffic.parts import (
    ANSWERS,
    NOTICES,
    QUESTIONS,
    Message,
    Pair,
    as_json,
    assistant,
    in_turn,
    record,
    system,
    turns,
    user,
)


def moving_block() -> Pair:
    """A notice that is always attached to the newest question; one that stays with the first."""
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        name, history = f"call-{session + 1}", turns(turn + 1, offset=3 * session)
        newest = user(f"{NOTICES[session]}\n\n{history[-1]['content']}")
        first = user(f"{NOTICES[session]}\n\n{history[0]['content']}")
        bad.append(record(number, [system(), *history[:-1], newest], session=name))
        good.append(record(number, [system(), first, *history[1:]], session=name))
    return Pair(bad, good)


def history_rewrite() -> Pair:
    """A window over the last turns; a conversation that goes back and takes another way."""
    bad = []
    for number, session, turn in in_turn(2, 5):
        window = turns(turn + 1, offset=3 * session)[-5:]
        bad.append(record(number, [system(), *window], session=f"call-{session + 1}"))
    good = [record(n, [system(), *turns(n + 1)], session="call-1") for n in range(4)]
    back = turns(2)
    for n in range(4, 8):
        back = [*back, assistant(ANSWERS[n]), user(QUESTIONS[n])]
        good.append(record(n, [system(), *back], session="call-1"))
    return Pair(bad, good)


def args_key_order() -> Pair:
    """Arguments of the model's calls in another order on every replay; two calls that differ in it."""
    arguments = {"boat": "Sula", "hour": "14", "pier": "north", "tide": "low"}
    keys = list(arguments)

    def call(number: int, shift: int) -> list[Message]:
        order = keys[shift % 4 :] + keys[: shift % 4]
        text = as_json({key: arguments[key] for key in order})
        function = {"name": "book_crane", "arguments": text}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        done = {"role": "tool", "tool_call_id": f"call_{number}", "content": f"Booked as number {number}."}
        return [{"role": "assistant", "content": None, "tool_calls": calls}, done]

    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        ask = user(QUESTIONS[session])
        replayed = [message for i in range(turn) for message in call(i, turn)]
        kept = [message for i in range(turn) for message in call(i, i)]
        bad.append(record(number, [system(), ask, *replayed], session=f"call-{session + 1}"))
        good.append(record(number, [system(), ask, *kept], session=f"call-{session + 1}"))
    return Pair(bad, good)


def png(level: int, shade: int) -> str:
    """A grey picture of 24 by 24 as a data URL, compressed at ``level``."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    pixels = b"".join(b"\0" + bytes((x * y + shade) % 256 for x in range(24)) for y in range(24))
    header = struct.pack(">IIBBBBB", 24, 24, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, level))
    return "data:image/png;base64," + base64.b64encode(data + chunk(b"IEND", b"")).decode()


def media_reencode() -> Pair:
    """A picture compressed anew at every turn; another picture with every question."""

    def shown(url: str, text: str) -> Message:
        parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": text}]
        return {"role": "user", "content": parts}

    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        name, history = f"call-{session + 1}", turns(turn + 1, offset=3 * session)
        first = shown(png(2 * turn + 1, session), history[0]["content"])
        bad.append(record(number, [system(), first, *history[1:]], session=name))
        pictures = [
            shown(png(6, i), message["content"]) if message["role"] == "user" else message
            for i, message in enumerate(history)
        ]
        good.append(record(number, [system(), *pictures], session=name))
    return Pair(bad, good)
