from __future__ import annotations

import compileall
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keepwarm._errors import IntegrityError
from keepwarm.vllm.source.bundle import bundle, modules_of
from keepwarm.vllm.source.policy_module import policy_module, safety_suite

FUTURE = "from __future__ import annotations\n"
LEAF = f'''"""Where it starts."""

{FUTURE}
import math
from collections.abc import Iterator
from typing import NamedTuple

LIMIT = 4  # at most


class Pair(NamedTuple):
    """Two of them."""

    first: int
    second: int


# Half a turn.
TURN = math.pi
'''
MIDDLE = f'''"""What comes between."""

{FUTURE}
from typing import NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from keepwarm.leaf import Pair

from keepwarm.leaf import LIMIT


def late():
    """Imports when it runs."""
    from keepwarm.leaf import (
        Pair,
        TURN,
    )

    return Pair(LIMIT, round(TURN))
'''
ROOT = f'''"""What is called."""

{FUTURE}
from keepwarm.leaf import Pair
from keepwarm.middle import late

SUM = sum(late())
'''
SOURCES = {"keepwarm.leaf": LEAF, "keepwarm.middle": MIDDLE, "keepwarm.root": ROOT}


def test_modules_come_after_what_they_import() -> None:
    assert modules_of(SOURCES, "keepwarm.root") == ("keepwarm.leaf", "keepwarm.middle", "keepwarm.root")


def test_a_bundle_does_what_its_modules_do() -> None:
    namespace: dict[str, object] = {"__name__": "bundled"}
    exec(compile(bundle(SOURCES, "keepwarm.root"), "bundled", "exec"), namespace)
    assert namespace["SUM"] == 4 + 3
    assert namespace["LIMIT"] == 4


def test_text_and_comments_stay_as_they_are() -> None:
    text = bundle(SOURCES, "keepwarm.root")
    assert text.startswith("from __future__ import annotations\n\nimport math\nfrom collections.abc import")
    assert "LIMIT = 4  # at most\n" in text
    assert "# Half a turn.\nTURN = math.pi\n" in text
    assert "# From keepwarm.middle:\n#\n# What comes between.\n" in text
    assert not re.search(r"^\s*(from|import) keepwarm", text, re.MULTILINE)


def with_root(*lines: str) -> dict[str, str]:
    return SOURCES | {"keepwarm.root": "\n".join(['"""Root."""', FUTURE, *lines, ""])}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ("from keepwarm.leaf import LIMIT", "TURN = 1"),
            "TURN means one thing in keepwarm.leaf and another",
        ),
        (("from keepwarm.leaf import LIMIT", "math = 1"), "math means one thing in math. and another"),
        (("from keepwarm.leaf import LIMIT", "from typing import Iterator"), "Iterator means one thing"),
        (("from keepwarm.leaf import LIMIT as MOST",), "line 4: import names of keepwarm one by one"),
        (("import keepwarm.leaf",), "line 4: import names of keepwarm one by one"),
        (("from keepwarm import leaf",), "keepwarm.root imports keepwarm, which no bundle may hold"),
        (("from keepwarm.elsewhere import x",), "keepwarm.root imports keepwarm.elsewhere, which no bundle"),
        (("import numpy",), "keepwarm.root, line 4: numpy is not of the standard library"),
        (("sum = 3",), "line 4: sum is a builtin"),
        (("from keepwarm.root import y",), "keepwarm.root → keepwarm.root import each other"),
    ],
)
def test_what_one_module_cannot_say_is_refused(lines: tuple[str, ...], message: str) -> None:
    with pytest.raises(IntegrityError, match=re.escape(message)):
        bundle(with_root(*lines), "keepwarm.root")


def test_what_several_modules_define_alike_stands_once() -> None:
    logger = "import logging\n\nlogger = logging.getLogger('x')"
    sources = with_root("from keepwarm.middle import late", logger)
    sources["keepwarm.middle"] = f'"""Middle."""\n{FUTURE}\n{logger}  # a comment\nlate = 1\n'
    assert bundle(sources, "keepwarm.root").count("getLogger") == 1


def test_names_inside_functions_and_comprehensions_do_not_clash() -> None:
    inner = "VALUES = [name for name in 'ab']\n\n\ndef f():\n    TURN = 1\n    return TURN"
    assert "VALUES" in bundle(with_root("from keepwarm.leaf import LIMIT", inner), "keepwarm.root")


def test_the_policy_module_compiles_and_is_always_the_same(tmp_path: Path) -> None:
    text = policy_module()
    assert text == policy_module()
    (tmp_path / "computecache.py").write_text(text)
    (tmp_path / "computecache_safety.py").write_text(safety_suite())
    assert compileall.compile_dir(tmp_path, quiet=1)
    assert re.search(r"^SHA-256 of their text: [0-9a-f]{64}$", text, re.MULTILINE)


def test_the_policy_module_loads_the_standard_library_alone(tmp_path: Path) -> None:
    (tmp_path / "computecache.py").write_text(policy_module())
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import computecache\n"
        "print(*{name.split('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names)\n"
        "computecache.hook_if_asked(None); computecache.expose_if_asked()"  # inert: nothing was asked for
    )
    command = [sys.executable, "-I", "-S", "-B", "-c", code, str(tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "computecache\n", "")
