"""Copy what ``keepwarm vllm install`` wrote into a checkout over the vLLM installed here: all files or none.

    python copy_source.py CHECKOUT [SITE_PACKAGES]

Run while an image is built, by its Python: standard library only. The installer's manifest says what it wrote
and what stood there before; a checkout changed since, or an installed vLLM that differs, is refused.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

MANIFEST = "vllm/v1/core/computecache.manifest.json"


class Refusal(Exception):
    """Why nothing was copied."""


class Copy(NamedTuple):
    """One file to write, below ``site-packages``."""

    path: str
    content: bytes


def main(arguments: Sequence[str]) -> int:
    """Exit 2 with one line on a refusal."""
    try:
        checkout = Path(arguments[0])
        packages = Path(arguments[1]) if len(arguments) > 1 else _site_packages()
        copies = plan(checkout, packages)
        for copy in copies:
            (packages / copy.path).write_bytes(copy.content)
    except (Refusal, OSError) as refusal:
        sys.stderr.write(f"copy_source: {refusal}\n")
        return 2
    sys.stdout.write(f"copied {len(copies)} files into {packages}\n")
    return 0


def plan(checkout: Path, packages: Path) -> list[Copy]:
    """What is to be written. Raises Refusal before anything is."""
    manifest = checkout / MANIFEST
    if not manifest.is_file():
        raise Refusal(f"{MANIFEST} is missing in the checkout; run `keepwarm vllm install` on it first")
    copies = [Copy(MANIFEST, manifest.read_bytes())]
    for entry in json.loads(copies[0].content)["files"]:
        path = str(entry["path"])
        if Path(path).is_absolute() or ".." in Path(path).parts:
            raise Refusal(f"the manifest names {path!r}, outside of the checkout")
        content = (checkout / path).read_bytes()
        if _digest(content) != entry["sha256"]:
            raise Refusal(f"{path} was changed after it had been installed; `keepwarm vllm status` says more")
        installed = packages / path
        if "original_sha256" in entry:
            if not installed.is_file() or _digest(installed.read_bytes()) != entry["original_sha256"]:
                raise Refusal(f"{path} of the installed vLLM is not the checkout's; take an image of v0.32.0")
        elif installed.exists():
            raise Refusal(f"{path} is in the installed vLLM already; take an image that nobody has changed")
        copies.append(Copy(path, content))
    return copies


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _site_packages() -> Path:
    """Where vLLM is installed; it is found, not imported."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or spec.origin is None:
        raise Refusal("no vLLM is installed here")
    return Path(spec.origin).parents[1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
