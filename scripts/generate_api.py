"""``python -m scripts.generate_api [--check]``: ``web/openapi.json`` from the code of the API."""

from __future__ import annotations

import sys
from pathlib import Path

from keepwarm._json import to_json
from keepwarm.api.app import api_document

PATH = Path(__file__).parent.parent / "web" / "openapi.json"


def main(argv: list[str]) -> int:
    """Rewrite the file, or say that it is not what the code says."""
    content = to_json(api_document())
    if argv != ["--check"]:
        PATH.write_bytes(content)
        return 0
    if PATH.read_bytes() == content:
        return 0
    print(f"{PATH} is not what the code says; run: make generate", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
