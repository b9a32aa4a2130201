"""Settings of the desk. One frozen value, made once and handed to whoever needs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time
from decimal import Decimal

COMPANY = "Pennant Ledger"

ENABLED_TOOLS: frozenset[str] = frozenset(
    {
        "find_customer",
        "list_invoices",
        "issue_refund",
        "resend_invoice",
        "change_plan",
        "check_incidents",
        "start_privacy_request",
        "reset_second_factor",
        "escalate",
    }
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What may differ between the live desk, a trial and a test."""

    model: str = "Qwen/Qwen3-8B"
    refund_limit_eur: Decimal = Decimal(250)
    refund_window_days: int = 30
    office_opens: time = time(8, 0)
    office_closes: time = time(18, 0)
    articles_per_question: int = 3
    max_tool_rounds: int = 6
    enabled_tools: frozenset[str] = field(default=ENABLED_TOOLS)
