"""The model's part of triage."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime

from helpdesk.config import Settings
from helpdesk.scripted.reading import find_first, last_user_text
from helpdesk.tickets import ChatMessage

_CATEGORY_PATTERNS = (
    ("privacy", r"personal data|data protection"),
    ("incident", r"outage|bank feed|broken|not confirmed"),
    ("account", r"second factor|locked out|upgrade|downgrade"),
    ("billing", r"refund|charge|resend|INV-\d"),
    ("how-to", r"\bhow\b|\bwhere\b|\bcan i\b"),
)
_CLOSING = r"\bthank|\bthanks\b|\ball good\b"
_HIGH = r"tonight|deadline|locked out|by noon"


def sort_message(messages: Sequence[ChatMessage]) -> str:
    """The JSON line that triage asks for."""
    text = last_user_text(messages)
    category = _category(text)
    urgency = _urgency(text, category)
    stated = find_first(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d)", messages)
    away = stated is not None and not _is_open(datetime.fromisoformat(stated))
    on_call = away and urgency == "high" and category not in ("how-to", "closing")
    return json.dumps(
        {
            "ticket": find_first(r"(PL-\d{5})", messages) or "",
            "category": category,
            "urgency": urgency,
            "desk": "on-call" if on_call else "day",
        }
    )


def _category(text: str) -> str:
    body = re.split(r"Subject: .*\n+", text)[-1]
    if re.search(_CLOSING, body, re.IGNORECASE) and not re.search(r"\?|please", body, re.IGNORECASE):
        return "closing"
    for category, pattern in _CATEGORY_PATTERNS:
        if re.search(pattern, body, re.IGNORECASE):
            return category
    return "account"


def _urgency(text: str, category: str) -> str:
    if category == "closing":
        return "low"
    return "high" if re.search(_HIGH, text, re.IGNORECASE) else "normal"


def _is_open(now: datetime) -> bool:
    settings = Settings()
    return now.weekday() < 5 and settings.office_opens <= now.time() < settings.office_closes
