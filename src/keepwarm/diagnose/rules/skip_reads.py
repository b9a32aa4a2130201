"""The rule for parameters that switch cache reads off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwarm.diagnose.findings import Evidence, Owner
from keepwarm.diagnose.fixes import DropParam
from keepwarm.diagnose.rules import _order
from keepwarm.diagnose.rules.base import Candidate, Rule
from keepwarm.trace.blocks import read_skipping_param

if TYPE_CHECKING:
    from keepwarm.diagnose.view import SiteView


class SkipReads(Rule):
    """A parameter makes the engine skip the look-up in its cache.

    To return log-probabilities of the prompt, vLLM has to compute the whole prompt; 0 asks for
    them just as 5 does. Such a request stores its blocks and reads none.

    **Recognised by** `prompt_logprobs` in the body of the request, or `echo`, which gives the prompt
    back with log-probabilities: in a chat always, in a completion if `logprobs` is set.

    **Fix.** Ask for log-probabilities of the prompt only where they are read.

    **Not to be confused with** `salt`, where the cache is read and holds nothing under that salt.
    """

    code = "skip-reads"
    owner = Owner.ENGINE
    summary = "a parameter makes the engine skip cache reads (prompt_logprobs)"
    suggestion = (
        "Leave prompt_logprobs out of requests whose prompt log-probabilities nobody reads; 0 is not off, "
        "and echo asks for them too."
    )

    def candidates(self, view: SiteView) -> Iterable[Candidate]:
        """Rows with such a parameter, one candidate for each."""
        rows: dict[str, list[int]] = {}
        for row in view.rows:
            name = read_skipping_param(view.catalog.params(row), is_chat=row.prompt_text is None)
            if name is not None:
                rows.setdefault(name, []).append(row.index)
        for name, indices in rows.items():
            first = view.catalog.rows[indices[0]]
            value = view.catalog.params(first).get(name)
            yield Candidate(
                path=name,
                rows=tuple(indices),
                confidence=0.95,
                evidence=Evidence(
                    request=first.id, note=f"{name}={value!r} in {len(indices)} of {len(view.rows)} requests"
                ),
                order=_order.READS,
                fixes=(DropParam(name, indices),),
                reading=tuple(indices),
                token_offset=0,
            )
