"""``python -m bench.cachewise [--only GROUP ...] [--processes N] [--tables]``."""

from __future__ import annotations

import argparse
import sys

from bench.cachewise import page, store
from bench.cachewise.compute import compute
from bench.cachewise.plan import GROUPS, plan


def main(argv: list[str]) -> int:
    """Compute what is missing, a group after the other, then rewrite the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.cachewise", description="Reproduce CacheWise.")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--tables", action="store_true", help="rewrite the tables from the rows there are")
    call = parser.parse_args(argv)
    if not call.tables:
        compute(plan(call.only), call.processes)
        store.tidy(plan(list(GROUPS)))
    page.rewrite(store.load())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
