"""``python -m bench [NAME ...] [--json] [--all] [--write README]``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench import harness


def main(argv: list[str]) -> int:
    """Run the named benches, or list them; exit 2 for a name that is none, or what cannot run here."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure keepwarm on this machine.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="benches to run; none: list them")
    parser.add_argument("--all", action="store_true", help="run every bench")
    parser.add_argument("--json", action="store_true", help="one JSON document a line, nothing else")
    parser.add_argument("--write", type=Path, metavar="FILE", help="rewrite the table in FILE")
    call = parser.parse_args(argv)
    benches = harness.benches()
    names = list(benches) if call.all else call.names
    unknown = [name for name in names if name not in benches]
    if unknown:
        print(f"no bench is called {unknown[0]!r}; there are: {', '.join(benches)}", file=sys.stderr)
        return 2
    if not names:
        for name, bench in benches.items():
            print(f"{name:22} {bench.summary}")
        return 0
    results = []
    for name in names:
        print(f"running {name} ...", file=sys.stderr)
        try:
            result = benches[name].run()
        except harness.UnavailableError as error:
            print(f"{name}: {error}; `make bench` sets it up and runs all", file=sys.stderr)
            return 2
        results.append(result)
        print(json.dumps(result._asdict()) if call.json else harness.sentence(result), flush=True)
    if call.write:
        harness.rewrite_table(call.write, results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
