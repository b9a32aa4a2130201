"""The rule for parameters that switch cache reads off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import DropParam
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.trace.blocks import skips_reads

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class SkipReads(Rule):
    """A parameter makes the engine skip the look-up in its cache.

    To return log-probabilities of the prompt, vLLM has to compute the whole prompt; 0 asks for
    them just as 5 does. Such a request stores its blocks and reads none.

    **Recognised by** `prompt_logprobs` in the body of the request.

    **Fix.** Ask for log-probabilities of the prompt only where they are read.

    **Not to be confused with** `salt`, where the cache is read and holds nothing under that salt.
    """

    code = "skip-reads"
    owner = Owner.ENGINE
    summary = "a parameter makes the engine skip cache reads (prompt_logprobs)"
    suggestion = (
        "Leave prompt_logprobs out of requests whose prompt log-probabilities nobody reads; 0 is not off."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Rows with the parameter."""
        rows = tuple(row.index for row in view.rows if skips_reads(view.catalog.params(row)))
        if not rows:
            return
        first = view.catalog.rows[rows[0]]
        value = view.catalog.params(first).get("prompt_logprobs")
        yield Candidate(
            path="prompt_logprobs",
            rows=rows,
            confidence=0.95,
            evidence=Evidence(
                request=first.id,
                note=f"prompt_logprobs={value!r} in {len(rows)} of {len(view.rows)} requests",
            ),
            order=_order.READS,
            fixes=(DropParam("prompt_logprobs", rows),),
            reading=rows,
            token_offset=0,
        )
