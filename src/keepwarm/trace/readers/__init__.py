"""One small module per trace format; ``READERS`` is the registry."""

from __future__ import annotations

from keepwarm.trace.readers.base import Reader
from keepwarm.trace.readers.openai_chat import OpenAIChatReader

READERS: dict[str, type[Reader]] = {reader.name: reader for reader in (OpenAIChatReader,)}
"""Every reader by the name of its format; on a tie of scores the earlier one wins."""

FORMATS: tuple[str, ...] = tuple(READERS)
"""Names for ``--format``."""
