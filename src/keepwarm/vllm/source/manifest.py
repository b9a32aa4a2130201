"""What was installed into a tree, and what stood there before, in one JSON file inside the tree.

It holds the originals themselves: undoing an installation needs neither git nor the keepwarm that made it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal, NamedTuple

from keepwarm._errors import InputError

PATH = "vllm/v1/core/computecache.manifest.json"
SCHEMA = "keepwarm.vllm-source/1"


FileState = Literal["installed", "original", "earlier", "edited", "missing"]


class Installed(NamedTuple):
    """One file of an installation."""

    path: str  # from the root of the tree, with slashes
    sha256: str  # of the content installed
    original: bytes | None  # None: the file is new
    earlier: tuple[str, ...] = ()  # sha256 of what other keepwarms installed there: an update may be killed

    def state(self, root: Path) -> FileState:
        """What stands in the tree now; a new file that is gone counts as original."""
        target = root / self.path
        if not target.exists():
            return "original" if self.original is None else "missing"
        content = target.read_bytes()
        sha256 = digest(content)
        if sha256 == self.sha256:
            return "installed"
        if content == self.original:
            return "original"
        return "earlier" if sha256 in self.earlier else "edited"


class Manifest(NamedTuple):
    """One installation."""

    keepwarm: str  # the version that made it
    vllm: str
    files: tuple[Installed, ...]

    def encode(self) -> bytes:
        """As JSON, the same bytes for the same installation."""
        document = {
            "schema": SCHEMA,
            "keepwarm": self.keepwarm,
            "vllm": self.vllm,
            "files": [_entry(file) for file in self.files],
        }
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def digest(content: bytes) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_manifest(root: Path) -> Manifest | None:
    """The manifest of the tree, ``None`` if there is none. Raises InputError if it cannot be trusted."""
    path = root / PATH
    if not path.exists():
        return None
    try:
        document = json.loads(path.read_bytes())
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']!r}")
        files = tuple(_file(entry) for entry in document["files"])
        return Manifest(str(document["keepwarm"]), str(document["vllm"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{PATH} is damaged ({error}); restore the tree from the tag, then remove that file"
        ) from error


def _entry(file: Installed) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": file.path, "sha256": file.sha256, "earlier_sha256": list(file.earlier)}
    if file.original is not None:
        entry |= {"original_sha256": digest(file.original), "original": file.original.decode()}
    return entry


def _file(entry: dict[str, Any]) -> Installed:
    """Raises ValueError: an original is not what was recorded, or a path leads out of the tree."""
    path, sha256, original = str(entry["path"]), str(entry["sha256"]), entry.get("original")
    earlier = tuple(map(str, entry["earlier_sha256"]))
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise ValueError(f"path {path!r}")
    if original is None:
        return Installed(path, sha256, None, earlier)
    content = original.encode()
    if digest(content) != entry["original_sha256"]:
        raise ValueError(f"the original of {path} has another digest")
    return Installed(path, sha256, content, earlier)
