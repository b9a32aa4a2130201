"""From the figures of a sample to those of the whole trace, each with its error.

Sums are ratio estimates: of the whole trace its requests and the recorded size of its prompts are known, and
a sum grows with them. Errors are 95% intervals from the spread over the picked sessions (linearised), with
Student's t at the degrees of freedom that their kurtosis leaves: few sessions that weigh much leave few.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm.diagnose.findings import (
    CallSite,
    CallSiteError,
    Diagnosis,
    Finding,
    FindingError,
    SampleInfo,
    TokenFates,
)
from keepwarm.diagnose.prompt_map import FATES
from keepwarm.diagnose.sample import SEED, Sample

if TYPE_CHECKING:
    from keepwarm.diagnose.accounts import Accounts
    from keepwarm.diagnose.suspects import Proven

CONFIDENCE = 0.95
_LEAST_ERROR = 0.0005  # of prompt tokens: shorter coincidences of two prompts than a key go unseen
_SEEN_SESSIONS = 3  # that differ, before a stretch of text is told to vary
_T_95 = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)  # by freedom
_Z_95 = 1.96

Figures = npt.NDArray[np.float64]


class _Spread:
    """Sums over the picked sessions, and what their spread says of the whole trace."""

    def __init__(self, sample: Sample) -> None:
        self.rows = np.flatnonzero(sample.session >= 0)
        picked, self._session = np.unique(sample.session[self.rows], return_inverse=True)
        self.sessions = len(picked)
        self.rate = sample.rate
        self.size = sample.size[self.rows].astype(np.float64)
        self.ones = np.ones(len(self.rows))
        self.place = {int(row): place for place, row in enumerate(self.rows)}

    def column(self, values: Iterable[tuple[int, float]]) -> Figures:
        """Figures of the counted requests, 0 where ``values`` has none for a row."""
        found = np.zeros(len(self.rows))
        for row, value in values:
            if row in self.place:
                found[self.place[row]] = value
        return found

    def ratio_error(self, part: Figures, whole: Figures) -> float:
        """By how much ``sum(part) / sum(whole)`` may be off, both of the counted requests."""
        total = float(whole.sum())
        if not total or self.rate == 1:
            return 0.0
        rest = part - whole * (float(part.sum()) / total)
        by_session = np.bincount(self._session, rest, minlength=self.sessions)
        squares = float(np.sum(by_session**2))
        if not squares:
            return 0.0
        kurtosis = self.sessions * float(np.sum(by_session**4)) / squares**2
        freedom = min(self.sessions - 1.0, 2 * self.sessions / max(kurtosis - 1, 1e-9))
        variance = (1 - self.rate) * squares * self.sessions / max(1, self.sessions - 1)
        return _t_95(freedom) * math.sqrt(variance) / total


def _t_95(freedom: float) -> float:
    """Student's two-sided 95% point, between whole degrees by 1 / freedom, never beyond that of one."""
    if freedom >= len(_T_95) - 1:
        return _Z_95 + (_T_95[-1] - _Z_95) * (len(_T_95) - 1) / freedom
    low = max(1, math.floor(freedom))
    share = (1 / low - 1 / max(freedom, low)) / (1 / low - 1 / (low + 1))
    return _T_95[low] + share * (_T_95[low + 1] - _T_95[low])


class _Scale(NamedTuple):
    """What a counted request stands for in the whole trace: in tokens, in requests, in sessions."""

    tokens: float
    requests: float
    sessions: float


