"""Traffic whose loss lies in the template, the parameters or the server."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from tests.diagnose.rule_traffic.parts import (
    ANSWERS,
    MODEL,
    QUESTIONS,
    RULES,
    START_S,
    Message,
    Pair,
    Record,
    assistant,
    in_turn,
    record,
    system,
    turns,
    user,
    words,
)

_DAY_S = 86_400


def conversations(sessions: int = 2, length: int = 4) -> Iterator[tuple[int, int, int, list[Message]]]:
    """Number, session, turn and messages of conversations that only grow."""
    for number, session, turn in in_turn(sessions, length):
        yield number, session, turn, [system(), *turns(turn + 1, offset=3 * session)]


def model_switch() -> Pair:
    """Two models that take turns within a session; one model per session."""
    bad, good = [], []
    for number, session, turn, messages in conversations():
        name, big = f"call-{session + 1}", f"{MODEL}-large"
        bad.append(record(number, messages, session=name, model=(MODEL, big)[turn % 2]))
        good.append(record(number, messages, session=name, model=(MODEL, big)[session]))
    return Pair(bad, good)


def salt() -> Pair:
    """A salt per caller; one for all."""
    bad, good = [], []
    for n in range(8):
        messages = [system(), user(QUESTIONS[n])]
        bad.append(record(n, messages, cache_salt=f"caller-{n % 4}"))
        good.append(record(n, messages, cache_salt="harbour"))
    return Pair(bad, good)


def skip_reads() -> Pair:
    """Log-probabilities of the prompt asked for, all but nought of them; of the answer."""
    bad, good = [], []
    for n in range(8):
        messages = [system(), user(QUESTIONS[n])]
        bad.append(record(n, messages, prompt_logprobs=0))
        good.append(record(n, messages, logprobs=True, top_logprobs=3, prompt_logprobs=None))
    return Pair(bad, good)


def _usage(prompt_chars: int, cached_chars: int) -> Record:
    """Usage as a server with a tokenizer of four characters a token and blocks of 16 would report it."""
    details = {"cached_tokens": cached_chars // 64 * 16}
    usage = {"prompt_tokens": prompt_chars // 4, "completion_tokens": 20, "prompt_tokens_details": details}
    return {"response": {"usage": usage}}


def _chars(messages: list[Message]) -> int:
    return sum(len(message["content"]) + 30 for message in messages)


def routing() -> Pair:
    """Two servers take turns and each hits what it has seen itself; one server."""
    bad, good = [], []
    for number, session, turn, messages in conversations(1, 10):
        name = f"call-{session + 1}"
        whole, earlier = _chars(messages), _chars(messages[:-2])
        elsewhere = 0 if turn % 3 else _chars(messages[:-6]) if turn else 0
        here = earlier if turn else 0
        bad.append(record(number, messages, session=name, around=_usage(whole, elsewhere)))
        good.append(record(number, messages, session=name, around=_usage(whole, here)))
    return Pair(bad, good)


def expired() -> Pair:
    """Nothing is left after ten minutes of silence; a server that keeps it for longer."""
    bad, good = [], []
    time_s = START_S
    for number, session, turn, messages in conversations(1, 10):
        is_late = turn % 2 == 0
        time_s += 1200 + 60 * turn if is_late else 30 + turn
        whole, earlier = _chars(messages), _chars(messages[:-2]) if turn else 0
        name = f"call-{session + 1}"
        lapsed = _usage(whole, 0 if is_late else earlier)
        bad.append(record(number, messages, session=name, time_s=time_s, around=lapsed))
        good.append(record(number, messages, session=name, time_s=time_s, around=_usage(whole, earlier)))
    return Pair(bad, good)


def eviction() -> Pair:
    """Three long sessions that take turns in a cache for two; the same one after the other."""
    long = [f"{RULES}\n\n{words(session, 120)}" for session in range(3)]

    def one(number: int, session: int, turn: int) -> Record:
        messages = [system(long[session]), *turns(turn + 1, offset=3 * session)]
        return record(number, messages, session=f"call-{session + 1}", metadata={"call_site": "desk"})

    bad = [one(number, session, turn) for number, session, turn in in_turn(3, 3)]
    good = [one(number, number // 3, number % 3) for number in range(9)]
    return Pair(bad, good, options={"capacity_blocks": 56})


_TEMPLATE = """\
{%- for m in messages %}<|turn|>{{ m.role }}
HEAD
{%- if m.reasoning_content and KEEP %}<think>{{ m.reasoning_content }}</think>
{% endif %}{{ m.content }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|turn|>assistant
{% endif %}"""


def _template(*, head: str = "", keep: str = "true") -> str:
    return _TEMPLATE.replace("HEAD\n", head).replace("KEEP", keep)


def template_clock() -> Pair:
    """A template that prints the server's date; one that prints a date it is given."""
    dated = "{% if loop.first %}Today is {{ DATE }}.\n{% endif %}"
    files = {
        "bad.jinja": _template(head=dated.replace("DATE", "strftime_now('%d %B %Y')")),
        "good.jinja": _template(head=dated.replace("DATE", "date_string")),
    }
    bad, good = [], []
    for n in range(8):
        messages, time_s = [system(), user(QUESTIONS[n])], START_S + n * _DAY_S
        given = {"date_string": "01 March 2031"}
        bad.append(record(n, messages, time_s=time_s, around={"chat_template": "bad.jinja"}))
        good.append(
            record(
                n,
                messages,
                time_s=time_s,
                around={"chat_template": "good.jinja"},
                chat_template_kwargs=given,
            )
        )
    return Pair(bad, good, files=files)


def template_history() -> Pair:
    """A template that drops the thinking of turns before the last; one that keeps all of it."""
    files = {"bad.jinja": _template(keep="loop.index0 > messages|length - 3"), "good.jinja": _template()}
    bad, good = [], []
    for number, session, turn in in_turn(2, 4):
        messages: list[Message] = [system(RULES[:300])]
        for i in range(turn):
            thought = f"Let me think about {words(10 * session + i, 40)}."
            ask = QUESTIONS[3 * session + i]
            messages += [user(ask), assistant(ANSWERS[i], reasoning_content=thought)]
        messages.append(user(QUESTIONS[3 * session + turn]))
        name = f"call-{session + 1}"
        bad.append(record(number, messages, session=name, around={"chat_template": "bad.jinja"}))
        good.append(record(number, messages, session=name, around={"chat_template": "good.jinja"}))
    return Pair(bad, good, files=files)


def _ids(messages: list[Message], *, merged: int) -> list[int]:
    """Made-up token ids, one per word; the first ``merged`` words that could be read as two tokens are."""
    ids: list[int] = []
    for message in messages:
        for word in f"<{message['role']}> {message['content']} <end>".split():
            token = zlib.crc32(word.encode()) % 50_000
            if merged and len(word) > 7:
                merged -= 1
                ids += [token, len(word)]
            else:
                ids.append(token)
    return ids


def retokenization() -> Pair:
    """One text, its long words encoded in another way at every turn; in one way."""
    bad, good = [], []
    for number, session, turn, messages in conversations():
        more: dict[str, Any] = {"session": f"call-{session + 1}"}
        bad.append(record(number, messages, **more, prompt_token_ids=_ids(messages, merged=turn + 1)))
        good.append(record(number, messages, **more, prompt_token_ids=_ids(messages, merged=0)))
    return Pair(bad, good)
