"""The model's part of answering from articles."""

from __future__ import annotations

import re
from collections.abc import Sequence

from helpdesk.knowledge import Article, HelpCentre, words
from helpdesk.scripted.reading import last_user_text
from helpdesk.tickets import ChatMessage

_ARTICLE = re.compile(r'<article id="([^"]+)" title="([^"]+)">\n(.*?)\n</article>', re.DOTALL)


def answer_question(messages: Sequence[ChatMessage]) -> str:
    """Steps or an explanation from the article that fits best, with its number."""
    texts = "\n".join(str(message["content"]) for message in messages)
    articles = [Article(*found) for found in _ARTICLE.findall(texts)]
    question = _ARTICLE.sub("", last_user_text(messages)).rpartition("Question:")[2]
    best = HelpCentre(articles).search(question, 1)
    if not best:
        return "The help centre does not say."
    article = best[0]
    lead, steps, limits = _parts(article.body)
    detail = _closest_sentence(limits, question)
    if re.search(r"how do|how can i (?:set|put|change|choose|add|import|invite)", question, re.IGNORECASE):
        return f"{lead}\n\n{steps}\n\n{detail} [{article.id}]"
    return f"{detail} {lead} [{article.id}]"


def _parts(body: str) -> tuple[str, str, str]:
    lead, steps, limits = body.split("\n\n", 2)
    return lead, steps, limits


def _closest_sentence(text: str, question: str) -> str:
    asked = set(words(question))
    sentences = re.split(r"(?<=[.])\s+", text)
    return max(sentences, key=lambda sentence: len(asked & set(words(sentence))))
