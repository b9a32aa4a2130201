"""The rollback drill: one setting back to lru, a restart, nothing installed, and stock behaviour again."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from keepwarm._errors import ServerError
from keepwarm.canary.acceptance import faultless, same_text
from keepwarm.canary.checks import Check, check
from keepwarm.canary.runs import Instruments, Run, take_run
from keepwarm.canary.servers.base import ServerAdapter
from keepwarm.vllm.settings import MODE

LRU = "lru"


class Drill(msgspec.Struct, frozen=True, kw_only=True):
    """Passed if no check refuses; ``run`` is None if the server did not come back."""

    passed: bool
    checks: tuple[Check, ...]
    run: Run | None

    def reasons(self) -> list[Check]:
        """The checks that refuse."""
        return [check for check in self.checks if check.refused]


def rolled_back(settings: Mapping[str, str]) -> dict[str, str]:
    """The candidate's settings with the mode back at lru: what an operator would change, and no more."""
    return {**settings, MODE: LRU}


def drill(
    adapter: ServerAdapter,
    candidate_settings: Mapping[str, str],
    baseline: Run,
    measure: Instruments,
    *,
    other_text: bool = False,
) -> Drill:
    """Roll back and hold the server to the baseline. A server that does not come back is a failed drill.

    ``other_text``: generated text may differ from the baseline's, as kernels in low precision do.
    """
    try:
        run = take_run(adapter, rolled_back(candidate_settings), measure)
    except ServerError:
        message = "the server comes back and answers to the end of the run"
        return Drill(passed=False, checks=(check("comes-back", False, message),), run=None)
    checks = (
        check(
            "served",
            not run.pressure.failed_requests,
            "no request fails",
            failed=run.pressure.failed_requests,
        ),
        check("in-effect", run.plugin.mode == LRU, "the mode on /metrics is lru", mode=run.plugin.mode),
        check("same-order", not run.plugin.reordered_decisions, "no victim order is changed",
              reordered_decisions=run.plugin.reordered_decisions),
        _same_cached_tokens(baseline, run),
        same_text(baseline, run, other_text=other_text),
        faultless(rollback=run),
    )  # fmt: skip
    return Drill(passed=not any(check.refused for check in checks), checks=checks, run=run)


def _same_cached_tokens(baseline: Run, run: Run) -> Check:
    ours, theirs = run.hot_cached_tokens(), baseline.hot_cached_tokens()
    return check(
        "same-cached-tokens",
        ours == theirs
        and run.pressure.warm_prefix_cached_tokens == baseline.pressure.warm_prefix_cached_tokens,
        "as many cached tokens as in the baseline, step by step",
        baseline=_listed(theirs),
        after=_listed(ours),
    )


def _listed(tokens: tuple[int | None, ...]) -> str:
    return " ".join("failed" if number is None else str(number) for number in tokens)
