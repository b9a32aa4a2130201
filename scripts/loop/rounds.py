"""Finding by finding: diagnose, export the task, repair, verify, until the patches are used up.

A patch stands in for the agent or the colleague who gets the task. Each round's planted bad fix is what they
might have handed in instead; it is verified against the same task and has to be refused.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from scripts.loop.desk import BAD_FIXES, REPAIRS, TESTS, Desk
from scripts.loop.golden import write_cases
from scripts.loop.shell import keepwarm


class Reading(NamedTuple):
    """How traces are read: as the server that is replayed on later would."""

    tokenizer: str | None
    chat_template: str

    @property
    def options(self) -> tuple[str, ...]:
        """For the command line."""
        tokenizer = () if self.tokenizer is None else ("--tokenizer", self.tokenizer)
        return (*tokenizer, "--chat-template", self.chat_template, "--block-size", "16")


class Verdict(NamedTuple):
    """What ``keepwarm verify`` said of a fix: its outcome, and the checks that did not pass."""

    fix: str
    outcome: str
    refusing: tuple[str, ...]


class Round(NamedTuple):
    """One finding, its repair and the planted bad fix; the hit rate of the day before both is simulated."""

    cause: str
    recoverable_tokens: int
    hit_rate: float
    repair: Verdict
    bad_fix: Verdict


class Loop(NamedTuple):
    """Where the loop works: traces, tasks and verdicts in ``out``, the application in ``desk``."""

    out: Path
    desk: Desk
    reading: Reading

    def run(self) -> list[Round]:
        """All rounds. Leaves ``before.jsonl`` and ``after.jsonl``, the day at both ends, in ``out``."""
        self.desk.record(self.out / "before.jsonl")
        base, latest = self.desk.head, self.out / "before.jsonl"
        rounds: list[Round] = []
        for number, (patch, bad) in enumerate(zip(REPAIRS, BAD_FIXES, strict=True), start=1):
            folder = f"round-{number}"
            trace = f"{folder}/before.jsonl"
            (self.out / folder).mkdir()
            shutil.copyfile(latest, self.out / trace)
            print(f"\n== Round {number}: the finding that gives back most", flush=True)
            diagnosis = self._diagnose(trace, folder)
            self.desk.checkout(base)
            found = diagnosis["findings"][0]
            self._keepwarm(
                *("task", "export", found["id"], "--trace", trace, "--repo", "desk"),
                *("--out", f"{folder}/task.md"),
            )
            refused = self._verify(base, bad, trace, folder, f"{folder}/bad-fix")
            kept = self._verify(base, patch, trace, folder, f"{folder}/repair")
            base, latest = self.desk.head, self.out / folder / "repair" / "after.jsonl"
            rounds.append(
                Round(found["cause"], found["recoverable_tokens"], diagnosis["hit_rate"], kept, refused)
            )
        print("\n== What is left", flush=True)
        shutil.copyfile(latest, self.out / "after.jsonl")
        self._diagnose("after.jsonl", "left")
        return rounds

    def _diagnose(self, trace: str, folder: str) -> dict[str, Any]:
        self._keepwarm("diagnose", trace, "--out", folder, "--top", "3")
        document: dict[str, Any] = json.loads((self.out / folder / "diagnosis.json").read_bytes())
        return document

    def _verify(self, base: str, patch: Path, before: str, task: str, folder: str) -> Verdict:
        """Commit ``patch`` on ``base``, record and ask with it, verify; the new commit stays checked out."""
        self.desk.checkout(base)
        head = self.desk.apply(patch)
        place = self.out / folder
        place.mkdir(parents=True)
        self.desk.record(place / "after.jsonl")
        write_cases(self.desk, base, head, place / "golden")
        print(f"\n-- {patch.stem}", flush=True)
        self._keepwarm(
            *("verify", "--repo", "desk", "--base", base, "--head", head, "--task", f"{task}/task.json"),
            *("--before", before, "--after", f"{folder}/after.jsonl"),
            *("--golden", f"{folder}/golden", "--tests", TESTS, "--out", folder),
            allowed=(0, 1),
            shown=patch in REPAIRS,
        )
        return _verdict(patch.stem, place / "verdict.json")

    def _keepwarm(self, *arguments: str, allowed: tuple[int, ...] = (0,), shown: bool = True) -> None:
        keepwarm(self.out, *arguments, *self.reading.options, allowed=allowed, shown=shown)


def _verdict(fix: str, path: Path) -> Verdict:
    document = json.loads(path.read_bytes())
    refusing = tuple(answer["check"] for answer in document["answers"] if answer["outcome"] != "pass")
    return Verdict(fix, document["outcome"], refusing)
