from __future__ import annotations

import html
import json
import subprocess
import sys
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.repair.redaction import Redactor

NAME = "Oddný Hrafnsdóttir"
VALUES = {
    NAME: "name",
    "KD-6077-261": "id",
    "5 Elm Row, Tarn": "address",
    "客户王小明": "name",
    "ok": "value",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail ann.lee@mail.example.org", "mail <email-1>"),
        ("mail ann.lee%40mail.example.org", "mail <email-1>"),
        ("mail ann.lee&#64;mail.example.org", "mail <email-1>"),
        (r"mail ann.lee\u0040mail.example.org", "mail <email-1>"),
        (r"line\nAKIAQ2ESZREZB6C7NODO\nline", r"line\n<key-1>\nline"),
        ("IBAN DE88 3704 0044 2666 3776 41", "IBAN <iban-1>"),
        ("pay DE88370400442666377641 now", "pay <iban-1> now"),
        ("redis://:s3cr3tpw@cache:6379/0", "redis://<credentials-1>@cache:6379/0"),
        ("postgres://app:p@ss:w0rd@db/main", "postgres://<credentials-1>@db/main"),
        ("https://router:8443/a?token=4f9dK2mPqX7z&page=2", "https://router:8443/a?token=<secret-1>&page=2"),
        ('{"password": "correct horse battery"}', '{"password": "<secret-1>"}'),
        (r'{"a": "{\"password\": \"letmein\"}"}', r'{"a": "{\"password\": \"<secret-1>\"}"}'),
        ("The DB password is hunter99, keep it", "The DB password is <secret-1>, keep it"),
        ("deploy --token hunter-9xq now", "deploy --token <secret-1> now"),
        ("DB_PASS=letmein", "DB_PASS=<secret-1>"),
        ("AccountKey=abcDEF123456", "AccountKey=<secret-1>"),
        ("Authorization: Token 9944b09199c62bcf", "Authorization: Token <token-1>"),
        ("Cookie: sid=8f14e45fceea", "Cookie: <token-1>"),
        ("ssn 078-05-1120.", "ssn <ssn-1>."),
        ("from 203.0.113.77 port 22", "from <ip-1> port 22"),
        ("mac 00:1A:2b:3c:4D:5e up", "mac <address-1> up"),
        ("dob: 1984-07-19", "dob: <birthday-1>"),
        ("Dear Ms. Priya Okonkwo, thanks", "Dear Ms. <name-1>, thanks"),
        ('"customer_name": "Ines van Aalst"', '"customer_name": "<name-1>"'),
    ],
)
def test_what_has_a_shape_or_a_cue(text: str, expected: str) -> None:
    assert Redactor().redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "You are a careful assistant. Answer in three sentences; use at most 16384 tokens.",
        "It is now 2026-03-02T09:00:00Z, a Monday. Windows: 08–10, 10–13, 13–16.",
        "Requires Python 3.11.4 on 127.0.0.1:8000, mask 255.255.255.0.",
        "Never read out a password or a card number. The token: use it wisely.",
        '{"password": {"type": "string"}, "api_key": "string", "max_tokens": "unlimited"}',
        "password: $DB_PASSWORD and api_key = os.environ['API_KEY']",
        "Dear Customer, the tool_name: Search is ready. Close with Kind Regards.",
        "getUserAccountSettingsFromDatabase2(retryCount=3) in src/keepwarm/report_v2.py",
        "ISBN 978-3 and order BD-4904 of 2026-03-02 costs 1,204.50.",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    redactor = Redactor()
    assert (redactor.redact(text), redactor.counts) == (text, {})


