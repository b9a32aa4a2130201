"""``keepwarm`` has one public face: ``__all__`` is what can be imported, and importing it is cheap."""

from __future__ import annotations

import inspect
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import keepwarm
from keepwarm import _errors

# What the start of the command line must not load; each costs tens of milliseconds or more.
HEAVY = {"httpx2", "jinja2", "numpy", "pyarrow", "rapidfuzz", "tokenizers", "transformers", "zstandard"}


def loaded_after(statement: str) -> set[str]:
    """Top-level modules in ``sys.modules`` of a new interpreter that ran ``statement``."""
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(out.stdout.split("\n")[-2].split())


def test_every_public_name_can_be_imported() -> None:
    values = {name: getattr(keepwarm, name) for name in keepwarm.__all__}
    assert callable(values["diagnose_trace"])
    assert inspect.isclass(values["Options"])
    assert inspect.isclass(values["Resources"])
    assert inspect.isclass(values["Diagnosis"])


def test_all_is_sorted_and_is_what_dir_shows() -> None:
    assert list(keepwarm.__all__) == sorted(keepwarm.__all__)
    assert dir(keepwarm) == sorted(keepwarm.__all__)


def test_every_error_of_ours_is_public() -> None:
    errors = {name for name, value in vars(_errors).items() if inspect.isclass(value)}
    assert errors == {name for name in keepwarm.__all__ if name in vars(_errors)}
    for name in errors:
        assert issubclass(getattr(keepwarm, name), keepwarm.KeepwarmError)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'no_such_name'"):
        keepwarm.no_such_name  # noqa: B018 - the access itself is under test


WRONG_NUMBERS = [
    (keepwarm.Options, {"block_size": 0}),
    (keepwarm.Options, {"block_size": -16}),
    (keepwarm.Options, {"block_size": 2**20 + 1}),
    (keepwarm.Options, {"block_size": True}),
    (keepwarm.Options, {"block_size": "16"}),
    (keepwarm.Options, {"capacity_blocks": 0}),
    (keepwarm.Options, {"ttl_s": 0.0}),
    (keepwarm.Options, {"ttl_s": -1}),
    (keepwarm.Options, {"ttl_s": math.nan}),
    (keepwarm.Options, {"ttl_s": math.inf}),
    (keepwarm.Options, {"ttl_s": "300"}),
    (keepwarm.SimulateOptions, {"block_size": 0}),
    (keepwarm.SimulateOptions, {"match_unit_tokens": 0}),
    (keepwarm.SimulateOptions, {"threads": 0}),
    (keepwarm.SimulateOptions, {"threads": -1}),
    (keepwarm.SimulateOptions, {"threads": 1.5}),
]


@pytest.mark.parametrize(("kind", "given"), WRONG_NUMBERS, ids=str)
def test_a_number_that_is_none_of_its_kind_is_one_line(kind: Any, given: dict[str, Any]) -> None:
    ((name, value),) = given.items()
    with pytest.raises(keepwarm.InputError, match=rf"^{name} {re.escape(repr(value))} is not a [^\n]+; "):
        kind(**given)


def test_the_least_numbers_are_taken() -> None:
    assert keepwarm.Options(block_size=1, capacity_blocks=1, ttl_s=1).ttl_s == 1
    assert keepwarm.SimulateOptions(block_size=2**20, match_unit_tokens=1, threads=1).threads == 1


def test_a_trace_may_be_named_by_a_path(tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    body = {"model": "m", "messages": [{"role": "user", "content": "one word after another"}]}
    trace.write_text(json.dumps({"timestamp": 1.0, "body": body}) + "\n")

    class Named:
        def __fspath__(self) -> str:
            return str(trace)

    options = keepwarm.SimulateOptions(store=False)
    for path in (trace, Named()):
        assert keepwarm.diagnose_trace(path) == keepwarm.diagnose_trace(str(trace))
        assert keepwarm.simulate_cache(path, options) == keepwarm.simulate_cache(str(trace), options)


def test_importing_keepwarm_loads_nothing_but_itself() -> None:
    ours = {name for name in loaded_after("import keepwarm") if name.split(".")[0] == "keepwarm"}
    assert ours == {"keepwarm"}


def test_the_command_line_starts_without_heavy_imports() -> None:
    assert not HEAVY & loaded_after("import keepwarm.cli")


def test_help_of_the_command_line_needs_no_heavy_imports() -> None:
    statement = (
        "import sys, contextlib, io\n"
        "sys.argv = ['keepwarm', '--help']\n"
        "from keepwarm.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    main()"
    )
    assert not HEAVY & loaded_after(statement)
