"""The help centre: articles as markdown files, found by their words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files

_COMMON_WORDS = """
    a an and are as at be by can do does for from has have how i if in is it its me my not of on one or our
    please so than that the them then they this to us was we what when which who will with you your
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_TITLE_WEIGHT = 3


@dataclass(frozen=True)
class Article:
    """A help-centre article; ``body`` is markdown without the title line."""

    id: str
    title: str
    body: str


def words(text: str) -> list[str]:
    """Lower-case words without the commonest ones, a plural s removed."""
    found = re.findall(r"[a-zà-ÿ]+", text.lower())
    return [word.removesuffix("s") for word in found if word not in _COMMON]


class HelpCentre:
    """Articles with a small inverse-frequency index."""

    def __init__(self, articles: Iterable[Article]) -> None:
        self.articles = sorted(articles, key=lambda article: article.id)
        self._counts = [
            Counter(words(article.title) * _TITLE_WEIGHT + words(article.body)) for article in self.articles
        ]
        seen_in = Counter(word for counts in self._counts for word in counts)
        self._weight = {word: math.log(1 + len(self.articles) / n) for word, n in seen_in.items()}

    @classmethod
    def load(cls) -> HelpCentre:
        """The shipped articles."""
        folder = files("helpdesk").joinpath("data", "articles")
        return cls(_parse(entry.name, entry.read_text(encoding="utf-8")) for entry in folder.iterdir())

    def search(self, question: str, limit: int) -> list[Article]:
        """The ``limit`` articles that share most with the question, best first, ties by id."""
        asked = set(words(question))
        scored = [
            (
                sum(self._weight[word] * math.sqrt(counts[word]) for word in sorted(asked & counts.keys())),
                article,
            )
            for counts, article in zip(self._counts, self.articles, strict=True)
        ]
        scored.sort(key=lambda pair: (-pair[0], pair[1].id))
        return [article for score, article in scored[:limit] if score > 0]


def _parse(file_name: str, text: str) -> Article:
    title, _, body = text.partition("\n")
    return Article(id=file_name.removesuffix(".md"), title=title.removeprefix("# "), body=body.strip())
