"""Which version of vLLM a source tree says it is.

vLLM's version is made by setuptools_scm from the git tag, so a plain checkout carries it only in git. The
tags at git's HEAD decide, if there are any, for a generated file may be left over from an earlier build; else
PKG-INFO of a source distribution, ``vllm/_version.py`` of a build and METADATA of a wheel must agree.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.vllm.fingerprints import VERSION

_RELEASE_TAG = re.compile(r"v(\d+\.\d+\.\d+)$")
_DISTRIBUTIONS = ("vllm-*.dist-info/METADATA", "vllm_*.dist-info/METADATA")


class Saying(NamedTuple):
    """A version and what says so."""

    version: str
    where: str


def check_version(root: Path, assumed: str | None, recorded: str | None = None) -> Saying:
    """The version of the tree, which is the supported one. Raises InputError for any other, or none.

    ``assumed`` counts where the tree says nothing, never against what it says. A local part (``+cpu``) names
    a build of the same source. Where an installation is ``recorded``, only git is asked again: a build of a
    patched tree gives itself another version.
    """
    if assumed is not None and assumed != VERSION:
        raise InputError(f"cannot assume vLLM {assumed!r}; this keepwarm knows {VERSION} alone")
    sayings = [*_git_tags(root)]
    if not sayings and recorded is not None:
        return Saying(recorded, "the manifest")
    if not sayings:
        sayings = [*_package_info(root), *_version_file(root), *_wheel(root)]
    for saying in sayings:
        if saying.version.partition("+")[0] != VERSION:
            raise InputError(
                f"{saying.where} says vLLM {saying.version!r}, not {VERSION}; check out v{VERSION}"
            )
    if sayings:
        return sayings[0]
    if assumed is not None:
        return Saying(assumed, "--assume-version")
    raise InputError(
        f"nothing in {str(root)!r} says its version; fetch the tag (git fetch origin tag v{VERSION}), "
        f"or if you know it, add --assume-version {VERSION}: every anchor is checked all the same"
    )


def _git_tags(root: Path) -> Iterator[Saying]:
    """The supported release if HEAD is tagged so, else any other release tag of HEAD."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():  # without it git would look in the folders above
        return
    command = [git, "-C", str(root), "tag", "--points-at", "HEAD"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    releases = [match[1] for tag in answer.stdout.split() if (match := _RELEASE_TAG.match(tag))]
    if releases:
        yield Saying(VERSION if VERSION in releases else releases[0], "the git tag at HEAD")


def _package_info(root: Path) -> Iterator[Saying]:
    return _metadata(root, root / "PKG-INFO")


def _wheel(root: Path) -> Iterator[Saying]:
    for pattern in _DISTRIBUTIONS:
        for path in sorted(root.glob(pattern)):
            yield from _metadata(root, path)


def _metadata(root: Path, path: Path) -> Iterator[Saying]:
    if path.is_file():
        version = HeaderParser().parsestr(path.read_text("utf-8", "replace"))["Version"]
        if version:
            yield Saying(str(version), path.relative_to(root).as_posix())


def _version_file(root: Path) -> Iterator[Saying]:
    """``__version__ = version = '…'`` is read, not run."""
    path = root / "vllm" / "_version.py"
    if not path.is_file():
        return
    try:
        statements = ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError):
        return
    for statement in statements:
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Constant)
            and any(isinstance(name, ast.Name) and name.id == "__version__" for name in statement.targets)
        ):
            yield Saying(str(statement.value.value), "vllm/_version.py")
