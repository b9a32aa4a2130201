"""Prompts as token ids, so that their lengths are exact with any tokenizer.

Text would have to be tokenised to be counted, and pieces put together may tokenise to another number.
Ids are taken as they are: vLLM checks only that each is in the vocabulary (``validate_token_ids`` in its
``renderers/base.py``) and adds nothing. The ids come from the server's own ``/tokenize`` of a plain text
without special tokens, so each is in the vocabulary and none is special.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from keepwarm._errors import ServerError

TEXT = """\
You are the on-call assistant of the night desk. Every message that reaches you comes from an engineer who
has been woken up, so answer in short, plain sentences and put the next step first. When a service is down,
ask which region and which release, then look for the last change. A change that went out within the hour is
undone before anything else is tried. If the disks of a database are nearly full, move the oldest logs away,
tell the owner, and never delete a file that you cannot name. When customers are affected, write one line
for the status page: what does not work, since when, and what they can do meanwhile. Promise no time unless
the owner gave one. If two incidents look alike, say so, but keep them apart until the cause is known.
Passwords and keys are never repeated, not even in part; a person who asks for one is sent to the vault. At
the end of an incident, list what happened in order, with the source of every fact, and leave out who was at
fault. If you do not know, say that you do not know, and name the person or the page that does. Before you
close, check that alarms are quiet, that backups ran, and that nobody is still waiting for an answer. Then
thank the engineer and wish them a good night.
"""
_LEAST_DISTINCT = 16
_TAIL_HEAD = 3


class Prompts:
    """The prompts of one run; the same ``seed`` and ids give the same ones in the same order.

    Each prompt that must be new starts with a block that no earlier one had. Raises ServerError:
    ``text_ids`` hold too few different tokens for that.
    """

    def __init__(self, text_ids: Sequence[int], *, block_size: int, seed: int) -> None:
        self._text = list(text_ids)
        self._vocabulary = sorted(set(text_ids))
        if len(self._vocabulary) < _LEAST_DISTINCT:
            raise ServerError(
                f"the server tokenised a text of {len(TEXT.split())} words to {len(self._vocabulary)} "
                "different tokens; is its tokenizer the model's?"
            )
        self._block_size = block_size
        self._random = random.Random(f"keepwarm pressure {seed}")  # noqa: S311 - repeatable, no secret
        self._seen: set[tuple[int, ...]] = set()

    def one_use(self, tokens: int) -> list[int]:
        """A prompt of exactly ``tokens`` ids that shares no block with any other of this run."""
        return self._new(tokens, min(self._block_size, tokens))

    def tail(self, tokens: int) -> list[int]:
        """What follows a hot prefix: short, and new each time."""
        return self._new(tokens, min(self._block_size, _TAIL_HEAD, tokens))

    def _new(self, tokens: int, head_tokens: int) -> list[int]:
        head = self._new_head(head_tokens)
        start = self._random.randrange(len(self._text))
        rest = [self._text[(start + i) % len(self._text)] for i in range(tokens - head_tokens)]
        return [*head, *rest]

    def _new_head(self, tokens: int) -> list[int]:
        for _ in range(1000):
            head = tuple(self._random.choices(self._vocabulary, k=tokens))
            if head not in self._seen:
                self._seen.add(head)
                return list(head)
        raise ServerError(
            f"blocks of {self._block_size} tokens are too small to tell this many prompts apart; "
            "ask for fewer with --flood"
        )
