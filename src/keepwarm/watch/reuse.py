"""Predicted against real time to reuse, as the plugin counts it: what to ask, and when a predictor is off.

docs/reference/metrics.md says what each metric is. Calls known meanwhile and afterwards are taken together:
the question is whether the model is right, not whether somebody could use it.
"""

from __future__ import annotations

_BY = "by (job, instance, role)"
_ENDED = "keepwarm_reuse_predictions_total"
_CAME_BACK = 'outcome=~"early|middle|late"'
_MEANWHILE = 'known="meanwhile"'
NOT_EXPORTED = (
    "predicted against real time to reuse: no server exports it; run one with KEEPWARM_SCHEDULING or "
    "KEEPWARM_EVICTION=cachewise, and KEEPWARM_REUSE_MODEL"
)
NOT_PREDICTED = (
    "predicted against real time to reuse: no session with a prediction came back in the window; it takes "
    "a model (KEEPWARM_REUSE_MODEL) and tool calls, in hints or in the messages of the requests"
)

_LATENESS = f"""\
(
      sum {_BY} (increase({_ENDED}{{outcome="late"}}RANGE))
      - sum {_BY} (increase({_ENDED}{{outcome="early"}}RANGE))
    )
    / sum {_BY} (increase({_ENDED}{{{_CAME_BACK}}}RANGE))"""

PREDICTIONS_OFF = f"""\
abs(
  (
    {_LATENESS.replace("RANGE", "[15m]")}
  )
  - (
    {_LATENESS.replace("RANGE", "[1h] offset 20m")}
  )
) > 0.35
and sum {_BY} (increase({_ENDED}{{{_CAME_BACK}}}[15m])) >= 100
and sum {_BY} (increase({_ENDED}{{{_CAME_BACK}}}[1h] offset 20m)) >= 100
"""


def reuse_figures(window: str) -> dict[str, str]:
    """PromQL by the field of ``ServerNow`` that it fills."""

    def rate(selector: str) -> str:
        return f"sum {_BY} (rate({_ENDED}{{{selector}}}[{window}]))"

    def median(histogram: str) -> str:
        buckets = f"rate(keepwarm_reuse_{histogram}_bucket[{window}])"
        return f"histogram_quantile(0.5, sum by (job, instance, role, le) ({buckets}))"

    def total(histogram: str) -> str:
        return f"sum {_BY} (rate(keepwarm_reuse_{histogram}_sum[{window}]))"

    def within(ratio: float | str) -> str:
        return f'sum {_BY} (rate(keepwarm_reuse_ratio_bucket{{le="{ratio}"}}[{window}]))'

    came_back, never = rate(_CAME_BACK), rate('outcome=~"finished|away"')
    early, late = rate('outcome="early"'), rate('outcome="late"')
    unpredicted = f"sum {_BY} (rate(keepwarm_reuse_unpredicted_total[{window}]))"
    return {
        "predicted_reuse_p50_s": median("predicted_seconds"),
        "real_reuse_p50_s": median("real_seconds"),
        "reuse_ratio_p50": median("ratio"),
        "reuse_predicted_by_real": f"{total('predicted_seconds')} / {total('real_seconds')}",
        "reuse_within_2x_share": f"({within(2.0)} - {within(0.5)}) / {within('+Inf')}",
        "reuse_early_share": f"{early} / {came_back}",
        "reuse_late_share": f"{late} / {came_back}",
        "reuse_never_share": f"{never} / {rate(_MEANWHILE)}",
        "reuse_predicted_share": f"{came_back} / ({came_back} + {unpredicted})",
        "reuse_meanwhile_share": f"{rate(f'{_MEANWHILE},{_CAME_BACK}')} / {came_back}",
    }
