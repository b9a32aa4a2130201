"""Pictures, sound and video in a prompt: a stand-in text whose identity is the content's.

A server replaces a medium by as many tokens as its encoder gives and mixes a hash of the content
into the blocks. Here a medium is printed as ``MEDIA_REPEATS`` copies of ``<|media:HASH|>``: other
bytes give another text, the same bytes the same text, and the length is of the right order (a few
hundred tokens, whatever the picture's size).
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

MEDIA_REPEATS = 16


class Medium(NamedTuple):
    """A stand-in: its modality as templates name it, the text and the path of the content."""

    modality: str
    text: str
    path: str


_MODALITIES = ("image", "audio", "video", "file")
_CONTENT_KEYS = (
    *("image_url", "audio_url", "video_url", "input_audio"),
    *("file", "image", "audio", "video", "source"),
)


def placeholder(part: Any, path: str) -> Medium:
    """The stand-in for any content part that is not text. Never raises on odd input."""
    kind = str(part.get("type", "")) if isinstance(part, dict) else ""
    identity, where = _identity(part, path)
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    modality = next((name for name in _MODALITIES if name in kind), "image")
    return Medium(modality, f"<|media:{digest}|>" * MEDIA_REPEATS, where)


def _identity(part: Any, path: str) -> tuple[str, str]:
    """The text that tells this medium from others, and its path."""
    if isinstance(part, dict):
        for key in _CONTENT_KEYS:
            value = part.get(key)
            if isinstance(value, str):
                return value, f"{path}.{key}"
            if isinstance(value, dict):
                for inner in ("url", "data", "file_data", "file_id"):
                    if isinstance(value.get(inner), str):
                        return value[inner], f"{path}.{key}.{inner}"
    return json.dumps(part, default=str), path
