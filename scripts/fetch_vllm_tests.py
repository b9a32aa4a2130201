"""Fetch vLLM's own tests of its block pool, prefix cache and scheduler, into a folder.

    python scripts/fetch_vllm_tests.py [build/vllm-tests]

They come with vLLM's source distribution. pip downloads that, from wherever pip is set up to look, and checks
its digest. Nothing is built: pip asks the build system for the package's name and version, and a stand-in
answers. Only the tests named here are unpacked; what is there already is left alone. Nothing of them is
part of keepwarm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "0.32.0"
SHA256 = "d2c957d5eee3d0985012151315ddc62cbe0cd368fc96a5fc3510438d9dddf2ad"
# Files and folders below tests/ that the tests of vllm/v1/core need.
KEPT = ("__init__.py", "v1/__init__.py", "v1/core", "v1/kv_connector", "v1/simple_kv_offload")
# What pip calls instead of the package's build system, which would ask for torch and compilers.
STAND_IN = f"""
from pathlib import Path

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    info = Path(folder, "vllm-{VERSION}.dist-info")
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\\nName: vllm\\nVersion: {VERSION}\\n")
    return info.name
"""


def main(folder: Path) -> int:
    """Fetch them unless they are there; exit 1 with one line when they cannot be had."""
    if (folder / "tests").is_dir():
        return 0
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside the folder, so that it appears at once and whole.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        problem = _fetch(Path(scratch))
        if problem:
            print(f"cannot fetch vLLM's own tests: {problem}", file=sys.stderr)
            return 1
        shutil.rmtree(folder, ignore_errors=True)
        (Path(scratch) / f"vllm-{VERSION}").rename(folder)
    return 0


def _fetch(scratch: Path) -> str:
    """Unpack the tests in ``scratch``; what went wrong, or nothing."""
    backend = scratch / "stand-in" / "setuptools"
    backend.mkdir(parents=True)
    (backend / "__init__.py").touch()
    (backend / "build_meta.py").write_text(STAND_IN)
    wanted = scratch / "requirements.txt"
    wanted.write_text(f"vllm=={VERSION} --hash=sha256:{SHA256}\n")
    download = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes"]
    download += ["--no-binary", "vllm", "--no-build-isolation", "-d", str(scratch), "-r", str(wanted)]
    environment = os.environ | {"PYTHONPATH": str(backend.parent)}
    done = subprocess.run(download, env=environment, capture_output=True, text=True, check=False)
    archive = scratch / f"vllm-{VERSION}.tar.gz"
    if done.returncode or not archive.is_file():
        return f"pip download failed: {done.stderr.strip()[-300:] or 'no archive'}"
    top = f"vllm-{VERSION}/"
    kept = tuple(f"{top}tests/{name}" for name in KEPT)
    with tarfile.open(archive) as opened:
        members = [
            member
            for member in opened.getmembers()
            if member.name in kept or member.name.startswith(tuple(f"{name}/" for name in kept))
        ]
        licence = opened.getmember(f"{top}LICENSE")
        opened.extractall(scratch, members=[licence, *members], filter="data")
    return ""


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "build/vllm-tests"
    sys.exit(main(Path(sys.argv[1]).absolute() if len(sys.argv) > 1 else default))
