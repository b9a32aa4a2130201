"""The files that an installation adds: the policy in one module, and the suite that tests it in the tree."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from keepwarm import __version__
from keepwarm.vllm.source.bundle import bundle, modules_of

MODULE_PATH = "vllm/v1/core/computecache.py"
SUITE_PATHS = ("tests/v1/core/test_computecache_safety.py", "vllm/v1/core/computecache_safety.py")
_ROOT = "keepwarm.vllm.source.patched"
_SUITE = "keepwarm.vllm.source.test_computecache_safety"
# Left alone by vLLM's own checks: the text keeps the style of where it comes from.
_HEADER = "# SPDX-License-Identifier: Apache-2.0\n# ruff: noqa\n# mypy: ignore-errors\n"


@cache
def policy_module() -> str:
    """The text of ``vllm/v1/core/computecache.py``; the same for the same keepwarm."""
    sources = _sources()
    modules = modules_of(sources, _ROOT)
    digest = hashlib.sha256("".join(sources[name] for name in modules).encode()).hexdigest()
    origin = "\n".join(f"    {name}" for name in modules)
    return f"""{_HEADER}\"\"\"ComputeCache: which free block of the prefix cache is reused next.

Made by keepwarm {__version__} with `keepwarm vllm install`; change it there, not here. Standard library only.
It does nothing unless COMPUTECACHE_MODE is set in the environment. Made from these modules, in this order:

{origin}

SHA-256 of their text: {digest}
\"\"\"

{bundle(sources, _ROOT)}"""


@cache
def safety_suite() -> str:
    """The text of the suite; it finds the policy beside it or in the checkout, and needs no vLLM."""
    sources = _sources()
    about = ast.get_docstring(ast.parse(sources[_SUITE]))
    return f'{_HEADER}"""{about}\n"""\n\n{bundle(sources, _SUITE)}'


def suite_path(root: Path) -> str:
    """Among the tests of a checkout; beside the policy where there are none."""
    among_tests, beside_policy = SUITE_PATHS
    return among_tests if (root / among_tests).parent.is_dir() else beside_policy


def _sources() -> dict[str, str]:
    """Text of what a bundle may hold, by module."""
    return {
        f"{package}.{file.name.removesuffix('.py')}": file.read_text("utf-8")
        for package in ("keepwarm.policies", "keepwarm.vllm", "keepwarm.vllm.source")
        for file in files(package).iterdir()
        if _is_module(file)
    }


def _is_module(file: Traversable) -> bool:
    return file.is_file() and file.name.endswith(".py") and file.name != "__init__.py"