SPELLINGS = {
    "as it is": lambda text: text,
    "capitals": str.upper,
    "spacing": lambda text: text.replace(" ", " \n  "),
    "no spacing": lambda text: text.replace(" ", ""),
    "joined": lambda text: text.replace(" ", "_"),
    "json": lambda text: json.dumps(text)[1:-1],
    "json twice": lambda text: json.dumps(json.dumps(text))[3:-3],
    "url": urllib.parse.quote,
    "form": urllib.parse.quote_plus,
    "page": lambda text: html.escape(text).encode("ascii", "xmlcharrefreplace").decode(),
    "no accents": lambda text: text.translate(str.maketrans("ýó", "yo")),
    "combining": lambda text: text.replace("ý", "y\u0301").replace("ó", "o\u0301"),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("value", [NAME, "KD-6077-261", "5 Elm Row, Tarn"])
def test_a_recorded_value_has_one_placeholder_in_every_spelling(value: str, spelling: str) -> None:
    redactor = Redactor(VALUES)
    placeholder = redactor.redact(value)
    assert placeholder == f"<{VALUES[value]}-1>"
    text = SPELLINGS[spelling](value)
    assert redactor.redact(f"(before) {text} (after)") == f"(before) {placeholder} (after)"


def test_a_value_is_no_part_of_another_word() -> None:
    assert Redactor(["art", "Ann Lee"]).redact("Start with art. Ann Lee, PlAnn Leek") == (
        "Start with <value-1>. <value-2>, PlAnn Leek"
    )


def test_scripts_without_spaces() -> None:
    assert Redactor(VALUES).redact("你好客户王小明你好") == "你好<name-1>你好"


def test_short_values_are_left_to_their_slot() -> None:
    redactor = Redactor(VALUES)
    assert redactor.redact("all ok") == "all ok"
    assert redactor.cover("ok", "counter") == "<counter-1>"
    assert redactor.cover("  \n", "counter") == "  \n"


def test_long_values_are_found_whole_and_in_part() -> None:
    passage = " ".join(f"Sentence {n} of a passage that somebody wrote." for n in range(200))
    redactor = Redactor({passage: "passage"})
    assert redactor.redact(f"Read: {passage} Answer.") == "Read: <passage-1>. Answer."
    tail = redactor.redact(f"Read: {passage[: len(passage) // 2]}")
    assert "Sentence 3" not in tail


def test_private_keys_go_line_by_line_too() -> None:
    line = "EYkon+akaZgjS5OtwBsKFCpsbBq2P4lMq9aM99BeAGLrRO1EGrdh3IMKEJsn6pNu"
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line[::-1]}\n-----END RSA PRIVATE KEY-----"
    for text in (block, json.dumps(block), line, f"cut {block[:70]}"):
        shown = Redactor().redact(text)
        assert line not in shown
        assert line[:24] not in shown


def test_counts_are_different_values() -> None:
    redactor = Redactor()
    redactor.redact("a@b.example.org, A@B.example.org and c@d.example.org, 203.0.113.77")
    assert redactor.counts == {"email": 2, "ip": 1}


def test_it_is_a_function_of_text() -> None:
    redactor = Redactor()
    assert list(map(redactor, ["a@b.example.org", "x"])) == ["<email-1>", "x"]


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(
            [
                *VALUES,
                *(
                    "a@b.example.org",
                    "password=",
                    "sk-proj-abcdefghijkl0123",
                    "Bearer ",
                    "DE88370400442666377641",
                ),
                *(
                    "\\n",
                    "\\u00fd",
                    "%41",
                    "&amp;",
                    "<name-1>",
                    "<email",
                    "-1>",
                    "Dear ",
                    "-----BEGIN PRIVATE KEY-----",
                ),
                *(" ", "\n", '"', "'", ":", "=", "4556953815114202", "A1b2C3d4E5f6"),
            ]
        ),
    ),
    max_size=20,
).map("".join)


@given(TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redactor = Redactor(VALUES)
    once = redactor.redact(text)
    assert redactor.redact(once) == once
    assert Redactor(VALUES).redact(once) == once


@given(TEXTS, st.sampled_from(sorted(SPELLINGS)), TEXTS)
def test_no_surroundings_bring_a_value_back(before: str, spelling: str, after: str) -> None:
    spelled = SPELLINGS[spelling](NAME)
    shown = Redactor(VALUES).redact(f"{before} {spelled} {after}")
    assert spelled not in shown


@given(TEXTS)
def test_the_same_text_gives_the_same_bytes(text: str) -> None:
    assert Redactor(VALUES).redact(text) == Redactor(VALUES).redact(text)


HOSTILE = r"""
import sys
from keepwarm.repair.redaction import Redactor
length, *units = sys.argv[1:]
for unit in units:
    text = unit * (int(length) // len(unit))
    redactor = Redactor(["Marisol Quenneville", "aaaa", "a" * 100, "1 1 1 1"])
    once = redactor.redact(text)
    assert redactor.redact(once) == once, unit
"""
UNITS = [
    *(
        "a",
        "1",
        "A",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "eyJa.",
        "sk-",
        "a@",
        "a.",
        "://a:",
    ),
    *(
        "password=",
        "password: '",
        "bearer ",
        "\\",
        "%41",
        "%4",
        "&a",
        "&#6",
        "\\u00",
        "ab:",
        "deadbeef-",
        "DE12 ",
    ),
    *("+1 ", "0123 ", "4 ", "1.", "Dear A", "Ab ", "customer_name: ", "<email-1", '"', "born ", "passport A"),
    *("cookie: a=", "?key=", "--token ", "aB3/", "a-b_c.", "api key ", "\u0301", "客户", "Ms. ", "|"),
]


def test_hostile_text_takes_no_time_to_speak_of() -> None:
    """Quadratic time would take hours for texts of this length, linear time takes seconds."""
    subprocess.run([sys.executable, "-c", HOSTILE, "100000", *UNITS], check=True, timeout=500)
