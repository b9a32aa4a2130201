"""A server's words about a failure stay, the request's own words do not."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from keepwarm.replay.measuring.quoting import unquoted

BODY = {
    "messages": [{"role": "user", "content": 'Ada Lovelace asks "when"\nand why'}],
    "tools": [{"name": "look_up_rota"}],
}


def test_what_is_quoted_is_left_out() -> None:
    assert unquoted("HTTP 400: cannot take 'Ada Lovelace asks', sorry", BODY) == (
        "HTTP 400: cannot take '‹request›', sorry"
    )
    assert unquoted("HTTP 400: no tool look_up_rota here", BODY) == "HTTP 400: no tool ‹request› here"
    assert unquoted("HTTP 500: engine dead", BODY) == "HTTP 500: engine dead"


def test_escapes_hide_nothing() -> None:
    message = json.dumps({"detail": BODY["messages"]})
    assert "Lovelace" not in unquoted(message, BODY)
    assert "and why" not in unquoted(message, BODY)


@given(st.text(min_size=10, max_size=40), st.text(max_size=30), st.text(max_size=30))
def test_no_quoted_text_stays_whole(content: str, before: str, after: str) -> None:
    body = {"messages": [{"role": "user", "content": content}]}
    shown = unquoted(f"{before}{content}{after}", body)
    assert content not in shown.replace("‹request›", "")
