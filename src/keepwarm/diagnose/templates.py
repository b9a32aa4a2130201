"""The template of a call site: what all of its prompts share, with the typed slots in between."""

from __future__ import annotations

import msgspec

SCHEMA = "keepwarm.templates/1"


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch that varies. ``finding``: of the diagnosis, None where nothing is lost by it.

    ``path`` and ``start_char`` say where it stands in the first request; ``token_offset`` likewise, in
    tokens of the whole prompt, None where unknown. ``distinct`` counts different values among ``requests``.
    ``movable``: it may be put elsewhere, and the gain simulated.
    """

    id: str  # unique within the call site, stable for the same trace
    path: str
    type: str
    owner: str
    confidence: float
    start_char: int
    token_offset: int | None
    requests: int
    distinct: int
    finding: str | None = None
    movable: bool = True


class TextPiece(msgspec.Struct, frozen=True, kw_only=True, tag_field="piece", tag="text"):
    """Stable text; ``skipped_chars`` of it in the middle are left out."""

    text: str
    path: str
    role: str  # system, user, assistant, tool, tools, prompt
    skipped_chars: int = 0


class SlotPiece(msgspec.Struct, frozen=True, kw_only=True, tag_field="piece", tag="slot"):
    """The place of a slot, by its id."""

    slot: str
    path: str
    role: str


class AlignedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request's values, by slot id; a value that is too long is cut and ends with ``…``.

    ``variants`` number the whole values by slot id, 0 for the one that comes first among the requests shown:
    equal numbers are equal values, which masks do not tell.
    """

    index: int
    id: str
    session: str
    values: dict[str, str]
    variants: dict[str, int] = {}


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A change worth simulating: the findings whose suggested fixes it takes together."""

    findings: tuple[str, ...]
    suggestion: str
    recoverable_tokens: int  # as the diagnosis simulated it


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One call site. ``pieces`` in prompt order; ``requests`` a sample, in recorded order.

    ``place`` of a moved slot is an index into ``pieces``: the slot is put before that piece;
    ``len(pieces)`` is the end of what the application says.
    """

    call_site: str
    pieces: tuple[TextPiece | SlotPiece, ...]
    slots: tuple[Slot, ...]
    requests: tuple[AlignedRequest, ...]
    requests_in_all: int
    proposals: tuple[Proposal, ...]
    note: str = ""  # why there is little to see, say of a trace without texts


class Templates(msgspec.Struct, frozen=True, kw_only=True):
    """The document ``templates.json``."""

    schema: str = SCHEMA
    revealed: bool
    templates: tuple[Template, ...]
