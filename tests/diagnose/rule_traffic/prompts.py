"""Traffic whose stable prompt has a varying stretch."""

from __future__ import annotations

import datetime as dt
import random
import uuid

from tests.diagnose.rule_traffic.parts import (
    ANSWERS,
    NOTICES,
    QUESTIONS,
    RULES,
    SKIPPERS,
    START_S,
    Pair,
    Record,
    as_json,
    in_turn,
    record,
    system,
    turns,
    user,
)


def clock() -> Pair:
    """The time of day on top; a founding date on top and the time in the newest message."""

    def now(number: int) -> str:
        return dt.datetime.fromtimestamp(START_S + 47 * number, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")

    bad = [record(n, [system(f"It is {now(n)} at the pier.\n{RULES}"), user(QUESTIONS[n])]) for n in range(8)]
    good = [
        record(
            n,
            [system(f"Founded on 1911-05-02 at nine.\n{RULES}"), user(f"{QUESTIONS[n]}\n(sent {now(n)})")],
        )
        for n in range(8)
    ]
    return Pair(bad, good)


def random_id() -> Pair:
    """A fresh trace id before the rules; the same kind of id behind the question."""
    rng = random.Random(11)
    fresh = [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(8)]
    bad = [record(n, [system(f"trace={fresh[n]}\n{RULES}"), user(QUESTIONS[n])]) for n in range(8)]
    fixed = f"Office key {fresh[0]}.\n{RULES}"
    good = [record(n, [system(fixed), user(f"{QUESTIONS[n]}\ntrace={fresh[n]}")]) for n in range(8)]
    return Pair(bad, good)


def identity() -> Pair:
    """The skipper's name before the rules; the same name behind them."""

    def asked(before: bool) -> list[Record]:
        records = []
        for number, session, turn in in_turn(4, 2):
            name = f"The caller is {SKIPPERS[session]}."
            text = f"{name}\n\n{RULES}" if before else f"{RULES}\n\n{name}"
            messages = [system(text), *turns(turn + 1, offset=session)]
            records.append(record(number, messages, session=SKIPPERS[session].split()[0].lower()))
        return records

    return Pair(asked(True), asked(False))


def counter() -> Pair:
    """Replies left, in the rules; the same count said once, in each newest message."""
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        name, history = f"call-{session + 1}", turns(turn + 1, offset=3 * session)
        bad.append(record(number, [system(f"Replies left: {9 - turn}.\n{RULES}"), *history], session=name))
        counted = [
            {**message, "content": f"{message['content']} (reply {9 - i // 2})"}
            if message["role"] == "user"
            else message
            for i, message in enumerate(history)
        ]
        good.append(record(number, [system(), *counted], session=name))
    return Pair(bad, good)


def retrieved_context() -> Pair:
    """A notice chosen for the question, before the rules; behind them."""
    bad, good = [], []
    for n in range(6):
        bad.append(record(n, [system(f"{NOTICES[n]}\n\n{RULES}"), user(QUESTIONS[n])]))
        good.append(record(n, [system(f"{RULES}\n\n{NOTICES[n]}"), user(QUESTIONS[n])]))
    return Pair(bad, good)


def example_order() -> Pair:
    """Examples in the rules, shuffled per request; the caller's own list shuffled, at the end."""
    examples = [f"Q: {q} A: {a}" for q, a in zip(QUESTIONS, ANSWERS, strict=True)]
    rng = random.Random(5)
    bad, good = [], []
    for n in range(7):
        shuffled = "\n".join(rng.sample(examples, len(examples)))
        fixed = "\n".join(examples)
        ask = f"Berth {n + 2}, what is there to do?"
        bad.append(record(n, [system(f"{shuffled}\n\n{RULES}"), user(ask)]))
        good.append(record(n, [system(f"{fixed}\n\n{RULES}"), user(f"{ask}\n{shuffled}")]))
    return Pair(bad, good)


def whitespace() -> Pair:
    """Answers replayed without the line feed they ended with; with it."""
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        name, history = f"call-{session + 1}", turns(turn + 1, offset=3 * session)
        kept = [{**m, "content": m["content"] + "\n\n"} if m["role"] == "assistant" else m for m in history]
        # The newest answer comes as it was written, older ones from a store that strips them.
        stripped = [*history[:-2], *kept[-2:]] if turn else kept
        bad.append(record(number, [system(), *stripped], session=name))
        good.append(record(number, [system(), *kept], session=name))
    return Pair(bad, good)


def below_block() -> Pair:
    """A few words and a number; a few words behind rules that fill blocks."""
    bad, good = [], []
    for n in range(8):
        ask = user(f"Berth {n * 37 + 11}: {QUESTIONS[n]}")
        bad.append(record(n, [ask]))
        good.append(record(n, [system(RULES[:300]), ask]))
    return Pair(bad, good)


def schema_key_order() -> Pair:
    """The office's table as JSON with its keys in any order; the caller's own JSON so, at the end."""
    table = {"north": 12, "quay": 9, "crane": 1, "slip": 2, "shed": 4, "mole": 7, "fuel": 3, "buoy": 5}
    rng = random.Random(3)
    bad, good = [], []
    for n in range(7):
        keys = rng.sample(sorted(table), len(table))
        mixed, fixed = as_json({key: table[key] for key in keys}), as_json(table)
        bad.append(record(n, [system(f"Berths: {mixed}\n\n{RULES}"), user(QUESTIONS[n])]))
        good.append(record(n, [system(f"Berths: {fixed}\n\n{RULES}"), user(f"{QUESTIONS[n]} {mixed}")]))
    return Pair(bad, good)
