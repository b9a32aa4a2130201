"""``python -m bench.cachewise [--only GROUP ...] [--processes N] [--tables | --recheck N]``."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from bench.cachewise import page, store
from bench.cachewise.compute import compute, computed
from bench.cachewise.plan import GROUPS, plan
from bench.cachewise.recheck import RecheckError, recheck


def main(argv: list[str]) -> int:
    """Compute what is missing, a group after the other, then rewrite the tables; or recheck what is there."""
    parser = argparse.ArgumentParser(prog="python -m bench.cachewise", description="Reproduce CacheWise.")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS), metavar="GROUP")
    parser.add_argument("--processes", type=int, default=2, metavar="N")
    parser.add_argument("--tables", action="store_true", help="rewrite the tables from the rows there are")
    parser.add_argument(
        "--recheck",
        type=int,
        metavar="N",
        help="compute N rows of the code before anew; if all are equal, all of its rows stay good",
    )
    parser.add_argument("--before", nargs="+", default=[], metavar="DIGEST", help="of the code before")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which rows are rechecked")
    call = parser.parse_args(argv)
    if call.recheck is not None:
        return _recheck(call)
    if not call.tables:
        compute(plan(call.only), call.processes)
        store.tidy(plan(list(GROUPS)))
    page.rewrite(store.load())
    return 0


def _recheck(call: argparse.Namespace) -> int:
    """0 and all rows restamped, or 1 and nothing changed, or 2 where there is nothing to recheck."""
    try:
        done = recheck(call.recheck, partial(computed, processes=call.processes), call.before, call.seed)
    except RecheckError as error:
        print(f"bench.cachewise: {error}", file=sys.stderr)
        return 2
    for difference in done.differences:
        print(difference)
    if done.differences:
        print(f"{len(done.runs)} rows computed anew, not all as stored: nothing changed")
        return 1
    print(
        f"{len(done.runs)} rows computed anew, all as stored: {done.restamped} rows are of the present code"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
