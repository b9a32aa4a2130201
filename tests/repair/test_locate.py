from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from keepwarm._errors import InputError
from keepwarm.repair import sources
from keepwarm.repair.clues import Clues, Sides
from keepwarm.repair.locate import Located, locate
from keepwarm.repair.source_words import SourceWords, words_of
from keepwarm.repair.sources import Reading, open_repository, read_sources
from tests.repair.checkouts import checkout, git

BEFORE = "You are the duty clerk of Brightwater Quarry.\nIt is now "
AFTER = " o'clock.\n\nAnswer every question about gravel in two sentences."
SIDES = Sides(tuple(words_of(BEFORE)), tuple(words_of(AFTER)))
CLUES = [Clues((SIDES,), (), None, "the text around the slot")]

LITERALS = """
TEXT = (
    "You are the duty clerk "
    f"of Brightwater Quarry.\\n"
    f"It is now {now} o'clock."
    "\\n\\nAnswer every question "
    "about gravel in two sentences."
)
"""
BROKEN = """
TEXT = ("You are the duty cl"
        "erk of Bright"
        "water Quarry.\\nIt is now " + now +
        " o'clock.\\n\\nAnswer every question about gra"
        "vel in two sentences.")
"""
DEDENTED = f"""
TEXT = textwrap.dedent('''
{textwrap.indent(BEFORE + "{now}" + AFTER, "        ")}
    ''').format(now=now)
"""
SCRIPT = """
const text =
  'You are the duty clerk of ' +
  'Brightwater Quarry.\\nIt is now ' + now() +
  ' o\\'clock.\\n\\nAnswer every question about gravel in two sentences.';
"""

# Each file builds the same prompt; the slot is built on the line that is given.
SOURCES = {
    "one f-string": ("a.py", f"def f(now):\n    return f{BEFORE + '{now}' + AFTER!r}\n", 2),
    "literals one below the other": ("b.py", LITERALS, 5),
    "broken inside words": ("c.py", BROKEN, 4),
    "dedented": ("d.py", DEDENTED, 4),
    "percent format": ("e.py", f"TEXT = {BEFORE + '%s' + AFTER!r} % now\n", 1),
    "json": ("f.json", json.dumps({"name": "clerk", "prompt": BEFORE + "{{now}}" + AFTER}, indent=2), 3),
    "yaml": (
        "g.yaml",
        "prompts:\n  clerk: |\n" + textwrap.indent(BEFORE + "{now}" + AFTER, "    ") + "\n",
        4,
    ),
    "markdown": ("h.md", f"# Clerk\n\n{BEFORE}{{{{ now }}}}{AFTER}\n", 4),
    "jinja": ("i.j2", f"{{% if x %}}\n{BEFORE}{{{{ now|time }}}}{AFTER}\n{{% endif %}}\n", 3),
    "javascript": ("j.ts", SCRIPT, 4),
    "escaped letters": ("k.json", json.dumps(BEFORE + "{now}" + AFTER).replace("g", "\\u0067"), 1),
}


REGISTRY = """
from one import LOOK_UP
from two import REFUND, SEND

CATALOGUE = {
    tool.name: tool
    for tool in (LOOK_UP, SEND, REFUND)
}


def schemas(enabled):
    return [CATALOGUE[name].schema() for name in enabled]
"""


def found(root: Path, clues: list[Clues] = CLUES) -> Located:
    return locate(open_repository(root), clues)


@pytest.mark.parametrize("kind", SOURCES)
def test_however_the_text_is_written(kind: str, tmp_path: Path) -> None:
    name, content, line = SOURCES[kind]
    root = checkout(tmp_path / "app", {"src/" + name: content, "src/other.py": "print('gravel')\n"})
    first, *_ = found(root).locations
    assert first.file == "src/" + name
    assert first.first_line <= line <= first.last_line
    assert first.confidence >= 0.8
    assert "both sides" in first.why


