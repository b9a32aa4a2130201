"""Kinds of changed history that look like something else: hand-sized conversations, one per kind."""

from __future__ import annotations

import base64
import datetime as dt
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from keepwarm.diagnose import diagnose
from keepwarm.diagnose.edits import EditKind, align
from keepwarm.diagnose.findings import Diagnosis
from keepwarm.trace.catalog import Catalog
from tests.diagnose.building import LONG, chat, message, request, requests

START_S = 1_930_000_000.0
Messages = list[dict[str, Any]]


def text(number: int) -> str:
    """A turn of some forty words that no other turn repeats."""
    return " ".join(f"{word}{number}" for word in LONG.split())


def turns(count: int, first: int = 0) -> Messages:
    """A conversation of ``count`` questions, each but the last answered."""
    return chat(*(text(first + n) for n in range(2 * count - 1)), system=LONG * 4)


def diagnosed(folder: Path, conversations: Sequence[Messages], **body: Any) -> Diagnosis:
    path = folder / "trace.jsonl"
    records = [
        {
            "id": f"r{n}",
            "timestamp": START_S + 240 * n,
            "session_id": "s",
            "body": {"model": "m", "messages": messages, **body},
        }
        for n, messages in enumerate(conversations)
    ]
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    return diagnose(str(path))


def causes(diagnosis: Diagnosis) -> list[str]:
    return [finding.cause for finding in diagnosis.findings]


@pytest.mark.parametrize(
    "state",
    [
        lambda at: f"[{at:%Y-%m-%d %H:%M:%S}] ",
        lambda at: f"({at:%d %B %Y}, {at:%H:%M}) ",
        lambda at: f"epoch {int(at.timestamp())}: ",
    ],
)
def test_a_time_stated_anew_in_old_messages_is_a_clock(
    tmp_path: Path, state: Callable[[dt.datetime], str]
) -> None:
    conversations = []
    for n in range(8):
        messages = turns(n + 1)
        stamp = state(dt.datetime.fromtimestamp(START_S + 240 * n, dt.UTC))
        first = {**messages[1], "content": stamp + messages[1]["content"]}
        conversations.append([messages[0], first, *messages[2:]])
    assert causes(diagnosed(tmp_path, conversations)) == ["clock"]


def test_documents_on_both_sides_of_a_short_question_move(tmp_path: Path) -> None:
    front, behind = text(900) + text(901), text(902) + text(903)
    conversations = []
    for n in range(7):
        *past, newest = turns(n + 1)
        past = [{**m, "content": m["content"][:60]} if m["role"] == "user" else m for m in past]
        content = f"{front}\n---\n{newest['content'][:60]}\n---\n{behind}"
        conversations.append([*past, {**newest, "content": content}])
    found = diagnosed(tmp_path, conversations).findings
    assert found[0].cause == "moving-block"
    assert found[0].added_tokens < 30  # separators; neither document is sent twice


def test_a_block_moves_in_messages_made_of_parts(tmp_path: Path) -> None:
    block = {"type": "text", "text": text(900) + "\n\n" + text(901)}
    conversations = []
    for n in range(7):
        messages = turns(n + 1)
        for m in messages[1:]:
            m["content"] = [{"type": "text", "text": m["content"]}]
        messages[-1]["content"].insert(0, block)
        conversations.append(messages)
    found = diagnosed(tmp_path, conversations).findings
    assert [f.cause for f in found] == ["moving-block"]
    assert found[0].added_tokens < found[0].recoverable_tokens / 2  # the block is not sent twice


def test_a_question_asked_again_in_a_sliding_window_has_not_moved() -> None:
    messages = turns(6)
    again = messages[1]
    window = [messages[0], *messages[1:6]]
    later = [messages[0], *messages[3:6], message("assistant", text(90)), again]
    catalog = Catalog(requests([window, later]))
    edits = align(catalog, catalog.rows[0], catalog.rows[1]).edits
    assert {edit.kind for edit in edits} == {EditKind.DROPPED}


def test_a_message_of_its_own_that_is_sent_again_has_moved() -> None:
    head, first, answer, second = turns(2)
    notice = message("user", text(90))
    catalog = Catalog(requests([[head, notice, first], [head, first, answer, notice, second]]))
    edits = align(catalog, catalog.rows[0], catalog.rows[1]).edits
    assert [edit.kind for edit in edits] == [EditKind.MOVED]


