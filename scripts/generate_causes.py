"""``python -m scripts.generate_causes [--check]``: ``web/lib/causes.json``, the causes as the rules say."""

from __future__ import annotations

import sys
from pathlib import Path

from keepwarm._json import to_json
from keepwarm.diagnose.report.causes import known_causes

PATH = Path(__file__).parent.parent / "web" / "lib" / "causes.json"


def content() -> bytes:
    """The file as the rules say it."""
    return to_json(
        [
            {
                "code": cause.code,
                "owner": cause.owner.value,
                "fixable": cause.fixable,
                "summary": cause.summary,
                "suggestion": cause.suggestion,
            }
            for cause in known_causes()
        ]
    )


def main(argv: list[str]) -> int:
    """Rewrite the file, or say that it is not what the rules say."""
    if argv != ["--check"]:
        PATH.write_bytes(content())
        return 0
    if PATH.read_bytes() == content():
        return 0
    print(f"{PATH} is not what the rules say; run: python -m scripts.generate_causes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
