"""JSON values stored once each, by content: in memory, or where ``Stores`` puts what it has no room for."""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from typing import Any, NewType

import msgspec
import zstandard

from keepwarm.trace.columns import Stores

ContentId = NewType("ContentId", int)
"""Identity of a stored JSON value: equal ids mean byte-equal serialisations."""

_COMPRESS_FROM_BYTES = 512
_DECODED_KEPT = 4_096
_DECODED_BYTES = 8 << 20  # of JSON


class ContentStore:
    """JSON values stored once each, by content. Serialisation keeps key order."""

    def __init__(self, stores: Stores | None = None) -> None:
        stores = stores or Stores()
        self._ids: dict[bytes, ContentId] = {}
        self._payloads = stores.bytes("texts")
        self._encoder = msgspec.json.Encoder()
        self._compressor = zstandard.ZstdCompressor(level=1)
        self._decompressor = zstandard.ZstdDecompressor()
        self._decoded: OrderedDict[ContentId, tuple[Any, int]] = OrderedDict()
        self._decoded_bytes = 0
        # Within a budget it counts how long the values are.
        self.get = (
            self._decoded_within if stores.spill else functools.lru_cache(maxsize=_DECODED_KEPT)(self._decode)
        )

    def __len__(self) -> int:
        return len(self._payloads)

    def add(self, value: Any) -> ContentId:
        """Store ``value`` unless it is known; the id stays valid for the store's life."""
        raw = self._encoder.encode(value)
        digest = hashlib.blake2b(raw, digest_size=16).digest()
        known = self._ids.get(digest)
        if known is not None:
            return known
        new = ContentId(len(self._payloads))
        self._ids[digest] = new
        self._payloads.append(b"" if new < self._payloads.found else self._packed(raw))
        return new

    def _packed(self, raw: bytes) -> bytes:
        return self._compressor.compress(raw) if len(raw) >= _COMPRESS_FROM_BYTES else raw

    def _raw(self, content: ContentId) -> bytes:
        packed = self._payloads[content]
        return self._decompressor.decompress(packed) if packed[:4] == zstandard.FRAME_HEADER else packed

    def _decode(self, content: ContentId) -> Any:
        return msgspec.json.decode(self._raw(content))

    def _decoded_within(self, content: ContentId) -> Any:
        kept = self._decoded.get(content)
        if kept is not None:
            self._decoded.move_to_end(content)
            return kept[0]
        raw = self._raw(content)
        value = msgspec.json.decode(raw)
        self._decoded[content] = value, len(raw)
        self._decoded_bytes += len(raw)
        while self._decoded_bytes > _DECODED_BYTES and len(self._decoded) > 1:
            self._decoded_bytes -= self._decoded.popitem(last=False)[1][1]
        return value
