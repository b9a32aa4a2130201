"""``python -m scripts.loop OUT --model DIR``: the whole loop on ``examples/helpdesk``."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from keepwarm._errors import KeepwarmError
from scripts.loop.chosen import SETS
from scripts.loop.desk import EXAMPLE, Desk
from scripts.loop.kept import keep
from scripts.loop.measured import Place, measure, write_sets
from scripts.loop.rounds import Loop, Reading, Round
from scripts.loop.shell import CommandFailed


def main(argv: Sequence[str] | None = None) -> int:
    """0: each repair passed, and each bad fix was refused by the check that has to see it; 1 otherwise."""
    parser = argparse.ArgumentParser(prog="python -m scripts.loop", description=__doc__)
    parser.add_argument(
        "out", type=Path, help="folder for everything that is made; an earlier one is replaced"
    )
    parser.add_argument("--model", type=Path, help="folder of the model; without it nothing is replayed")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="which requests are replayed")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="also put there what is worth keeping")
    options = parser.parse_args(argv)
    try:
        rounds = run(options.out, options.model, tuple(options.sets))
        if options.keep is not None:
            keep(options.out, options.keep)
    except (CommandFailed, KeepwarmError) as error:
        print(f"loop: {error}", file=sys.stderr)
        return 2
    print_rounds(rounds)
    return 0 if all_as_expected(rounds) else 1


def run(out: Path, model: Path | None, sets: tuple[str, ...] = SETS) -> list[Round]:
    """The rounds, then the replays. Raises CommandFailed, KeepwarmError."""
    _empty(out)
    shutil.copy(EXAMPLE / "chat_template.jinja", out)
    if model is not None:
        # By a name of its own, so that no record holds a path of this machine.
        (out / "model").symlink_to(model.resolve(), target_is_directory=True)
    reading = Reading(None if model is None else "model", "chat_template.jinja")
    rounds = Loop(out, Desk.create(out / "desk"), reading).run()
    write_sets(out, sets)
    if model is not None:
        measure(Place(out, model), sets)
    return rounds


def all_as_expected(rounds: Sequence[Round]) -> bool:
    """Whether repairs passed and each bad fix was refused by its check."""
    catcher = json.loads((EXAMPLE / "bad_fixes" / "caught_by.json").read_bytes())
    return all(
        done.repair.outcome == "pass"
        and done.bad_fix.outcome == "fail"
        and catcher[done.bad_fix.fix] in done.bad_fix.refusing
        for done in rounds
    )


def print_rounds(rounds: Sequence[Round]) -> None:
    """A line for each fix; hit rates are simulated, over the whole day."""
    print("\n== Verdicts (hit rate of the whole day before the repair, simulated)")
    for number, done in enumerate(rounds, start=1):
        print(f"{number}. {done.cause}, {done.recoverable_tokens:,} tokens; hit rate {done.hit_rate:.1%}")
        print(f"   {done.repair.fix}: {done.repair.outcome}")
        print(f"   {done.bad_fix.fix}: {done.bad_fix.outcome} ({', '.join(done.bad_fix.refusing)})")


def _empty(out: Path) -> None:
    """Make way for a new run; what is no run of the loop is left alone. Raises CommandFailed."""
    if out.exists():
        if any(out.iterdir()) and not (out / "desk").is_dir():
            raise CommandFailed(f"{str(out)!r} is not empty and no earlier run; name another folder")
        shutil.rmtree(out)
    out.mkdir(parents=True)


if __name__ == "__main__":
    sys.exit(main())