def test_a_window_that_says_what_it_left_out_is_a_window(tmp_path: Path) -> None:
    conversations = []
    for n in range(12):
        head, *rest = turns(n + 1)
        note = message("system", f"{len(rest) - 5} earlier messages are left out.")
        conversations.append([head, *rest] if len(rest) <= 5 else [head, note, *rest[-5:]])
    found = diagnosed(tmp_path, conversations)
    assert causes(found)[0] == "history-rewrite"
    net = sum(f.recoverable_tokens - f.added_tokens for f in found.findings)
    assert 0 < net <= sum(site.lost_tokens for site in found.call_sites)


def test_set_phrases_of_long_chats_are_no_examples(tmp_path: Path) -> None:
    phrases = [text(n) for n in range(4)]
    path = tmp_path / "trace.jsonl"
    records = []
    for n in range(6):
        for session in range(3):
            said = [phrases[(session + k) % 4] for k in range(2 * n + 1)]
            body = {"model": "m", "messages": chat(*said, system=LONG * 4)}
            at = START_S + 100 * n + session
            records.append(
                {"id": f"r{n}-{session}", "timestamp": at, "session_id": f"s{session}", "body": body}
            )
    path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in records))
    assert causes(diagnose(str(path))) == []


def test_two_samples_of_one_script_rewrite_nothing(tmp_path: Path) -> None:
    """The same questions, answered afresh: the second run is a branch, not an edit of the first."""
    script = [m for m in turns(6) if m["role"] != "assistant"]
    conversations: list[Messages] = []
    for sample in range(3):
        said = script[:2]
        for n in range(5):
            conversations.append(said)
            said = [*said, message("assistant", text(100 * sample + 50 + n)), script[n + 2]]
    assert causes(diagnosed(tmp_path, conversations)) == []


def test_sound_in_other_bytes_is_reencoded_media(tmp_path: Path) -> None:
    conversations = []
    for n in range(8):
        messages = turns(n + 1)
        data = base64.b64encode(b"RIFF....WAVEfmt LIST" + f"{n:08}".encode() + bytes(200)).decode()
        sound = {"type": "input_audio", "input_audio": {"data": data, "format": "wav"}}
        messages[1]["content"] = [sound, {"type": "text", "text": messages[1]["content"]}]
        conversations.append(messages)
    found = diagnosed(tmp_path, conversations).findings
    assert [(f.cause, f.path) for f in found] == [
        ("media-reencode", "messages[1].content[0].input_audio.data")
    ]


def test_a_picture_that_every_call_encodes_anew_is_reencoded_media(tmp_path: Path) -> None:
    """Between calls only pixels count: photographs of one size are not the same."""

    def single_calls(picture: Callable[[int], str]) -> list[Messages]:
        plan = [{"type": "image_url", "image_url": {"url": picture(n)}} for n in range(8)]
        texts = [{"type": "text", "text": LONG * 6}, {"type": "text", "text": "Where?"}]
        return [[message("user", [part, *texts])] for part in plan]

    found = diagnosed(tmp_path, single_calls(lambda n: png([1, 2, 3], b"made at %d" % n))).findings
    assert [(f.cause, f.path) for f in found] == [("media-reencode", "messages[0].content[0].image_url.url")]
    assert found[0].recoverable_tokens > 7 * 6 * 32
    others = diagnosed(tmp_path, single_calls(lambda n: png([n, n + 1, n + 2], b"")))
    assert "media-reencode" not in causes(others)


def png(pixels: Sequence[int], note: bytes) -> str:
    """A grey picture of one row, with a text chunk, as a data URL."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(pixels), 1, 8, 0, 0, 0, 0)
    chunks = [
        (b"IHDR", header),
        (b"tEXt", note),
        (b"IDAT", zlib.compress(bytes([0, *pixels]))),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, body) for kind, body in chunks)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def test_retokenised_history_gains_what_was_lost_and_adds_nothing() -> None:
    """Seams in recorded ids are found by ids: the text between them may be of any density."""
    from keepwarm.diagnose.gains import shared_gains
    from keepwarm.diagnose.rules.template_history import Retokenization
    from tests.diagnose.building import traffic_of, view_of

    def ids(count: int, other: bool) -> list[int]:
        """A prompt of messages of forty tokens, of which another path encodes one differently."""
        body = [1000 * m + k for m in range(count) for k in range(40)]
        return [9, *([7, 7] if other else [8]), *body, 5, 6]

    items = [request(n, turns(n + 1), prompt_token_ids=ids(2 * n + 2, bool(n % 2))) for n in range(6)]
    view = view_of(traffic_of(items))
    candidates = list(Retokenization().candidates(view))
    (gain,) = shared_gains(view, candidates)
    lost = sum(40 * 2 * n for n in range(2, 6)) // 2
    assert gain.added_tokens == 0
    assert gain.recoverable_tokens > lost / 2
