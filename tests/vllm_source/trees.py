"""Small source trees that look like vLLM's to the installer, and pictures of what is in a tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from keepwarm.vllm.fingerprints import BLOCK_POOL, KV_CACHE_UTILS

METRICS = "vllm/v1/metrics/prometheus.py"
VERSION_FILE = "vllm/_version.py"
FILES = {
    BLOCK_POOL: """\
from collections.abc import Callable

from vllm.v1.core.kv_cache_metrics import KVCacheMetricsCollector
from vllm.v1.core.kv_cache_utils import KVCacheBlock


class BlockPool:
    def __init__(self, size):
        self.size = size
        self._reuse_watchers: dict[int, Callable[[KVCacheBlock], None]] = {}

    def touch(self, blocks):
        # more than the queue — here
        for block in blocks:
            block.ref_cnt += 1
""",
    KV_CACHE_UTILS: """\
class KVCacheBlock:
    ref_cnt = 0

    def reset(self):
        self.ref_cnt = 0
""",
    METRICS: """\
from vllm.logger import init_logger

logger = init_logger(__name__)


def get_prometheus_registry():
    return None
""",
    "vllm/v1/core/__init__.py": "",
}
# Of the stand-ins above; the real ones are held to the real files in tests/vllm/test_source_installer.py.
NAMES = {BLOCK_POOL: ("BlockPool.__init__", "BlockPool.touch"), KV_CACHE_UTILS: ("KVCacheBlock",)}


class FileAsItIs(NamedTuple):
    """What an installation must not change without saying so."""

    content: bytes
    mode: int


def write_tree(root: Path, *, newline: str = "\n", version: str | None = "0.32.0") -> Path:
    """A tree whose ``_version.py`` says ``version``; none is written for ``None``."""
    files = dict(FILES)
    if version is not None:
        files[VERSION_FILE] = f"__version__ = version = {version!r}\n"
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.replace("\n", newline).encode())
    return root


def picture(root: Path) -> dict[str, FileAsItIs]:
    """Every file below ``root`` but git's own and compiled ones."""
    return {
        path.relative_to(root).as_posix(): FileAsItIs(path.read_bytes(), path.stat().st_mode)
        for path in sorted(root.rglob("*"))
        if path.is_file() and not {".git", "__pycache__"} & set(path.parts)
    }


def git(root: Path, *arguments: str) -> None:
    """Runs git in ``root``, with nobody's settings."""
    nobody = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    people = ["-c", "user.name=n", "-c", "user.email=n@example.com"]
    command = ["git", "-C", str(root), *people, *arguments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | nobody)


def commit(root: Path, *tags: str) -> None:
    """All that is there as one commit of a repository, with annotated tags."""
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "as it is")
    for tag in tags:
        git(root, "tag", "-a", tag, "-m", tag)
