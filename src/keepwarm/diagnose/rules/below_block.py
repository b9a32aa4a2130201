"""The rule for prefixes shorter than a block."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.diagnose.traffic import common_prefix
from keepwarm.trace.catalog import Row
from keepwarm.trace.prompt import Origin

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView

_MIN_ROWS = 3
_MOST = 0.5
_FEW = 0.1  # a question asked twice, or a chance resemblance, changes nothing
_FEW_TOKENS = 0.03  # nor do several that go no further than a block


class BelowBlock(Rule):
    """What requests share is shorter than one block, or than the engine's unit of matching.

    Only full blocks are cached. A shared beginning of a few words never fills one; hybrid models
    match in units of a thousand tokens and more, longer than many system prompts.

    **Recognised by** requests that begin alike, hit nothing, and leave each other before the first
    block is full. Recovers nothing by itself, and is reported when it is the reason.

    **Fix.** Nothing in the prompt; a smaller block size or unit, where the engine has one.

    **Not to be confused with** an early slot: there the shared text goes on behind the break.
    """

    code = "below-block"
    owner = Owner.ENGINE
    summary = "the shared prefix is shorter than one block or match unit"
    suggestion = (
        "Nothing to fix in the prompts; a smaller block size or match unit would let the shared "
        "beginning hit."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """A site whose requests share a beginning that fills no block."""
        rows = [row for row in view.rows if row.hashed is None]
        if len(rows) < _MIN_ROWS or self._hits(view, rows):
            return
        short = []
        for previous, row in itertools.pairwise(rows):
            shared = common_prefix(view.traffic.ids(previous.index), view.traffic.ids(row.index))
            if shared < view.measured.block_size and self._shares_text(view, row.index, shared):
                short.append((row.index, shared))
        if len(short) < _MOST * (len(rows) - 1):
            return
        index, longest = max(short, key=lambda item: item[1])
        yield Candidate(
            path=None,
            rows=tuple(i for i, _ in short),
            confidence=0.9,
            evidence=Evidence(
                request=view.catalog.rows[index].id,
                note=f"at most {longest} shared tokens, blocks of {view.measured.block_size}",
            ),
            order=_order.BELOW_BLOCK,
            token_offset=longest,
            keep_without_gain=True,
        )

    @staticmethod
    def _hits(view: SiteView, rows: Sequence[Row]) -> bool:
        """Whether more than a few requests hit, and more than a few tokens."""
        hits = [view.measured.hit_unbounded[row.index] for row in rows]
        prompt_tokens = sum(view.measured.prompt[row.index] for row in rows)
        return sum(hit > 0 for hit in hits) > _FEW * len(rows) and sum(hits) > _FEW_TOKENS * prompt_tokens

    @staticmethod
    def _shares_text(view: SiteView, index: int, shared: int) -> bool:
        """Whether the shared tokens hold any text of the application, not the template's opening alone."""
        prompt = view.traffic.prompt(index)
        if shared == 0 or shared >= len(prompt.char_starts):
            return shared > 0
        end = int(prompt.char_starts[shared])
        return any(span.origin is not Origin.TEMPLATE and span.start < end for span in prompt.rendered.spans)
