"""The rules for prompts that do not grow although their messages do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.grow import GrowPrompt, content_end
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.traffic import common_prefix

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_SEAM_TOKENS = 4  # tokens that may merge differently where two messages meet


class TemplateHistory(Rule):
    """The rendering of one turn is not the beginning of the next turn's.

    Templates that strip the thinking of earlier turns, or print the tools or a marker at the last
    user message only, render the history in another way than it was first sent.

    **Recognised by** a request whose messages continue those of the one before it, while the
    rendered text does not.

    **Fix.** A template, or a template argument, that renders history as it was first sent (say,
    one that keeps the thinking); a setting of the server.

    **Not to be confused with** `history-rewrite`, where the application changes the messages.
    """

    code = "template-history"
    owner = Owner.TEMPLATE
    summary = "rendering of turn N is not a prefix of turn N+1 (thinking stripped, last-turn-only markers)"
    suggestion = (
        "Use a chat template, or chat_template_kwargs, that renders earlier turns as they were first "
        "sent; thinking that is stripped later and markers on the last turn only break the prefix."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Continued messages whose text is not continued."""
        yield from _candidates(view, same_text=False)


class Retokenization(Rule):
    """The text is a prefix of the next turn's, the token ids are not.

    Sampled tokens decoded and encoded again, or two code paths that encode a conversation as a
    whole and message by message, give other ids for the same text. The cache knows ids only.

    **Recognised by** recorded token ids that differ where the rendered text does not.

    **Fix.** Keep the ids that were sampled and append to them, or encode along one path only.

    **Not to be confused with** `whitespace`, where the text itself differs.
    """

    code = "retokenization"
    owner = Owner.TEMPLATE
    summary = "text is a prefix, token ids are not"
    suggestion = (
        "Keep the token ids of earlier turns and append to them instead of encoding the text again, and"
        " encode along one code path only."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Continued text whose ids are not continued."""
        yield from _candidates(view, same_text=True)


def _candidates(view: SiteView, *, same_text: bool) -> Iterable[Candidate]:
    parents: dict[int, int] = {}
    broken: list[tuple[int, int]] = []
    for row in view.rows:
        parent = _continued(view, row.index)
        if parent is None:
            continue
        parents[row.index] = parent
        at = _break(view, parent, row.index, same_text=same_text)
        if at is not None:
            broken.append((row.index, at))
    if not broken:
        return
    index, at = broken[0]
    parent = parents[index]
    yield Candidate(
        path=None,
        rows=tuple(i for i, _ in broken),
        confidence=0.9,
        evidence=_evidence(view, parent, index, at),
        order=_order.TEMPLATE_HISTORY,
        grow=GrowPrompt(parents),
        token_offset=at,
    )


def _continued(view: SiteView, index: int) -> int | None:
    """The parent, if the request only adds messages to it."""
    parent = view.parents[index]
    if parent is None:
        return None
    before, row = view.catalog.rows[parent], view.catalog.rows[index]
    grows = before.messages and row.messages[: len(before.messages)] == before.messages
    same = before.tools == row.tools and before.model == row.model
    return parent if grows and same and len(row.messages) > len(before.messages) else None


def _break(view: SiteView, parent: int, index: int, *, same_text: bool) -> int | None:
    """The token at which a continued conversation leaves its past, if it does so for the reason asked."""
    if _grows(view, parent, index):
        return None
    before, after = view.traffic.prompt(parent), view.traffic.prompt(index)
    end = content_end(before, len(view.catalog.rows[parent].messages))
    if end is None:
        return None
    past = view.traffic.past_ids(parent)
    shared = common_prefix(past, view.traffic.ids(index))
    if len(past) > len(before.ids) and _repeats_answer(view, parent, index):
        end = len(past)
    if shared >= end - _SEAM_TOKENS:
        return None
    end = min(end, len(before.ids))
    end_char = int(before.char_starts[end]) if end < len(before.char_starts) else len(before.rendered.text)
    # Rendered at one time, so that a clock in the template is not taken for lost history.
    request = view.catalog.request(view.catalog.rows[index])
    text = view.traffic.rendered_text(request, view.catalog.rows[parent].time_s)
    is_continued = text.startswith(before.rendered.text[:end_char])
    if is_continued is not same_text:
        return None
    if same_text and after.rendered.text[:end_char] != before.rendered.text[:end_char]:
        return None  # the clock alone differs
    return shared


def _grows(view: SiteView, parent: int, index: int) -> bool:
    """Whether the blocks alone show that nearly all of the parent's prompt is the row's beginning."""
    if view.catalog.rows[parent].answer_token_ids is not None:
        return False  # the answer counts too, and its blocks lie behind the prompt
    a, b = view.traffic.encoded[parent], view.traffic.encoded[index]
    shared_blocks = common_prefix(a.blocks, b.blocks)
    return shared_blocks >= len(a.blocks) - 1


def _repeats_answer(view: SiteView, parent: int, index: int) -> bool:
    """Whether the request replays the parent's answer word for word."""
    before, row = view.catalog.rows[parent], view.catalog.rows[index]
    if before.answer is None:
        return False
    answer = view.catalog.message(before.answer)
    replayed = view.catalog.message(row.messages[len(before.messages)])
    return answer.get("content") == replayed.get("content")


def _evidence(view: SiteView, parent: int, index: int, at: int) -> Evidence:
    texts = []
    for i in (parent, index):
        prompt = view.traffic.prompt(i)
        start = int(prompt.char_starts[min(at, len(prompt.char_starts) - 1)])
        texts.append(
            (prompt.rendered.text[max(0, start - 60) : start], prompt.rendered.text[start : start + 40])
        )
    return Evidence(
        request=view.catalog.rows[index].id,
        compared_with=view.catalog.rows[parent].id,
        before=texts[1][0],
        values=(texts[0][1], texts[1][1]),
    )
