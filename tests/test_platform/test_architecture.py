"""What import-linter cannot say: policies import the standard library and each other, nothing else."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "keepwarm"
POLICIES = sorted((SOURCE / "policies").rglob("*.py"))


def imported(module: Path) -> set[str]:
    """Every module that ``module`` names in an import, at any depth of the code."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("policy", POLICIES, ids=[policy.name for policy in POLICIES])
def test_a_policy_is_standard_library_only(policy: Path) -> None:
    allowed = {
        name
        for name in imported(policy)
        if name.split(".")[0] in sys.stdlib_module_names or name.startswith("keepwarm.policies")
    }
    assert imported(policy) == allowed


def test_no_module_outgrows_what_one_reads_at_once() -> None:
    """About 250 lines is what we aim at (CONTRIBUTING.md); this is where it has to be split."""
    long = {
        str(module.relative_to(SOURCE)): lines
        for module in SOURCE.rglob("*.py")
        if (lines := len(module.read_text().splitlines())) > 400
    }
    assert long == {}
