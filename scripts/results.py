"""``python -m scripts.results OUT``: results of ``examples/helpdesk``, a folder for ``keepwarm serve``.

Everything is made here and now by the real commands, but for two things that need a real server and are
committed: the evidence of the repair loop and the record of a canary. No network, no model, no server.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scripts.loop.desk import EXAMPLE, REPAIRS, TESTS, Desk
from scripts.loop.golden import write_cases
from scripts.loop.shell import KEEPWARM, CommandFailed

REPOSITORY = EXAMPLE.parents[1]
TRAFFIC = (EXAMPLE / "traffic.jsonl.gz").relative_to(REPOSITORY)
REUSE_MODEL = (EXAMPLE / "reuse-model.json").relative_to(REPOSITORY)
MODEL_CONFIG = (EXAMPLE / "qwen3-8b.config.json").relative_to(REPOSITORY)
# Of a real server, measured elsewhere: copied as committed. A record that is not there is left out.
_RECORDS = {"canary/canary.json": "canary/canary.json", "canary/tuning.json": "tuning/tuning.json"}
_REPAIR, _CAUSE, _CASE = "0004-customer-behind-policy", "identity", "reply-salutation"
_SITE = "You write letters to customers"
_CLOSING, _OTHERWISE = "Kind regards,", "With kind regards,"
_MARK = ".keepwarm-results"


class Made(NamedTuple):
    """A part of the folder: where, and what it is."""

    path: str
    what: str


def make(out: Path, *, diagnosed: bool = False) -> list[Made]:
    """Fill ``out``; ``diagnosed``: its diagnosis is there. Raises CommandFailed, or OSError."""
    _make_way(out)
    return [*_kept(out), *_diagnosis(out, diagnosed), *_simulations(out), *_repair(out)]


def _make_way(out: Path) -> None:
    """Remove earlier results, all but the diagnosis; spare any other folder. Raises CommandFailed."""
    if (
        out.exists()
        and any(out.iterdir())
        and not ((out / _MARK).is_file() or (out / "diagnosis.json").is_file())
    ):
        raise CommandFailed(f"{str(out)!r} is not empty and no folder of results; name another folder")
    out.mkdir(parents=True, exist_ok=True)
    for name in ("loop", "canary", "tuning", "cache", "serving", "repair"):
        shutil.rmtree(out / name, ignore_errors=True)
    (out / _MARK).touch()


def _kept(out: Path) -> list[Made]:
    shutil.copytree(EXAMPLE / "evidence", out / "loop")
    made = [
        Made(
            "loop", "the repair loop on real vLLM: tasks, verdicts, replays, comparison (measured, committed)"
        )
    ]
    for source, target in _RECORDS.items():
        record = REPOSITORY / "bench" / source
        if record.is_file():
            (out / target).parent.mkdir(parents=True)
            shutil.copyfile(record, out / target)
            made.append(Made(target, "a record of a real server (measured, committed)"))
    return made


def _diagnosis(out: Path, diagnosed: bool) -> list[Made]:
    if not diagnosed:
        _keepwarm("diagnose", str(TRAFFIC), "--out", str(out.resolve()))
    return [Made("diagnosis.json", f"diagnosis of {TRAFFIC} (simulated), with its map and templates")]


def _simulations(out: Path) -> list[Made]:
    for name in ("cache", "serving"):
        (out / name).mkdir()
    # The model that was recorded, on a GPU that just holds it.
    _keepwarm(
        *("simulate", "cache", str(TRAFFIC), "--policy", "lru,computecache,belady"),
        *("--capacity-blocks", "256,1024,4096", "--model-config", str(MODEL_CONFIG), "--gpu", "L4"),
        *("--curve", "--if-fixed", "--json"),
        into=out / "cache" / "cache.json",
    )
    # Half of the profile's memory, and people who answer 20 times as fast as recorded: so that 20 crowd it.
    _keepwarm(
        *(
            "simulate",
            "serving",
            str(TRAFFIC),
            "--scheduling",
            "fcfs,active-set",
            "--eviction",
            "lru,cachewise",
        ),
        *("--sessions", "20", "--seed", "0", "--profile", "cpu-smollm2", "--capacity-tokens", "16384"),
        *("--gap-scale", "0.05", "--reuse-model", str(REUSE_MODEL)),
        *("--timelines", str(out.resolve() / "serving" / "timelines"), "--json"),
        into=out / "serving" / "serving.json",
    )
    return [
        Made("cache/cache.json", "hit rate by policy and cache size, as recorded and if fixed (simulated)"),
        Made("serving/serving.json", "20 sessions on a small server by queue order and eviction (simulated)"),
        Made(
            "serving/timelines",
            "what happened to each session there (simulated; gaps a twentieth of those recorded)",
        ),
    ]


def _repair(out: Path) -> list[Made]:
    """A repair as a colleague hands it in, verified by the guard.

    One answer of AFTER is worded otherwise by hand, and its case says so: the example's scripted model never
    does that, a real one may, and then a person has to read it.
    """
    place = out.resolve() / "repair"
    place.mkdir()
    shutil.copyfile(REPOSITORY / TRAFFIC, place / TRAFFIC.name)
    desk = Desk.create(place / "desk")
    base = desk.head
    _keepwarm(
        *(
            "task",
            "export",
            _finding(_json(out / "diagnosis.json")),
            "--trace",
            TRAFFIC.name,
            "--repo",
            "desk",
        ),
        *("--out", "task.md"),
        folder=place,
    )
    head = desk.apply(next(patch for patch in REPAIRS if patch.stem == _REPAIR))
    desk.record(place / "after.jsonl")
    write_cases(desk, base, head, place / "golden")
    _word_otherwise(place / "golden" / f"{_CASE}.json")
    _keepwarm(*verification(base, head), folder=place, allowed=(1,))
    outcome = _json(place / "verdict" / "verdict.json")["outcome"]
    if outcome != "needs-approval":
        raise CommandFailed(
            f"the guard says {outcome!r} of {_REPAIR}, not 'needs-approval'; read repair/verdict"
        )
    return [
        Made("repair/verdict", "the guard's verdict on a repair: one changed answer waits for an approval")
    ]


def verification(base: str, head: str) -> list[str]:
    """The arguments of ``keepwarm`` that verify the repair, for the folder it lies in."""
    return [
        *("verify", "--repo", "desk", "--base", base, "--head", head, "--task", "task.json"),
        *("--before", TRAFFIC.name, "--after", "after.jsonl", "--golden", "golden"),
        *("--tests", TESTS, "--out", "verdict"),
    ]


def _finding(diagnosis: dict[str, Any]) -> str:
    """The finding that the repair is for: what the patch mends, at the call site that it changes."""
    sites = {site["id"]: site["name"] for site in diagnosis["call_sites"]}
    for finding in diagnosis["findings"]:
        if finding["cause"] == _CAUSE and sites[finding["call_site"]].startswith(_SITE):
            return str(finding["id"])
    raise CommandFailed(f"no finding {_CAUSE!r} at {_SITE!r} in the diagnosis; is it of {TRAFFIC}?")


def _word_otherwise(path: Path) -> None:
    """Another closing line in the answer of AFTER."""
    case = _json(path)
    content = case["after"][0]["content"]
    if _CLOSING not in content:
        raise CommandFailed(f"golden case {path.stem!r} has no {_CLOSING!r}")
    case["after"][0]["content"] = content.replace(_CLOSING, _OTHERWISE)
    case["about"] += " (AFTER: closing line changed by hand, for this demonstration)"
    path.write_text(json.dumps(case, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _keepwarm(
    *arguments: str, folder: Path = REPOSITORY, into: Path | None = None, allowed: tuple[int, ...] = (0,)
) -> None:
    """Run a command; what it prints goes ``into`` a file, or nowhere. Raises CommandFailed."""
    ended = subprocess.run([*KEEPWARM, *arguments], cwd=folder, capture_output=True, check=False)
    if ended.returncode not in allowed:
        said = ended.stderr.decode("utf-8", "replace").strip().splitlines() or ["nothing was said"]
        raise CommandFailed(
            f"keepwarm {' '.join(arguments[:2])} ended with exit code {ended.returncode}: {said[-1]}"
        )
    if into is not None:
        into.write_bytes(ended.stdout)


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


def main(argv: Sequence[str] | None = None) -> int:
    """0: made; 2: not, and one line says why."""
    parser = argparse.ArgumentParser(prog="python -m scripts.results", description=__doc__)
    parser.add_argument("out", type=Path, help="folder of the results; an earlier one is replaced")
    parser.add_argument("--diagnosed", action="store_true", help="OUT holds the diagnosis, made just now")
    options = parser.parse_args(argv)
    try:
        for made in make(options.out, diagnosed=options.diagnosed):
            print(f"  {made.path:<28} {made.what}")
    except (CommandFailed, OSError, KeyError, json.JSONDecodeError) as error:
        print(f"results: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
