"""How much the redactor finds, and how much it covers that is none: ``python -m scripts.redaction_report``.

Recall over generated secrets in generated surroundings. Precision by characters over the same texts,
set into paragraphs of ordinary system prompts; and what is covered in those prompts as they are.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keepwarm.repair.redaction import Redactor
from keepwarm.repair.redaction.views import canonical
from scripts.made_secrets import Made, make, make_bare

_ROOT = Path(__file__).resolve().parent.parent
_PLACEHOLDER = re.compile(r"<[a-z]+(?:-[a-z]+){0,4}-[0-9]{1,9}>")
_LEAKED_CHARS = 8  # of a secret in a row are a leak, even where the rest is covered


class Outcome(NamedTuple):
    """One generated secret: whether it leaked, and characters covered that are not part of it."""

    made: Made
    leaked: bool
    covered_chars: int
    needless_chars: int


def leaks(plain: str, frame: str, shown: str) -> bool:
    """Whether ``plain`` can be read in ``shown``, in any spelling; of long ones eight characters do.

    What ``frame``, the surroundings, and every value of its kind have as well is no secret.
    """
    secret, text = canonical(plain), canonical(shown)
    if len(secret) <= 2 * _LEAKED_CHARS:
        return secret in text
    known = canonical(f"{frame} {_KNOWN.sub(' ', plain) if '://' in plain else ''} {' '.join(_FRAMES)}")
    pieces = (secret[i : i + _LEAKED_CHARS] for i in range(0, len(secret) - _LEAKED_CHARS + 1, 4))
    return any(piece in text and piece not in known for piece in pieces)


_KNOWN = re.compile(r"(?<=://)[^@]*(?=@)")
_FRAMES = tuple(
    f"-----{end} {kind}-----" for end in ("BEGIN", "END") for kind in ("RSA PRIVATE KEY", "PRIVATE KEY")
)


def judged(made: Made, prose: str) -> Outcome:
    """Redact ``made`` between two halves of an ordinary paragraph."""
    redactor = Redactor([made.plain] if made.recorded else ())
    half = prose.rfind(" ", 0, len(prose) // 2)
    whole = f"{prose[:half]}\n{made.text}\n{prose[half:]}"
    shown = redactor.redact(whole)
    covered = len(whole) - sum(map(len, _PLACEHOLDER.split(shown)))
    return Outcome(made, leaks(made.plain, made.frame, shown), covered, max(0, covered - made.chars))


def ordinary_prompts(shared: Path) -> list[str]:
    """System texts and tool descriptions of the healthy labelled cases, each once."""
    texts: dict[str, None] = {}
    for file in sorted((shared / "cases" / "healthy").glob("*.jsonl*")):
        raw = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        for line in raw.splitlines():
            texts.update(dict.fromkeys(_texts(json.loads(line))))
    return list(texts)


def _texts(record: dict[str, object]) -> Iterator[str]:
    body = record.get("body") or {}
    for message in body.get("messages", ()):  # type: ignore[attr-defined]
        if message.get("role") == "system" and isinstance(message.get("content"), str):
            yield message["content"]
    for tool in body.get("tools", ()):  # type: ignore[attr-defined]
        yield str((tool.get("function") or {}).get("description") or "")


def report(count: int, seed: int, shared: Path) -> dict[str, object]:
    """The figures, as the page docs/design/redaction.md has them."""
    prompts = ordinary_prompts(shared)
    paragraphs = [p for text in prompts for p in text.split("\n\n") if 200 <= len(p) <= 2000]
    outcomes = [judged(made, paragraphs[n % len(paragraphs)]) for n, made in enumerate(make(count, seed))]
    covered = sum(outcome.covered_chars for outcome in outcomes)
    needless = sum(outcome.needless_chars for outcome in outcomes)
    bare = [judged(made, paragraphs[n % len(paragraphs)]) for n, made in enumerate(make_bare(400, seed))]
    return {
        "secrets": count,
        "seed": seed,
        "recall": round(1 - sum(outcome.leaked for outcome in outcomes) / count, 4),
        "covered_characters": covered,
        "needlessly_covered_characters": needless,
        "precision_by_characters": round(1 - needless / covered, 4),
        "recall_by_kind": _recall(outcomes),
        "recall_where_nothing_gives_it_away": _recall(bare),
        "missed": [f"{o.made.kind} / {o.made.context}: {o.made.text!r}" for o in outcomes if o.leaked][:40],
        "ordinary_prompts": _ordinary(prompts),
        "ordinary_pages": _ordinary([page.read_text() for page in sorted((_ROOT / "docs").rglob("*.md"))]),
    }


def _recall(outcomes: list[Outcome]) -> dict[str, float]:
    by_kind = Counter(outcome.made.kind for outcome in outcomes)
    leaked = Counter(outcome.made.kind for outcome in outcomes if outcome.leaked)
    return {kind: round(1 - leaked[kind] / number, 4) for kind, number in sorted(by_kind.items())}


def _ordinary(texts: list[str]) -> dict[str, object]:
    """What is covered in texts that hold no secrets."""
    found: Counter[str] = Counter()
    covered: list[str] = []
    for text in texts:
        redactor = Redactor()
        shown = redactor.redact(text)
        found.update(redactor.counts)
        covered += _covered(text, shown) if shown != text else []
    return {
        "texts": len(texts),
        "characters": sum(map(len, texts)),
        "covered": dict(sorted(found.items())),
        "covered_per_100000_characters": round(1e5 * sum(found.values()) / sum(map(len, texts)), 2),
        "examples": sorted(set(covered))[:60],
    }


def _covered(text: str, shown: str) -> list[str]:
    matcher = difflib.SequenceMatcher(None, text.split(" "), shown.split(" "), autojunk=False)
    words = text.split(" ")
    return [" ".join(words[a:b]) for tag, a, b, _, _ in matcher.get_opcodes() if tag != "equal"]


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--secrets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20260302)
    parser.add_argument(
        "--shared", type=Path, default=Path(os.environ.get("KEEPWARM_SHARED", _ROOT.parent / "shared"))
    )
    parser.add_argument(
        "--examples", action="store_true", help="also show what was missed or covered needlessly"
    )
    given = parser.parse_args()
    figures = report(given.secrets, given.seed, given.shared)
    if not given.examples:
        figures.pop("missed")
        for corpus in ("ordinary_prompts", "ordinary_pages"):
            figures[corpus].pop("examples")  # type: ignore[attr-defined]
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
