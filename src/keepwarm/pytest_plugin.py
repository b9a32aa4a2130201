"""pytest plugin: a test fails when the requests it records move the cached prefix.

Loaded by pytest through the entry point ``keepwarm``; it imports nothing of keepwarm before a test asks for
the fixture ``keepwarm_requests``. Each test has a snapshot of its own, so that workers of pytest-xdist never
write the same file.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from keepwarm.diagnose.options import Options
    from keepwarm.gate.prefixes import RecordedRequests

_FIXTURE = "keepwarm_requests"
_FOLDER = "__keepwarm__"
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.\-]+", re.ASCII)
_NAME_CHARS = 100
_OPTIONS = ("tokenizer", "chat_template", "block_size")


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--keepwarm-update``."""
    group = parser.getgroup("keepwarm", "prefixes of recorded requests")
    group.addoption(
        "--keepwarm-update",
        action="store_true",
        help="write the snapshots of prefixes instead of comparing with them",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker ``keepwarm``."""
    config.addinivalue_line(
        "markers",
        "keepwarm(tokenizer=None, chat_template=None, block_size=None): how the requests of a test that asks "
        f"for {_FIXTURE} become tokens; paths are relative to the root directory",
    )


@pytest.fixture
def keepwarm_requests() -> RecordedRequests:
    """Collects a test's requests; if it passes otherwise, their prefixes must be those of its snapshot."""
    from keepwarm.gate.prefixes import RecordedRequests

    return RecordedRequests()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """Compare after a test that passed, as a part of it: what moved is a failure, not an error."""
    yield
    requests = getattr(item, "funcargs", {}).get(_FIXTURE)
    if requests is not None:
        _compare(item, requests)


def _compare(item: pytest.Item, requests: RecordedRequests) -> None:
    from keepwarm._errors import InputError
    from keepwarm.gate.prefixes import check_requests, update_snapshot

    path = snapshot_path(item)
    try:
        options = _options(item)
        if item.config.getoption("keepwarm_update"):
            update_snapshot(requests, path, options)
            return
        told = check_requests(requests, path, options, _shown(path, item.config.rootpath))
    except InputError as error:
        told = str(error)
    if told is not None:
        pytest.fail(f"keepwarm: {told}", pytrace=False)


def snapshot_path(item: pytest.Item) -> Path:
    """``__keepwarm__/test_module/test_name.json`` beside the test's file; odd characters become a digest."""
    own = item.nodeid.partition("::")[2] or item.name
    plain = _NOT_IN_FILE_NAMES.sub("-", own.replace("::", "."))[:_NAME_CHARS]
    if plain != own.replace("::", "."):
        plain = f"{plain}-{hashlib.sha256(own.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    return item.path.parent / _FOLDER / item.path.stem / f"{plain}.json"


def _options(item: pytest.Item) -> Options:
    """The options of the nearest marker. Raises InputError."""
    from keepwarm._errors import InputError
    from keepwarm.diagnose.options import Options

    marker = item.get_closest_marker("keepwarm")
    given = {} if marker is None else dict(marker.kwargs)
    unknown = sorted(given.keys() - set(_OPTIONS))
    if marker is not None and (marker.args or unknown):
        raise InputError(
            f"the marker keepwarm takes {', '.join(_OPTIONS)} by name, not {marker.args or unknown}; "
            "see docs/how-to/gate.md"
        )
    root = item.config.rootpath
    return Options(
        tokenizer=_existing(root, given.get("tokenizer")),
        chat_template=_existing(root, given.get("chat_template")),
        block_size=given.get("block_size"),
    )


def _existing(root: Path, name: str | None) -> str | None:
    """A path relative to the root directory if there is such a file or folder, else the name as it is."""
    return str(root / name) if name is not None and (root / name).exists() else name


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
