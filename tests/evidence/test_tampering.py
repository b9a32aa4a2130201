"""Whatever is changed in a folder of evidence is found and named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm._errors import InputError
from keepwarm.evidence.folder import read_folder, write_folder
from keepwarm.evidence.manifest import NAME, chain_of, manifest_bytes, manifest_from, manifest_of
from keepwarm.evidence.verify import verify_folder

FILES = ["evidence.html", "manifest.json", "requests.parquet", "run.json"]


@pytest.fixture
def folder(kept: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept / "before", tmp_path / "before"))


def found(folder: Path) -> list[tuple[str, str]]:
    return [(each.name, each.what) for each in verify_folder(folder).mismatches]


def test_as_written(kept: Path) -> None:
    for name in ("before", "after", "comparison"):
        assert verify_folder(kept / name).mismatches == ()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_changed_byte_is_found_in_every_file(folder: Path, name: str, place: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[{"first": 0, "middle": len(content) // 2, "last": -1}[place]] ^= 1
    (folder / name).write_bytes(content)
    ((named, what),) = found(folder)
    assert named == name
    assert "changed" in what or "is no keepwarm.manifest/1" in what
    with pytest.raises(InputError, match=name):
        read_folder(folder)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_no_byte_of_a_manifest_can_change(kept: Path, data: st.DataObject) -> None:
    content = bytearray((kept / "before" / NAME).read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255).filter(lambda byte: byte != content[at]))
    with pytest.raises(ValueError, match=r"changed|is no|out of order|cannot lie"):
        manifest_from(bytes(content))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda content: content + b"\n", "bytes in place of"),
        (lambda content: content[:-1], "bytes in place of"),
        (lambda content: content[:10] + b"\0" + content[11:], "other content of the same size"),
        (lambda content: b"", "0 bytes in place of"),
    ],
)
def test_how_it_was_changed_is_said(folder: Path, change: Callable[[bytes], bytes], what: str) -> None:
    path = folder / "run.json"
    path.write_bytes(change(path.read_bytes()))
    ((name, said),) = found(folder)
    assert name == "run.json"
    assert what in said


def test_missing_added_and_linked_files_are_named(folder: Path) -> None:
    (folder / "run.json").unlink()
    (folder / "extra.txt").write_text("more")
    real = folder.parent / "elsewhere.html"
    (folder / "evidence.html").rename(real)
    (folder / "evidence.html").symlink_to(real)
    assert found(folder) == [
        ("evidence.html", "cannot be read: no plain file"),
        ("run.json", "is missing"),
        ("extra.txt", "is not in the manifest"),
    ]


def test_without_a_manifest_nothing_counts(folder: Path) -> None:
    (folder / NAME).unlink()
    assert found(folder) == [(NAME, "is missing, so nothing here counts as evidence")]


def test_a_manifest_made_anew_is_told_by_the_digest_that_was_written_down(folder: Path) -> None:
    written_down = read_folder(folder).manifest.chain_sha256
    (folder / "run.json").write_text("{}")
    files = {name: (folder / name).read_bytes() for name in FILES if name != NAME}
    (folder / NAME).write_bytes(manifest_bytes(manifest_of(files)))
    assert found(folder) == []
    ((name, what),) = verify_folder(folder, written_down).mismatches
    assert (name, written_down in what) == (NAME, True)


@pytest.mark.parametrize("name", ["../run.json", "/etc/passwd", NAME, "A", ""])
def test_a_manifest_cannot_point_elsewhere(name: str) -> None:
    made = manifest_of({name: b"x"})
    with pytest.raises(ValueError, match="cannot lie beside it"):
        manifest_from(manifest_bytes(made))


names = st.text("abcdef.-", min_size=1, max_size=8)


@given(st.dictionaries(names, st.binary(max_size=20), min_size=1, max_size=5), st.data())
def test_the_chain_covers_every_entry(files: dict[str, bytes], data: st.DataObject) -> None:
    made = manifest_of(files)
    index = data.draw(st.integers(0, len(made.files) - 1))
    without = [*made.files[:index], *made.files[index + 1 :]]
    assert chain_of(without, None) != made.chain_sha256
    assert chain_of(made.files, "f" * 64) != made.chain_sha256
    renamed = [*without, made.files[index].__class__("zz", *list_of(made.files[index]))]
    assert chain_of(renamed, None) != made.chain_sha256


def list_of(entry: object) -> tuple[int, str]:
    return entry.size_bytes, entry.sha256  # type: ignore[attr-defined]


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises((InputError, OSError)):
        write_folder(tmp_path / "out", {"fine.txt": b"x", "no/such/folder.txt": b"x"})
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    write_folder(tmp_path / "out", {"fine.txt": b"x"})
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["fine.txt", NAME]
    with pytest.raises(InputError, match="holds files already"):
        write_folder(tmp_path / "out", {"fine.txt": b"y"})
    with pytest.raises(InputError, match="is a file"):
        write_folder(tmp_path / "out" / "fine.txt", {"a": b"y"})
