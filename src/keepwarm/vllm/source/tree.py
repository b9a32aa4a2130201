"""A vLLM source tree on disk: a checkout, an unpacked distribution, or a site-packages folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.vllm.fingerprints import BLOCK_POOL, VERSION


class Source(NamedTuple):
    """One file of the tree as it is, and as text whose lines end as Python's do."""

    path: str  # from the root of the tree, with slashes
    content: bytes
    text: str
    newline: str  # what ends its lines on disk
    mode: int

    def encode(self, text: str) -> bytes:
        """``text`` with this file's line endings, as bytes."""
        return text.replace("\n", self.newline).encode()


def open_tree(source_dir: str) -> Path:
    """The root of the tree, links resolved. Raises InputError if it holds no vLLM."""
    root = Path(source_dir)
    if not root.is_dir():
        raise InputError(f"{source_dir!r} is no folder; give the root of a vLLM checkout")
    root = root.resolve()
    if (root / BLOCK_POOL).is_file():
        return root
    if (root.parent / BLOCK_POOL).is_file() and root.name == "vllm":
        raise InputError(f"{source_dir!r} is the package itself; give the folder above it")
    raise InputError(f"{source_dir!r} holds no {BLOCK_POOL}; give the root of a vLLM checkout")


@contextlib.contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the tree against other installers. Raises InputError if one is at work; ends with the process."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(f"another keepwarm is at work in {str(root)!r}; wait for it to end") from error
    else:
        yield
    finally:
        os.close(descriptor)


def read_source(root: Path, path: str) -> Source:
    """Raises InputError: missing, a link, not UTF-8, or of mixed line endings."""
    refuse_links(root, path)
    target = root / path
    if not target.is_file():
        raise InputError(f"{path} is missing in {str(root)!r}; restore it from the tag v{VERSION}")
    return as_source(path, target.read_bytes(), stat.S_IMODE(target.stat().st_mode))


def as_source(path: str, content: bytes, mode: int) -> Source:
    """``content`` as the file ``path`` of a tree. Raises InputError: not UTF-8, or of mixed line endings."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not UTF-8 ({error.reason}); restore it from the tag v{VERSION}"
        ) from error
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    if "\r" in plain or plain.replace("\n", newline) != text:
        raise InputError(f"{path} mixes line endings; restore it from the tag v{VERSION}")
    return Source(path, content, plain, newline, mode)


def refuse_links(root: Path, path: str) -> None:
    """Raises InputError if the file, or a folder between it and the root, is a symbolic link."""
    place = root
    for part in Path(path).parts:
        place /= part
        if place.is_symlink():
            where = place.relative_to(root)
            raise InputError(
                f"{where} is a symbolic link to {str(place.readlink())!r}; give the tree it is in"
            )


def refuse_read_only(root: Path, path: str) -> None:
    """Raises InputError if the file must not be written, or nothing can be created in its folder."""
    target = root / path
    if target.exists() and not target.stat().st_mode & 0o222:
        raise InputError(f"{path} is read-only; make it writable: chmod u+w {str(target)!r}")
    if not os.access(target.parent, os.W_OK | os.X_OK):
        raise InputError(
            f"the folder of {path} cannot be written by this user; run as who owns {str(root)!r}"
        )
