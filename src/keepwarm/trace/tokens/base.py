"""What a tokenizer must offer, and how a text may be cut for it.

To add one: copy the smallest neighbour (``server.py``) and let ``load_tokenizer`` find it. One that
allows cuts goes into ``tests/trace_tokens/test_parts.py``, which holds parts and whole texts together.
"""

from __future__ import annotations

import enum
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepwarm.trace.prompt import Offsets, TokenIds


class Encoded(NamedTuple):
    """Token ids of a text and the character at which each token starts (sorted)."""

    ids: TokenIds
    char_starts: Offsets


class Place(enum.Enum):
    """Where a part of a text begins."""

    START = "at the start of the text"
    AFTER_TOKEN = "after an added token"  # noqa: S105
    INSIDE = "at a cut between added tokens"


class Cuts(NamedTuple):
    """Where a text may be cut so that the parts encode to the same tokens as the whole.

    ``tokens`` matches the added tokens after which to cut (None: after none); ``inside`` matches
    the character after which the text between them may be cut too. ``by_place`` is true where the
    same part encodes differently in another place.
    """

    tokens: re.Pattern[str] | None = None
    inside: re.Pattern[str] | None = None
    by_place: bool = False


class Tokenizer(ABC):
    """Turns text into token ids, special tokens in the text recognised and none added.

    ``exact`` says whether the ids are those of the served model; ``note`` says in one sentence
    what that means for the output; ``special_tokens`` are the names chat templates may print.
    No method changes what another call gives; the arrays returned belong to the caller.
    """

    name: str
    exact: bool
    note: str
    special_tokens: Mapping[str, str]

    @abstractmethod
    def encode(self, text: str) -> Encoded:
        """The whole text at once. Raises ``TokenizerError``."""

    def encode_parts(self, parts: Sequence[str], places: Sequence[Place]) -> list[Encoded]:
        """Each part as it is encoded inside its text, cut at ``cuts``; as many results as parts.

        Raises ``TokenizerError``.
        """
        assert len(places) == len(parts)
        return [self.encode(part) for part in parts]

    def ids_of_parts(self, parts: Sequence[str], places: Sequence[Place]) -> list[TokenIds]:
        """The ids of ``encode_parts`` alone, for tokenizers that are faster without the starts.

        Raises ``TokenizerError``.
        """
        return [encoded.ids for encoded in self.encode_parts(parts, places)]

    def starts_of(self, part: str, ids: TokenIds) -> Offsets | None:
        """Where tokens of a part start, if that follows from its ids; ``None`` where it has to be encoded.

        Never raises.
        """
        del part, ids  # most tokenizers cannot tell
        return None

    @property
    def cuts(self) -> Cuts:
        """How texts may be cut. By default nowhere. Valid as long as the tokenizer."""
        return Cuts()
