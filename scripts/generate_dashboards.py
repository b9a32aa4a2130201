"""Write the Grafana dashboards; ``--check`` only says which are out of date.

    python -m scripts.generate_dashboards [--check]

What they show is in scripts/dashboards; docs/how-to/watch.md explains every metric that is used there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.dashboards.cachewise import CACHEWISE
from scripts.dashboards.callsites import CALL_SITES
from scripts.dashboards.canary import CANARY
from scripts.dashboards.computecache import COMPUTECACHE
from scripts.dashboards.grafana import encode

FOLDER = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "dashboards"
DASHBOARDS = (CANARY, COMPUTECACHE, CACHEWISE, CALL_SITES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit 1 if ``--check`` finds a file that is out of date."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    check = parser.parse_args(arguments).check
    stale = []
    for board in DASHBOARDS:
        path, text = FOLDER / f"{board.name}.json", encode(board)
        if not path.exists() or path.read_text() != text:
            stale.append(path.name)
            if not check:
                path.write_text(text)
    if stale:
        print(f"{'out of date, run `make dashboards`' if check else 'written'}: {', '.join(stale)}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
