"""Secrets and personal data made at random, in the surroundings in which prompts have them.

Nothing here opens anything: keys have the shape of real ones and random content.
"""

from __future__ import annotations

import base64
import html
import json
import random
import string
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from typing import NamedTuple

_ALNUM = string.ascii_letters + string.digits
_BASE64 = _ALNUM + "+/"
_URL64 = _ALNUM + "-_"
_FIRST = (
    *("Marisol", "Thaddeus", "Oddný", "Ines", "Björn", "Zoë", "Łukasz", "Anneke"),
    *("Kwame", "Siobhán", "Renée", "Yusuf", "Priya", "Mateo", "Ayşe"),
)
_LAST = (
    *("Quenneville", "Brockwell", "Hrafnsdóttir", "van-Aalst", "Nwosu"),
    *("Müller", "Ó-Briain", "Żelazny", "Castellanos", "Okonkwo"),
)
_HOSTS = ("mail.example.org", "brackenfold-post.net", "larkspur-home.example", "post.zavod.example.co")


_BARE, _NAMED, _QUOTED = range(3)  # what a context gives away: nothing, a name, a name and where it ends


_WORDS = ("correct", "horse", "battery", "staple", "velvet", "anchor", "puzzle", "meadow", "lantern")


class Made(NamedTuple):
    """A secret in its surroundings: ``plain`` must not be readable in what ``text`` is redacted to.

    ``recorded`` says that it is a value of a slot, which the redactor is told.
    """

    kind: str
    context: str
    plain: str
    text: str
    frame: str  # the surroundings without it
    recorded: bool

    @property
    def chars(self) -> int:
        """Characters of ``text`` that are the secret."""
        return len(self.text) - len(self.frame)


def make(count: int, seed: int) -> Iterator[Made]:
    """``count`` secrets of all kinds in all contexts, the same for the same seed."""
    draw = random.Random(seed)
    kinds, contexts = list(_KINDS.items()), list(_CONTEXTS.items())
    for n in range(count):
        kind, (generate, recorded, needs) = kinds[n % len(kinds)]
        plain = generate(draw)
        fitting = [c for c in contexts if c[1][1] >= needs]
        context, (surround, _) = fitting[draw.randrange(len(fitting))]
        name, spelled = _name_for(draw, kind), _spelled(draw, kind, plain)
        yield Made(kind, context, plain, surround(name, spelled), surround(name, ""), recorded)


def make_bare(count: int, seed: int) -> Iterator[Made]:
    """Passwords, passphrases, names and customer numbers with nothing around that gives them away."""
    draw = random.Random(seed)
    kinds = [(kind, how) for kind, (how, recorded, needs) in _KINDS.items() if recorded or needs]
    surround, _ = _CONTEXTS["bare"]
    for n in range(count):
        kind, generate = kinds[n % len(kinds)]
        plain = generate(draw)
        yield Made(kind, "bare", plain, surround("", plain), surround("", ""), recorded=False)


def _some(draw: random.Random, alphabet: str, length: int) -> str:
    return "".join(draw.choice(alphabet) for _ in range(length))


def _name(draw: random.Random) -> str:
    return f"{draw.choice(_FIRST)} {draw.choice(_LAST).replace('-', ' ', 1)}"


def _email(draw: random.Random) -> str:
    user = draw.choice(["a.lee", "ines.castellanos+bills", "j_doe99", "kwame", "x-ray.7"])
    return f"{user}{draw.randrange(1000)}@{draw.choice(_HOSTS)}"


def _digits(draw: random.Random, length: int) -> str:
    return _some(draw, string.digits, length)


def _phone(draw: random.Random) -> str:
    return draw.choice(
        [
            f"+49 1{_digits(draw, 2)} 55{_digits(draw, 6)}",
            f"+1-{_digits(draw, 3)}-555-{_digits(draw, 4)}",
            f"+44 20 79{_digits(draw, 2)} {_digits(draw, 4)}",
            f"({_digits(draw, 3)}) 555-{_digits(draw, 4)}",
            f"0049 30 {_digits(draw, 7)}",
        ]
    )


def _card(draw: random.Random) -> str:
    digits = [
        int(c) for c in draw.choice(["4556", "5425", "37" + "82", "6011"]) + _some(draw, string.digits, 11)
    ]
    doubled = [d if i % 2 else sum(divmod(2 * d, 10)) for i, d in enumerate(reversed(digits))]
    digits.append(-sum(doubled) % 10)
    return "".join(map(str, digits))


def _iban(draw: random.Random) -> str:
    country, length = draw.choice([("DE", 18), ("NL", 14), ("FR", 23), ("GB", 18)])
    bank = (
        _some(draw, string.ascii_uppercase, 4) if country in ("NL", "GB") else _some(draw, string.digits, 4)
    )
    body = bank + _some(draw, string.digits, length - 4)
    check = 98 - int("".join(str(int(c, 36)) for c in body + country + "00")) % 97
    return f"{country}{check:02}{body}"


def _jwt(draw: random.Random) -> str:
    claims = json.dumps({"sub": _digits(draw, 8), "name": _name(draw)})
    parts = (json.dumps({"alg": "HS256", "typ": "JWT"}), claims)
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, _some(draw, _URL64, 43)])


def _pem(draw: random.Random) -> str:
    body = "\n".join(_some(draw, _BASE64, 64) for _ in range(draw.randrange(2, 9)))
    kind = draw.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY"])
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


def _connection(draw: random.Random) -> str:
    scheme = draw.choice(["postgres", "mysql", "redis", "amqp", "mongodb+srv", "https"])
    user = "" if scheme == "redis" else "svc_" + _some(draw, string.hexdigits.lower(), 4)
    return f"{scheme}://{user}:{_some(draw, _ALNUM + '!$_', 14)}@db{draw.randrange(9)}.internal:5432/prod"


