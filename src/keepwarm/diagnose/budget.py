"""A diagnosis within a stated budget of memory: where the rest goes, and whether the budget can be kept.

What stays in memory grows with requests and distinct messages; ``docs/design/memory.md`` has the figures.
"""

from __future__ import annotations

import msgspec

from keepwarm._errors import BudgetError
from keepwarm._progress import Progress
from keepwarm._resources import memory_text, resident_bytes
from keepwarm._spill import RunFolder
from keepwarm.cache.options import TraceOptions
from keepwarm.cache.store import spilled_key
from keepwarm.diagnose.options import Options
from keepwarm.trace.blocks import block_size_of
from keepwarm.trace.columns import Stores
from keepwarm.trace.open import Trace

_ENCODER_SHARE = 8  # of the budget, for what an encoder keeps of earlier prompts
_MOST_ENCODER_BYTES = 128 << 20
_BOUNDED_BYTES = 128 << 20  # word runs, row groups, texts used last: they do not grow with the trace
_BYTES_PER_REQUEST = 3_000  # at the worst moment; docs/design/memory.md has what it was measured on
_BYTES_PER_TEXT = 400
_SETTLED_SHARE = 0.02  # of a trace, from which on the rest is taken to be like it


def run_key(trace: Trace, options: Options) -> str:
    """Of the trace, of all that decides the diagnosis, and of our code.

    Raises InputError: a server tokenises, and what it did before cannot be told from what it does now.
    """
    first = next(trace.requests(), None)
    reading = TraceOptions(
        format=options.format,
        tokenizer=options.tokenizer,
        chat_template=options.chat_template,
        block_size=options.block_size,
    )
    block_size = block_size_of(first, options.block_size)
    asked = msgspec.json.encode(options, order="sorted")
    return spilled_key(trace, first, reading, block_size, asked, code="diagnose/**/*")


class Budget:
    """Watches the memory of the process while parts are written. It hears where the work is, too."""

    def __init__(self, memory_bytes: int, folder: RunFolder, progress: Progress) -> None:
        self._memory_bytes = memory_bytes
        self._progress = progress
        self._total = 0
        self._done = 0
        self._is_reading = False
        self._base_bytes = resident_bytes()
        encoder_bytes = min(_MOST_ENCODER_BYTES, memory_bytes // _ENCODER_SHARE)
        self.stores = Stores(folder, encoder_bytes=encoder_bytes, watch=self._watch)

    def stage(self, name: str, total: int | None) -> None:
        """A new stage begins."""
        self._is_reading = name == "reading"
        self._total, self._done = total or 0, 0
        self._progress.stage(name, total)

    def advance(self, n: int = 1) -> None:
        """``n`` more steps of it are done."""
        self._done += n
        self._progress.advance(n)

    def estimated_bytes(self, share: float) -> int:
        """The peak of the whole run, where what was catalogued so far is ``share`` of the trace."""
        growing = self.stores.count("rows") * _BYTES_PER_REQUEST
        growing += self.stores.count("texts") * _BYTES_PER_TEXT
        fixed = self._base_bytes + (self.stores.encoder_bytes or 0) + _BOUNDED_BYTES
        return fixed + int(growing / share)

    def _watch(self) -> None:
        """Raises BudgetError: what is kept takes more than the budget, or will by the end of the trace."""
        held = resident_bytes()
        share = self._done / self._total if self._is_reading and self._total else 1.0
        needed = held
        if self._is_reading and share >= _SETTLED_SHARE:
            needed = max(held, self.estimated_bytes(share))
        if needed > self._memory_bytes:
            budget, enough = memory_text(self._memory_bytes), memory_text(int(needed * 1.1))
            raise BudgetError(
                f"this diagnosis does not fit {budget} of memory, whatever is spilled; "
                f"give --memory {enough}, or estimate with --sample"
            )