def test_interpolation_inside_the_stable_text(tmp_path: Path) -> None:
    source = LITERALS.replace("Brightwater Quarry", "{COMPANY}").replace('"You', 'f"You')
    first, *_ = found(checkout(tmp_path / "app", {"a.py": source})).locations
    assert (first.file, first.first_line, first.last_line) == ("a.py", 3, 7)


def test_what_is_not_there_is_not_invented(tmp_path: Path) -> None:
    root = checkout(
        tmp_path / "app", {"a.py": "print('You are the best, it is now or never')\n", "b.md": "gravel\n"}
    )
    assert found(root).locations == ()


def test_the_same_text_twice_is_less_sure_and_tests_are_less_likely(tmp_path: Path) -> None:
    _, content, _ = SOURCES["one f-string"]
    alone = found(checkout(tmp_path / "one", {"a.py": content})).locations[0].confidence
    both = found(checkout(tmp_path / "two", {"a.py": content, "tests/test_a.py": content})).locations
    assert both[0].file == "a.py"
    twins = found(checkout(tmp_path / "twins", {"a.py": content, "b.py": content})).locations
    assert [place.file for place in twins] == ["a.py", "b.py"]
    assert twins[0].confidence == twins[1].confidence < alone


def test_only_tracked_text_within_limits_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, content, _ = SOURCES["one f-string"]
    files = {
        "a.py": "x = 1\n",
        "large.py": content + "#" * 5000,
        "picture.png": b"\x89PNG\0\0" + content.encode(),
    }
    root = checkout(tmp_path / "app", files)
    (root / "untracked.py").write_text(content)
    (root / "link.py").symlink_to("/etc/hostname")
    git(root, "add", "link.py")
    monkeypatch.setattr(sources, "MOST_FILE_BYTES", 4000)
    located = found(root)
    assert located.locations == ()
    reading = located.reading
    assert (reading.read, reading.large, reading.binary, reading.unreadable) == (1, 1, 1, 1)
    assert "1 tracked text file searched; not read: 1 binary" in reading.said()


def test_reading_stops_at_the_limit_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path / "app", {f"{n}.py": "x = 1\n" * 10 for n in range(5)})
    monkeypatch.setattr(sources, "MOST_BYTES", 130)
    reading = Reading()
    assert len(list(read_sources(open_repository(root), reading))) == 2
    assert reading.beyond == 3


def test_a_folder_inside_a_repository(tmp_path: Path) -> None:
    name, content, _ = SOURCES["markdown"]
    root = checkout(tmp_path / "app", {f"inner/{name}": content, "outer.md": content})
    assert [place.file for place in found(root / "inner").locations] == [name]


def test_tools_are_found_where_they_are_gathered_and_iterated(tmp_path: Path) -> None:
    files = {
        "one.py": 'LOOK_UP = Tool(\n    name="look_up",\n)\n',
        "two.py": 'SEND = Tool(\n    name="send_letter",\n)\nREFUND = Tool(\n    name="issue_refund",\n)\n',
        "registry.py": REGISTRY,
        "other.py": "for name in EVERYTHING_ELSE:\n    print(name)\n",
    }
    clues = Clues((), ("look_up", "send_letter", "issue_refund"), None, "tools")
    places = found(checkout(tmp_path / "app", files), [clues]).locations
    assert places[0].file == "registry.py"
    assert ("registry.py", 12) in {
        (place.file, place.first_line) for place in places if "iterated" in place.why
    }
    assert "other.py" not in {place.file for place in places}


@pytest.mark.parametrize("kind", ["missing", "no repository"])
def test_bad_checkouts(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "nowhere"
    if kind == "no repository":
        root.mkdir()
    with pytest.raises(InputError, match="--repo"):
        open_repository(root)


def test_a_repository_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert open_repository(tmp_path).commit is None


def test_words_have_the_lines_of_the_source() -> None:
    words = SourceWords('a = ("one two "\n     f"thr"\n     "ee\\nfour")\n')
    assert words.words == ["a", "one", "two", "three", "four"]
    assert [words.line(n) for n in range(5)] == [1, 1, 1, 2, 3]
