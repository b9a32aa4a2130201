"""What the Dockerfile relies on: the plugin needs no other package; patched files are copied all or none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from keepwarm.vllm.source.manifest import PATH, Installed, Manifest, digest
from tests.deploy.compose import DEPLOY

EDITED, NEW = "vllm/v1/core/block_pool.py", "vllm/v1/core/computecache.py"
STOCK, PATCHED, POLICY = b"stock\n", b"stock\npatched\n", b"policy\n"


class Trees(NamedTuple):
    """A patched checkout, and a folder with the vLLM that is installed."""

    checkout: Path
    packages: Path

    def copy(self) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", DEPLOY / "copy_source.py", self.checkout, self.packages]
        return subprocess.run(command, capture_output=True, text=True)

    def content(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.packages)): path.read_bytes()
            for path in sorted(self.packages.rglob("*"))
            if path.is_file()
        }


def write(root: Path, path: str, content: bytes) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(content)


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    trees = Trees(tmp_path / "checkout", tmp_path / "packages")
    files = (Installed(EDITED, digest(PATCHED), STOCK), Installed(NEW, digest(POLICY), None))
    write(trees.checkout, PATH, Manifest("0.1", "0.32.0", files).encode())
    write(trees.checkout, EDITED, PATCHED)
    write(trees.checkout, NEW, POLICY)
    write(trees.checkout, "vllm/v1/core/other.py", b"differs, and was not installed\n")
    write(trees.packages, EDITED, STOCK)
    write(trees.packages, "vllm/v1/core/other.py", b"stays\n")
    return trees


def test_what_was_installed_is_copied_and_nothing_else(trees: Trees) -> None:
    done = trees.copy()
    assert done.returncode == 0, done.stderr
    assert trees.content() == {
        EDITED: PATCHED,
        NEW: POLICY,
        PATH: (trees.checkout / PATH).read_bytes(),
        "vllm/v1/core/other.py": b"stays\n",
    }


@pytest.mark.parametrize(
    ("where", "path", "content", "message"),
    [
        ("packages", EDITED, b"of another version\n", "is not the checkout's"),
        ("packages", NEW, b"there already\n", "is in the installed vLLM already"),
        ("checkout", EDITED, b"edited later\n", "was changed after it had been installed"),
        ("checkout", NEW, b"edited later\n", "was changed after it had been installed"),
        ("checkout", PATH, None, "run `keepwarm vllm install` on it first"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_is_copied(
    trees: Trees, where: str, path: str, content: bytes | None, message: str
) -> None:
    root = getattr(trees, where)
    if content is None:
        (root / path).unlink()
    else:
        write(root, path, content)
    before = trees.content()
    done = trees.copy()
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert trees.content() == before


def test_a_manifest_cannot_name_a_file_outside(trees: Trees) -> None:
    document = json.loads((trees.checkout / PATH).read_text())
    document["files"][1]["path"] = "../outside.py"
    (trees.checkout / PATH).write_text(json.dumps(document))
    done = trees.copy()
    assert done.returncode == 2
    assert "outside" in done.stderr
    assert not (trees.packages.parent / "outside.py").exists()


def test_the_plugin_loads_where_no_other_package_is_installed() -> None:
    """The image installs the wheel with --no-deps. -S leaves site-packages out: nothing else is installed."""
    program = "import keepwarm.vllm.plugin as plugin; plugin.register(); print(plugin.__name__)"
    source = str(DEPLOY.parent / "src")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COMPUTECACHE_")}
    done = subprocess.run(
        [sys.executable, "-S", "-s", "-c", program],
        env={**environment, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (0, "keepwarm.vllm.plugin\n"), done.stderr


def test_the_image_installs_the_plugin_without_its_requirements() -> None:
    installs = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if "pip install" in line]
    assert len(installs) == 1
    assert {"--no-deps", "--no-index"} <= set(installs[0].split())