class _Estimate:
    """Scales the figures of one diagnosis and states their errors."""

    def __init__(self, sample: Sample, accounts: Accounts) -> None:
        self.spread = _Spread(sample)
        self.scale = _Scale(
            sample.total_size / max(1.0, float(self.spread.size.sum())),
            sample.total_requests / len(self.spread.rows),
            sample.total_sessions / self.spread.sessions,
        )
        self.least = 0.0 if sample.rate == 1 else _LEAST_ERROR
        counted = self.spread.rows.tolist()
        fates = [accounts.fates[i] for i in counted]
        self.fates = {
            name: np.array([getattr(each, name) for each in fates], dtype=np.float64)
            for name in ("prompt", *FATES)
        }
        self.lost = np.array([accounts.lost(i) for i in counted], dtype=np.float64)
        self.site_of = np.array([accounts.site_of[i] for i in counted])

    def tokens_error(self, figures: Figures, within: Figures | None = None) -> int:
        """Of a sum of tokens in the whole trace, ``within`` prompts of so many: without it those of all."""
        spread = self.spread
        error = spread.ratio_error(figures, spread.size) * float(spread.size.sum())
        prompt = self.fates["prompt"] if within is None else within
        return math.ceil(max(error, self.least * float(prompt.sum())) * self.scale.tokens)

    def rate_error(self, part: Figures, prompt: Figures) -> float:
        """Of a share of prompt tokens."""
        return max(self.least, self.spread.ratio_error(part, prompt))

    def requests_error(self, concerned: Figures) -> int:
        """Of a number of requests in the whole trace."""
        spread = self.spread
        return math.ceil(spread.ratio_error(concerned, spread.ones) * len(spread.rows) * self.scale.requests)

    def fates_scaled(self, tokens: TokenFates) -> TokenFates:
        """All six scaled; they add up to the prompt."""
        six = {name: round(getattr(tokens, name) * self.scale.tokens) for name in FATES}
        return TokenFates(prompt=sum(six.values()), **six)

    def site_scaled(self, site: CallSite) -> CallSite:
        return msgspec.structs.replace(
            site,
            requests=round(site.requests * self.scale.requests),
            sessions=round(site.sessions * self.scale.sessions),
            lost_tokens=round(site.lost_tokens * self.scale.tokens),
            prompt_tokens=round(site.prompt_tokens * self.scale.tokens),
        )

    def site_error(self, site: CallSite, number: int) -> CallSiteError:
        here = (self.site_of == number).astype(np.float64)
        prompt = self.fates["prompt"] * here
        return CallSiteError(
            id=site.id,
            requests=self.requests_error(here),
            prompt_tokens=self.tokens_error(prompt, prompt),
            hit_rate=self.rate_error(self.fates["hit"] * here, prompt),
            lost_tokens=self.tokens_error(self.lost * here, prompt),
        )

    def finding_scaled(self, finding: Finding) -> Finding:
        return msgspec.structs.replace(
            finding,
            requests=round(finding.requests * self.scale.requests),
            recoverable_tokens=round(finding.recoverable_tokens * self.scale.tokens),
            added_tokens=round(finding.added_tokens * self.scale.tokens),
        )

    def finding_error(self, id: str, proven: Proven, won: Figures) -> FindingError:  # noqa: A002 - as it is called
        return FindingError(
            id=id,
            requests=self.requests_error(self.spread.column((row, 1.0) for row in proven.rows)),
            recoverable_tokens=self.tokens_error(won),
        )


def scaled_up(
    diagnosis: Diagnosis, accounts: Accounts, ranked: Sequence[Proven], *, in_hits: Set[str]
) -> Diagnosis:
    """``diagnosis``, which counts a sample, as an estimate of the whole trace; without a sample as it is.

    ``ranked`` are its findings in order; what those of a cause ``in_hits`` win is no simulated hit.
    """
    sample = accounts.traffic.sample
    if sample is None:
        return diagnosis
    estimate = _Estimate(sample, accounts)
    won = [_by_request(estimate, accounts, proven, proven.won) for proven in ranked]
    added = [_by_request(estimate, accounts, proven, proven.added) for proven in ranked]
    simulated = [i for i, proven in enumerate(ranked) if proven.finding.cause not in in_hits]
    hit, prompt = estimate.fates["hit"], estimate.fates["prompt"]
    fixed_prompt = prompt + sum(added[i] for i in simulated)
    numbers = {site.id: number for number, site in enumerate(accounts.sites)}
    spread = estimate.spread
    info = SampleInfo(
        rate=sample.rate,
        seed=SEED,
        confidence=CONFIDENCE,
        sessions=spread.sessions,
        total_sessions=sample.total_sessions,
        requests=len(spread.rows),
        context_requests=len(sample.session) - len(spread.rows),
        size_unit=sample.size_unit,
        size=int(spread.size.sum()),
        total_size=sample.total_size,
        seen_from_sessions=seen_from_sessions(sample.rate),
        hit_rate_error=estimate.rate_error(hit, prompt),
        hit_rate_if_fixed_error=estimate.rate_error(hit + sum(won[i] for i in simulated), fixed_prompt),
        token_errors=TokenFates(
            **{name: estimate.tokens_error(each) for name, each in estimate.fates.items()}
        ),
        call_site_errors=tuple(estimate.site_error(site, numbers[site.id]) for site in diagnosis.call_sites),
        finding_errors=tuple(
            estimate.finding_error(finding.id, proven, each)
            for finding, proven, each in zip(diagnosis.findings, ranked, won, strict=True)
        ),
    )
    return msgspec.structs.replace(
        diagnosis,
        input=msgspec.structs.replace(diagnosis.input, requests=sample.total_requests),
        tokens=estimate.fates_scaled(diagnosis.tokens),
        call_sites=tuple(map(estimate.site_scaled, diagnosis.call_sites)),
        findings=tuple(map(estimate.finding_scaled, diagnosis.findings)),
        sample=info,
    )


def _by_request(estimate: _Estimate, accounts: Accounts, proven: Proven, figures: Figures) -> Figures:
    """``figures`` of the counted requests of a finding's call site, as a column over all counted requests."""
    site = next(site for site in accounts.sites if site.id == proven.finding.call_site)
    counted = accounts.traffic.counted(site.rows)
    return estimate.spread.column(zip(counted, figures.tolist(), strict=True))


def seen_from_sessions(rate: float) -> int:
    """Sessions that something has to concern for enough of them to be picked, with 95% probability."""
    if rate == 1:
        return 1
    low, high = 1, math.ceil(40 / rate)
    while low < high:
        middle = (low + high) // 2
        missed = sum(
            math.comb(middle, k) * rate**k * (1 - rate) ** (middle - k) for k in range(_SEEN_SESSIONS)
        )
        low, high = (low, middle) if missed <= 1 - CONFIDENCE else (middle + 1, high)
    return low