def _prefixed(*forms: tuple[str, str, int]) -> Callable[[random.Random], str]:
    def generate(draw: random.Random) -> str:
        prefix, alphabet, length = draw.choice(forms)
        return prefix + _some(draw, alphabet, length)

    return generate


# Kind: how it is made, whether it is a recorded value, and what at least has to give it away.
_KINDS: dict[str, tuple[Callable[[random.Random], str], bool, int]] = {
    "provider key": (
        _prefixed(
            ("sk-proj-", _URL64, 74),
            ("sk-ant-api03-", _URL64, 60),
            ("AIza", _URL64, 35),
            ("hf_", _ALNUM, 34),
            ("sk_live_", _ALNUM, 24),
        ),
        False,
        _BARE,
    ),
    "repository token": (
        _prefixed(
            ("ghp_", _ALNUM, 36),
            ("glpat-", _URL64, 20),
            ("npm_", _ALNUM, 36),
            ("github_pat_", _ALNUM + "_", 60),
        ),
        False,
        _BARE,
    ),
    "chat token": (
        _prefixed(("xoxb-139278213209-560660014714-", _ALNUM, 24), ("xapp-1-", _ALNUM, 40)),
        False,
        _BARE,
    ),
    "cloud key id": (_prefixed(("AKIA", string.ascii_uppercase + string.digits, 16)), False, _BARE),
    "cloud secret": (_prefixed(("", _BASE64, 40)), False, _BARE),
    "jwt": (_jwt, False, _BARE),
    "pem": (_pem, False, _BARE),
    "connection string": (_connection, False, _BARE),
    "hex key": (_prefixed(("", "0123456789abcdef", 32), ("", "0123456789abcdef", 64)), False, _BARE),
    "password": (
        _prefixed(("", _ALNUM + "!#%*", 12), ("Sommer", string.digits, 4), ("hunter", string.digits, 2)),
        False,
        _NAMED,
    ),
    "passphrase": (lambda draw: " ".join(draw.choice(_WORDS) for _ in range(4)), False, _QUOTED),
    "uuid": (lambda draw: str(uuid.UUID(int=draw.getrandbits(128), version=4)), False, _BARE),
    "email": (_email, False, _BARE),
    "phone": (_phone, False, _BARE),
    "card": (_card, False, _BARE),
    "iban": (_iban, False, _BARE),
    "ip": (lambda draw: ".".join(str(draw.randrange(11, 127)) for _ in range(4)), False, _BARE),
    "name of a person": (_name, True, _BARE),
    "customer number": (
        lambda draw: f"KD-{draw.randrange(1000, 9999)}-{draw.randrange(100, 999)}",
        True,
        _BARE,
    ),
}
_SECRET_NAMES = (
    "password",
    "api_key",
    "client_secret",
    "DB_PASSWORD",
    "access-token",
    "secretKey",
    "passphrase",
)


def _name_for(draw: random.Random, kind: str) -> str:
    return draw.choice(_SECRET_NAMES) if kind in ("password", "passphrase") else kind.replace(" ", "_")


def _spelled(draw: random.Random, kind: str, plain: str) -> str:
    """The same value as people write it: cards and accounts in groups, names in capitals."""
    if kind in ("card", "iban") and draw.random() < 0.4:
        return " ".join(plain[i : i + 4] for i in range(0, len(plain), 4))
    if kind in ("name of a person", "customer number", "email") and draw.random() < 0.3:
        return draw.choice([plain.upper(), plain.lower(), plain.replace(" ", "  ")])
    return plain


def _in_json(name: str, value: str) -> str:
    return json.dumps({"note": "kept", name: value, "count": 3})


def _in_json_twice(name: str, value: str) -> str:
    return json.dumps({"arguments": _in_json(name, value)})


def _in_ascii_json(name: str, value: str) -> str:
    return json.dumps({"text": f"Please use {name}={value}\nand go on"}, ensure_ascii=True)


def _in_page(name: str, value: str) -> str:
    return f"<tr><td>{name}: {html.escape(value)}</td></tr>".replace("@", "&#64;")


# Context: how it is written, and what it gives away.
_CONTEXTS: dict[str, tuple[Callable[[str, str], str], int]] = {
    "sentence": (lambda n, v: f"The {n.replace('_', ' ')} is {v}, keep it safe.", _NAMED),
    "bare": (lambda _n, v: f"Here it is: {v} and nothing else.", _BARE),
    "json": (_in_json, _QUOTED),
    "json in json": (_in_json_twice, _QUOTED),
    "escaped line": (_in_ascii_json, _NAMED),
    "environment": (lambda n, v: f'export {n.upper().replace("-", "_")}="{v}"\nmake deploy', _QUOTED),
    "yaml": (lambda n, v: f"auth:\n  {n}: '{v}'\n  retries: 3\n", _QUOTED),
    "ini": (lambda n, v: f'[main]\n{n} = "{v}"\n', _QUOTED),
    "url": (
        lambda n, v: f"https://api.example.org/v1?q=1&{n}={urllib.parse.quote(v, safe='')}&page=2",
        _NAMED,
    ),
    "page": (_in_page, _NAMED),
    "table": (lambda n, v: f"| {n} | `{v}` |\n| --- | --- |", _NAMED),
    "diff": (lambda n, v: f'+{n}: "{v}"\n-{n}: ""\n', _QUOTED),
    "log": (lambda n, v: f"2026-03-02T09:00:00Z INFO login ok {n}={v} took=12ms", _NAMED),
}
