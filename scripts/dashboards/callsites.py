"""Call sites, as ``keepwarm watch --trace`` exports them: whose prompts hit, and whose changed."""

from __future__ import annotations

from scripts.dashboards.model import Dashboard, Panel, Query, Row, rate

_LEGEND = "{{call_site}}"
_SIMULATED = '{origin="simulated"}'


def _last(origin: str) -> str:
    return f'max by (call_site) (keepwarm_call_site_hit_rate{{origin="{origin}", window="last"}})'


CALL_SITES = Dashboard(
    "callsites",
    "keepwarm: call sites",
    [
        Row(
            "Call sites",
            [
                Panel(
                    "Hit rate, simulated",
                    "Mean hit share of the last 20 requests: what follows from the prompts alone.",
                    [Query(_last("simulated"), _LEGEND)],
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Hit rate, recorded",
                    "The same as the server counted it: what evictions and routing cost is in it. Empty "
                    "where the server does not tell cached tokens.",
                    [Query(_last("recorded"), _LEGEND)],
                    unit="percentunit",
                    most=1,
                ),
                Panel(
                    "Change of the hit rate",
                    "From 1 on the simulated hit rate has changed; 2 is the most.",
                    [
                        Query(
                            f"max by (call_site, direction) (keepwarm_call_site_change_score{_SIMULATED})",
                            "{{call_site}}: {{direction}}",
                        )
                    ],
                ),
                Panel(
                    "Prompt tokens without a hit",
                    "Per second, simulated: where a repair would pay most.",
                    [
                        Query(
                            f"{rate('keepwarm_call_site_prompt_tokens_total', 'call_site', _SIMULATED)} - "
                            f"{rate('keepwarm_call_site_hit_tokens_total', 'call_site', _SIMULATED)}",
                            _LEGEND,
                        )
                    ],
                    unit="tokens/s",
                ),
            ],
        ),
    ],
)
