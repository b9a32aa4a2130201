from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepwarm.diagnose.report.secrets import cover_secrets


def covered(text: str) -> str:
    return cover_secrets(text, lambda kind, _secret: f"<{kind}>")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to ann.lee+x@mail.example.org now", "write to <email> now"),
        ("call +44 20 7946 0958 today", "call <phone> today"),
        ("call (020) 7946 0958 today", "call <phone> today"),
        ("call 555-123-4567 today", "call <phone> today"),
        ("card 4556 9538 1511 4202 expires", "card <card> expires"),
        ("account DE88 3704 0044 2666 3776 41", "account <iban>"),
        ("postgres://app:s3cr3t@db/main", "postgres://<credentials>@db/main"),
        ("Authorization: Bearer 3f9aX71kQpZz0LmN", "Authorization: Bearer <token>"),
        ('{"password": "correct-horse-9"}', '{"password": "<secret>"}'),
        ("API_KEY=abcd1234efgh", "API_KEY=<secret>"),
        ("id 32c03237-ff89-44ed-8394-e1fde57066a8.", "id <id>."),
        ("commit 9f4d10730006eef4bf802559", "commit <key>"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<key>"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEabc cut off", "<key>"),
        ("key EYkon+akaZgjS5OtwBsKFCpsbBq2P4lM", "key <key>"),
    ],
)
def test_shapes_of_secrets(text: str, expected: str) -> None:
    assert covered(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "You are a careful assistant. Answer in three sentences.",
        "It is now 2026-03-02T09:00:00Z, a Monday.",
        "Order BD-4904 of 2026-03-02 costs 1,204.50.",
        "messages[12].tool_calls[0].function.arguments",
        "getUserAccountSettingsFromDatabase2(retryCount=3)",
        "src/keepwarm/diagnose/report/terminal_report_v2.py",
        "linux-6.8.0-arch1-1-x86_64-with-glibc2.39",
        "Use at most 16384 tokens and 2048 blocks.",
        "The token: use it wisely",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert covered(text) == text


def test_planted_canaries_with_a_shape_are_covered(shared: Path) -> None:
    """All but names and customer numbers, which look like any other words."""
    for file in sorted((shared / "cases" / "secrets").glob("*.canaries.json")):
        for canary in json.loads(file.read_text()):
            if any(c.isdigit() for c in canary) and not canary.startswith("KD-"):
                assert canary not in covered(f"before {canary} after")
