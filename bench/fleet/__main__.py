"""``python -m bench.fleet [--only GROUP ...] [--processes N] [--tables | --recheck N]``."""

from __future__ import annotations

import argparse
import sys

from bench.fleet import page, store
from bench.fleet.compute import compute, row_of
from bench.fleet.plan import GROUPS, plan
from bench.fleet.recheck import recheck


def main(argv: list[str]) -> int:
    """Compute what is missing, a group after the other, then rewrite the page."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.fleet", description="Simulate fleets of CacheWise."
    )
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--tables", action="store_true", help="rewrite the page from the rows there are")
    parser.add_argument(
        "--recheck",
        type=int,
        metavar="N",
        help="compute N rows of older code anew; if all are equal, all of its rows stay good",
    )
    call = parser.parse_args(argv)
    if call.recheck is not None:
        done = recheck(call.recheck, row_of)
        print(*(f"differs: {run}" for run in done.differ), sep="\n", end="\n" if done.differ else "")
        print(
            f"{len(done.runs)} rows computed anew; {done.restamped} rows of older code are good from now on"
        )
        return 1 if done.differ else 0
    if not call.tables:
        compute(plan(call.only), call.processes)
    page.rewrite(store.load())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
