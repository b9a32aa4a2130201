"""Install the policy into a vLLM source tree, take it out again, say what is there."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from keepwarm import __version__
from keepwarm._errors import InputError
from keepwarm.vllm.source import anchors, manifest
from keepwarm.vllm.source.manifest import FileState, Installed, Manifest, digest, read_manifest
from keepwarm.vllm.source.policy_module import (
    MODULE_PATH,
    SUITE_PATHS,
    policy_module,
    safety_suite,
    suite_path,
)
from keepwarm.vllm.source.tree import (
    Source,
    as_source,
    locked,
    open_tree,
    read_source,
    refuse_links,
    refuse_read_only,
)
from keepwarm.vllm.source.version import check_version
from keepwarm.vllm.source.writing import NEW_FILE_MODE, Write, clean_up, write_all

State = Literal["not-installed", "installed", "incomplete", "drifted"]


class Installation(NamedTuple):
    """What ``install`` did, or with ``check`` would do; nothing is ``changed`` if all is there already."""

    vllm: str
    edited: tuple[str, ...]
    added: tuple[str, ...]
    changed: bool


class Status(NamedTuple):
    """What is in a tree. Only ``state`` says something if nothing is installed."""

    state: State
    vllm: str | None = None
    keepwarm: str | None = None  # the version that installed it
    module_sha256: str | None = None
    matches_this_keepwarm: bool | None = None
    files: tuple[tuple[str, FileState], ...] = ()


def install(source_dir: str, *, check: bool = False, assume_version: str | None = None) -> Installation:
    """Put the policy into the tree; with ``check`` find out whether it can be, and write nothing.

    Over an installation of another keepwarm it starts from the originals. Raises InputError, after which the
    tree is as it was: another version, an anchor that does not match, an edited file, no right to write.
    """
    root = open_tree(source_dir)
    with locked(root):
        recorded = read_manifest(root)
        if recorded is not None:
            _refuse_edited(root, recorded)
        version = check_version(root, assume_version, recorded.vllm if recorded is not None else None).version
        sources = _originals(root, recorded)
        anchors.check_anchors(sources)
        wanted = [*_added(root), *_edited(sources)]
        _refuse_strangers(root, wanted, recorded)
        writes = _writes(root, wanted, recorded, version)
        for write in writes:
            refuse_read_only(root, write.target.relative_to(root).as_posix())
        if not check:
            _clean_up(root)
            write_all(writes)
        edited = tuple(file.path for file in wanted if file.original is not None)
        added = tuple(file.path for file in wanted if file.original is None)
        return Installation(version, edited, added, changed=bool(writes))


def uninstall(source_dir: str) -> tuple[str, ...]:
    """Put every file back, byte for byte, and return their paths; none if nothing is installed.

    Raises InputError, after which the tree is as it was: a file was edited since, or cannot be written.
    """
    root = open_tree(source_dir)
    with locked(root):
        _clean_up(root)
        recorded = read_manifest(root)
        if recorded is None:
            return ()
        _refuse_edited(root, recorded)
        writes = []
        for file in reversed(recorded.files):
            refuse_links(root, file.path)
            refuse_read_only(root, file.path)
            writes.append(_put(root, file.path, file.original))
        write_all([*writes, Write(root / manifest.PATH, None)])
        return tuple(file.path for file in recorded.files)


def status(source_dir: str) -> Status:
    """Writes nothing. Raises InputError: no vLLM there, or a manifest that cannot be read."""
    root = open_tree(source_dir)
    recorded = read_manifest(root)
    if recorded is None:
        return Status("drifted" if (root / MODULE_PATH).exists() else "not-installed")
    states = {file.path: file.state(root) for file in recorded.files}
    digests = {file.path: file.sha256 for file in recorded.files}
    ours = {file.path: digest(file.content) for file in _added(root)}
    return Status(
        _state(set(states.values())),
        recorded.vllm,
        recorded.keepwarm,
        digests.get(MODULE_PATH),
        all(digests.get(path) == sha256 for path, sha256 in ours.items()),
        tuple(states.items()),
    )


def _clean_up(root: Path) -> None:
    """After a process that was killed; nobody else is at work here."""
    edited = (edit.path for edit in anchors.EDITS)
    clean_up(root / path for path in (manifest.PATH, MODULE_PATH, *SUITE_PATHS, *edited))


def _state(files: set[FileState]) -> State:
    if files == {"installed"}:
        return "installed"
    return "incomplete" if files <= {"installed", "original", "earlier"} else "drifted"


class _Wanted(NamedTuple):
    """A file as it is to be, and as it was without us."""

    path: str
    content: bytes
    original: bytes | None
    mode: int


def _added(root: Path) -> list[_Wanted]:
    texts = {MODULE_PATH: policy_module(), suite_path(root): safety_suite()}
    return [_Wanted(path, text.encode(), None, NEW_FILE_MODE) for path, text in texts.items()]


def _edited(sources: Mapping[str, Source]) -> Iterator[_Wanted]:
    """The pool comes last: it imports what was added."""
    for path in reversed(dict.fromkeys(edit.path for edit in anchors.EDITS)):
        source = sources[path]
        text = source.text
        for edit in anchors.EDITS:
            if edit.path == path:
                text = edit.apply(text)
        yield _Wanted(path, source.encode(text), source.content, source.mode)


def _originals(root: Path, recorded: Manifest | None) -> dict[str, Source]:
    """Every file with an anchor as vLLM made it."""
    kept = {file.path: file.original for file in recorded.files} if recorded is not None else {}
    sources = {path: read_source(root, path) for path in anchors.paths()}
    for path, source in sources.items():
        original = kept.get(path)
        if original is not None:
            sources[path] = as_source(path, original, source.mode)
    return sources


def _writes(root: Path, wanted: list[_Wanted], recorded: Manifest | None, vllm: str) -> list[Write]:
    """What differs from the tree: what goes, the manifest, what is new, what is edited, in this order."""
    before = {file.path: file for file in recorded.files} if recorded is not None else {}
    files = tuple(_installed(file, before.pop(file.path, None)) for file in wanted)
    writes = [
        *(_put(root, file.path, file.original) for file in before.values()),
        Write(root / manifest.PATH, Manifest(__version__, vllm, files).encode()),
        *(Write(root / file.path, file.content, file.mode) for file in wanted),
    ]
    return [write for write in writes if _differs(write)]


def _installed(file: _Wanted, before: Installed | None) -> Installed:
    """The manifest's entry; it knows what earlier installations left there."""
    sha256 = digest(file.content)
    left = () if before is None else (*before.earlier, before.sha256)
    return Installed(
        file.path, sha256, file.original, tuple(dict.fromkeys(one for one in left if one != sha256))
    )


def _put(root: Path, path: str, content: bytes | None) -> Write:
    """A file that keeps its mode."""
    target = root / path
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else NEW_FILE_MODE
    return Write(target, content, mode)


def _differs(write: Write) -> bool:
    if not write.target.exists():
        return write.content is not None
    return write.target.read_bytes() != write.content


def _refuse_edited(root: Path, recorded: Manifest) -> None:
    edited = [file.path for file in recorded.files if file.state(root) == "edited"]
    if edited:
        raise InputError(
            f"edited since the policy was installed: {', '.join(edited)}; undo those edits, "
            "`keepwarm vllm uninstall`, then make them again"
        )


def _refuse_strangers(root: Path, wanted: list[_Wanted], recorded: Manifest | None) -> None:
    """A file that is to be added must not be somebody else's."""
    ours = {file.path for file in recorded.files} if recorded is not None else set()
    for file in wanted:
        refuse_links(root, file.path)
        if file.original is None and file.path not in ours and (root / file.path).exists():
            raise InputError(
                f"{file.path} is there already, and {manifest.PATH} does not list it; move it out of the way"
            )
