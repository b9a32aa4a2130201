"""``keepwarm`` has one public face: ``__all__`` is what can be imported, and importing it is cheap."""

from __future__ import annotations

import inspect
import subprocess
import sys

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
