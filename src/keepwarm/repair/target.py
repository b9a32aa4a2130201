"""What a repair has to reach, from simulating the trace with the fix of its finding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.diagnose.accounts import Accounts
from keepwarm.diagnose.findings import Diagnosis, Finding
from keepwarm.diagnose.gains import Outcome, Simulator
from keepwarm.diagnose.rules.base import Candidate
from keepwarm.diagnose.suspects import candidates_of
from keepwarm.diagnose.view import SiteView
from keepwarm.repair.task import ReuseTarget

_ALLOWANCE = 0.02  # a good repair may word things a little longer
_LEAST_GAIN = 0.5  # of the simulated gain
_HIDDEN = 0.5  # of a finding's tokens that its repair alone must reach, or others belong to it


class Plan(NamedTuple):
    """A finding with those that its gain needs repaired as well, the candidates of all, and the target."""

    view: SiteView
    findings: tuple[Finding, ...]  # the finding itself first
    candidates: tuple[Candidate, ...]
    target: ReuseTarget


def plan_repair(diagnosis: Diagnosis, accounts: Accounts, finding: Finding) -> Plan:
    """Simulate the repair of ``finding``, alone, or with its neighbours where they hide its gain.

    Raises:
        InputError: no repair of source is simulated to win anything.
    """
    site = next(site for site in accounts.sites if site.id == finding.call_site)
    others = [
        other
        for other in diagnosis.findings
        if other.call_site == finding.call_site and other.fixable and other.id != finding.id
    ]
    view, candidates = candidates_of(accounts, site, [finding, *others])
    simulator = Simulator(view, candidates)
    before, alone = simulator.outcome(frozenset()), simulator.outcome(frozenset((0,)))
    chosen: tuple[int, ...] = (0,)
    if alone.hit_tokens - before.hit_tokens < _HIDDEN * finding.recoverable_tokens:
        chosen = tuple(i for i, candidate in enumerate(candidates) if i == 0 or candidate.measured is None)
    after = simulator.outcome(frozenset(chosen))
    if _rate(after) <= _rate(before):
        raise InputError(
            f"finding {finding.id!r} ({finding.cause}): no change of prompts is simulated to raise the hit "
            f"rate of {finding.call_site!r}; there is nothing to hand over"
        )
    together = [finding, *others]
    return Plan(
        view=view,
        findings=tuple(together[i] for i in chosen),
        candidates=tuple(candidates[i] for i in chosen),
        target=_target(_rate(before), _rate(after)),
    )


def _target(before: float, repaired: float) -> ReuseTarget:
    required = max(repaired - _ALLOWANCE, before + _LEAST_GAIN * (repaired - before))
    return ReuseTarget(
        hit_rate_before=round(before, 6),
        hit_rate_repaired=round(repaired, 6),
        hit_rate_required=round(required, 6),
    )


def _rate(outcome: Outcome) -> float:
    return outcome.hit_tokens / outcome.prompt_tokens if outcome.prompt_tokens else 0.0


def roles_of(view: SiteView) -> tuple[str, ...]:
    """The roles of the call site's messages, by name."""
    messages = {content for row in view.rows for content in row.messages}
    return tuple(sorted({str(view.catalog.message(content).get("role")) for content in messages}))


def dynamic_paths(findings: Sequence[Finding], view: SiteView) -> tuple[str, ...]:
    """Where the call site's prompts vary: its slots and the paths of its findings."""
    paths = [slot.place.path() for slot in view.slots] + [
        finding.path for finding in findings if finding.path
    ]
    return tuple(dict.fromkeys(paths))
