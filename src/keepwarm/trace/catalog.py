"""All requests of a trace, kept small: every distinct message and tool list is stored once.

Conversations repeat their history in every request, so a trace of a gigabyte holds far
less distinct text. Messages are content-addressed; payloads are compressed and decoded on
demand, so memory grows with what is new in a trace and not with its length.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from keepwarm.trace.columns import Column, Stores
from keepwarm.trace.contents import ContentId, ContentStore
from keepwarm.trace.prompt import TokenIds
from keepwarm.trace.records import HashedPrompt, JsonObject, Request, Usage

HEAD_ROLES = ("system", "developer")
"""Roles of the messages that an application puts in front of a conversation."""

_NOT_WORD = re.compile(r"[\W_]+")
_KEY_CHARS = 48


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A request by reference: ids into the catalog's stores."""

    index: int
    line: int
    id: str
    time_s: float | None
    session: str | None
    call_site: str | None
    model: str
    messages: tuple[ContentId, ...]
    tools: tuple[ContentId, ...]
    params: ContentId
    prompt_text: ContentId | None
    prompt_token_ids: TokenIds | None
    hashed: HashedPrompt | None  # without its ids, which are ``hash_ids``
    hash_ids: ContentId | None
    answer: ContentId | None
    answer_token_ids: TokenIds | None
    usage: Usage
    chat_template: str | None
    block_size: int | None

    @property
    def output_tokens(self) -> int:
        """Tokens the model wrote, 0 where not recorded."""
        if self.answer_token_ids is not None:
            return len(self.answer_token_ids)
        return self.usage.output_tokens or 0


class Catalog:
    """Requests in file order. ``request(i)`` rebuilds one; its message objects are shared: do not mutate."""

    def __init__(self, requests: Iterable[Request] = (), stores: Stores | None = None) -> None:
        stores = stores or Stores()
        # Unpacking a row takes its time, so they are packed only where they have to go to disk.
        self.rows: list[Row] | Column[Row] = (
            Column(stores.bytes("rows"), _ROWS.encode, _READ_ROWS.decode) if stores.spill else []
        )
        self.store = ContentStore(stores)
        self._message_keys = array("q")  # by content, 0 for what is no message
        self._is_head = bytearray()  # the same
        for request in requests:
            self.add(request)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def add(self, request: Request) -> Row:
        """Append a request; its messages are stored once each."""
        store = self.store
        messages = tuple(store.add(message) for message in request.messages)
        keys = self._message_keys
        for content, message in zip(messages, request.messages, strict=True):
            if content >= len(keys):
                new = content + 1 - len(keys)
                keys.frombytes(bytes(keys.itemsize * new))
                self._is_head.extend(bytes(new))
            if not keys[content]:
                keys[content] = message_key(message)
                self._is_head[content] = message.get("role") in HEAD_ROLES
        text, hashed = request.prompt_text, request.hashed
        row = Row(
            index=len(self.rows),
            line=request.line,
            id=request.id,
            time_s=request.time_s,
            session=request.session,
            call_site=request.call_site,
            model=request.model,
            messages=messages,
            tools=tuple(store.add(tool) for tool in request.tools),
            params=store.add(request.params),
            prompt_text=None if text is None else store.add(text),
            prompt_token_ids=_as_token_ids(request.prompt_token_ids),
            hashed=None if hashed is None else msgspec.structs.replace(hashed, hash_ids=[]),
            hash_ids=None if hashed is None else store.add(hashed.hash_ids),
            answer=store.add(request.answer) if _is_cached(request) else None,
            answer_token_ids=_as_token_ids(request.answer_token_ids),
            usage=request.usage,
            chat_template=request.chat_template,
            block_size=request.block_size,
        )
        self.rows.append(row)
        return row

    def message(self, content: ContentId) -> JsonObject:
        """The message object; shared, do not mutate."""
        message: JsonObject = self.store.get(content)
        return message

    def is_head(self, content: ContentId) -> bool:
        """Whether a message is one that an application puts in front of a conversation."""
        return bool(self._is_head[content])

    def message_key(self, content: ContentId) -> int:
        """Equal for messages of one role whose text begins alike, white space and case aside."""
        return self._message_keys[content]

    def params(self, row: Row) -> JsonObject:
        """Body fields other than model, messages and tools; shared, do not mutate."""
        params: JsonObject = self.store.get(row.params)
        return params

    def request(self, row: Row) -> Request:
        """The request of a row, with shared message objects in fresh lists."""
        return Request(
            line=row.line,
            id=row.id,
            time_s=row.time_s,
            session=row.session,
            call_site=row.call_site,
            model=row.model,
            messages=[self.store.get(content) for content in row.messages],
            tools=[self.store.get(content) for content in row.tools],
            params=self.params(row),
            prompt_text=None if row.prompt_text is None else self.store.get(row.prompt_text),
            prompt_token_ids=None if row.prompt_token_ids is None else row.prompt_token_ids.tolist(),
            hashed=self._hashed(row),
            answer=None if row.answer is None else self.store.get(row.answer),
            answer_token_ids=None if row.answer_token_ids is None else row.answer_token_ids.tolist(),
            usage=row.usage,
            chat_template=row.chat_template,
            block_size=row.block_size,
        )

    def _hashed(self, row: Row) -> HashedPrompt | None:
        if row.hashed is None or row.hash_ids is None:
            return None
        return msgspec.structs.replace(row.hashed, hash_ids=self.store.get(row.hash_ids))


def _id_bytes(ids: Any) -> bytes:
    return bytes(np.ascontiguousarray(ids, dtype=np.int32).tobytes())


def _ids_of_bytes(_: type, raw: bytes) -> TokenIds:
    return np.frombuffer(raw, dtype=np.int32)


_ROWS = msgspec.msgpack.Encoder(enc_hook=_id_bytes)
_READ_ROWS = msgspec.msgpack.Decoder(Row, dec_hook=_ids_of_bytes)


def _is_cached(request: Request) -> bool:
    """Whether the simulated cache holds the answer: it does if the answer is recorded as tokens."""
    return request.answer is not None and bool(request.answer_token_ids)


def _as_token_ids(ids: Sequence[int] | None) -> TokenIds | None:
    return None if ids is None else np.asarray(ids, dtype=np.int64).astype(np.int32)


def message_text(message: JsonObject) -> str:
    """All text a person would read in a message: content, or the text parts of a content list."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))


def message_key(message: JsonObject) -> int:
    """A 64-bit key of a message that survives white space, case and argument order."""
    calls = message.get("tool_calls") or ()
    names = [str((call.get("function") or {}).get("name")) for call in calls if isinstance(call, dict)]
    start = _NOT_WORD.sub("", message_text(message)[: 4 * _KEY_CHARS]).casefold()[:_KEY_CHARS]
    raw = "\0".join([str(message.get("role")), start, *names]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little", signed=True)
