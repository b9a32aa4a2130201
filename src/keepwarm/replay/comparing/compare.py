"""From two folders of evidence to what changed between them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from keepwarm._errors import InputError
from keepwarm.replay.comparing.bootstrap import Columns, Resampler, median, median_ratio, rate, rise
from keepwarm.replay.comparing.boundary import boundary_of, warnings_of
from keepwarm.replay.comparing.comparison import Comparison, HitRates, Outputs, Pairs, Side, Ttft
from keepwarm.replay.comparing.matching import check_match, conditions
from keepwarm.replay.comparing.pairing import Pair, pair_rows
from keepwarm.replay.comparing.simulated import Encoding, simulate_run
from keepwarm.replay.measuring.files import KeptRun, read_run


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """``encoding``: simulate with these tokens as well. ``other_template``: it is what was repaired."""

    encoding: Encoding | None = None
    other_template: bool = False
    seed: int = 0


class Compared(NamedTuple):
    """A comparison, and the pairs it rests on."""

    comparison: Comparison
    pairs: tuple[Pair, ...]


def compare_runs(before: Path, after: Path, options: CompareOptions | None = None) -> Compared:
    """Compare the runs in two folders. The same folders give the same comparison.

    Raises InputError: a folder was changed or is no run, the runs do not match (every difference is named),
    or nothing in them can be compared.
    """
    options = options or CompareOptions()
    first, second = read_run(before), read_run(after)
    checked = conditions(first.run, second.run, other_template=options.other_template)
    check_match(checked)
    paired = pair_rows(first.rows, second.rows)
    compared = [pair for pair in paired.pairs if pair.is_compared]
    if not compared:
        raise InputError(
            f"no request was answered in both {str(before)!r} and {str(after)!r}, so there is nothing to "
            "compare; replay again"
        )
    resampler = Resampler([pair.before.session for pair in compared], options.seed)
    columns = _columns(compared)
    simulated = [simulate_run(kept.run, kept.rows, options.encoding) for kept in (first, second)]
    warnings = tuple(warnings_of(first.run, second.run, [*simulated[0], *simulated[1]]))
    comparison = Comparison(
        before=_side(first),
        after=_side(second),
        complete=len(compared) == len(paired.pairs)
        and not (first.run.inconsistencies or second.run.inconsistencies),
        pairs=Pairs(by=paired.by, compared=len(compared), left_out=len(paired.pairs) - len(compared)),
        bootstrap=resampler.info,
        hit_rate=_hit_rates(resampler, columns),
        ttft=_ttft(resampler, columns),
        simulated_before=simulated[0],
        simulated_after=simulated[1],
        outputs=_outputs(compared),
        boundary=boundary_of(first.run, second.run, checked, paired, options.other_template),
        warnings=warnings,
    )
    return Compared(comparison, paired.pairs)


def _columns(pairs: Sequence[Pair]) -> Columns:
    rows = [
        (
            pair.before.prompt_tokens,
            pair.after.prompt_tokens,
            pair.before.cached_tokens,
            pair.after.cached_tokens,
            pair.before.ttft_s,
            pair.after.ttft_s,
        )
        for pair in pairs
    ]
    return Columns(*np.array(rows, dtype=np.float64).T)


def _hit_rates(resampler: Resampler, columns: Columns) -> HitRates:
    return HitRates(
        before=resampler.estimate(rate(columns.cached_before, columns.prompt_before)),
        after=resampler.estimate(rate(columns.cached_after, columns.prompt_after)),
        difference=resampler.estimate(rise(columns)),
    )


def _ttft(resampler: Resampler, columns: Columns) -> Ttft:
    before_s, after_s = columns.ttft_before_s, columns.ttft_after_s
    return Ttft(
        before_median_s=resampler.estimate(median(before_s)),
        after_median_s=resampler.estimate(median(after_s)),
        ratio=resampler.estimate(median_ratio(before_s, after_s)),
        paired_delta_s=resampler.estimate(median(after_s - before_s)),
        faster_pairs=int((after_s < before_s).sum()),
        slower_pairs=int((after_s > before_s).sum()),
    )


def _outputs(pairs: Sequence[Pair]) -> Outputs:
    equal = sum(pair.before.text_sha256 == pair.after.text_sha256 for pair in pairs)
    return Outputs(equal=equal, changed=len(pairs) - equal)


def _side(kept: KeptRun) -> Side:
    return Side(
        label=kept.run.label,
        chain_sha256=kept.chain_sha256,
        started=kept.run.started,
        trace_sha256=kept.run.input.sha256,
        requests=kept.run.requests,
    )
