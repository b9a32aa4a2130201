"""``templates.json``: templates masked by the rule of ``mask``, then cut to a length that can be read.

Slot values are shown by kind and length, stable text of the application stays less its secrets. Without a
system text, what only one session says may be a conversation that repeats itself: such text is covered. Of a
single request nobody knows what varies: all of its text is covered.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from keepwarm._json import plain, to_json
from keepwarm.diagnose.engine import Examination
from keepwarm.diagnose.findings import Diagnosis, Finding
from keepwarm.diagnose.report.mask import Scrub, is_conversation, mask, scrubber, without_secrets
from keepwarm.diagnose.template_builder import site_template
from keepwarm.diagnose.template_pieces import TOOLS_ROLE
from keepwarm.diagnose.templates import SlotPiece, Template, Templates, TextPiece
from keepwarm.diagnose.view import SiteView
from keepwarm.trace.catalog import HEAD_ROLES

VALUE_CHARS = 400
"""Of a value; a longer one is cut and ends with ``…``."""

END_CHARS = 2_000
"""Of either end of a stable text; what is between is left out."""

_SHORTEST_REPEAT = 8  # of a slot's value; a shorter one is likely to be a common word


def templates_of(examination: Examination, *, revealed: bool) -> Templates:
    """The templates of all call sites; texts and values are masked unless ``revealed``."""
    findings = examination.diagnosis.findings
    accounts = examination.accounts
    found = []
    for site in accounts.sites:
        view = SiteView(accounts.traffic, site, accounts.lineage, accounts.measured)
        whole = site_template(view, [finding for finding in findings if finding.call_site == site.id])
        found.append(_cut(whole if revealed else _masked(whole, findings)))
    return Templates(revealed=revealed, templates=tuple(found))


def masked_templates(templates: Templates, diagnosis: Diagnosis) -> Templates:
    """``templates`` as a file has them, masked; ``diagnosis`` is theirs, itself not yet masked.

    What was cut before is masked by the length that is left of it.
    """
    if not templates.revealed:
        return templates
    covered = tuple(_masked(template, diagnosis.findings) for template in templates.templates)
    return Templates(revealed=False, templates=covered)


def templates_bytes(templates: Templates) -> bytes:
    """The document; the same bytes for the same templates."""
    return to_json(plain(templates))


def _masked(template: Template, findings: Iterable[Finding]) -> Template:
    types = {slot.id: slot.type for slot in template.slots}
    first = template.requests[0].values if template.requests else {}  # whose texts are shown
    repeated = {value: types[slot] for slot, value in first.items() if len(value) >= _SHORTEST_REPEAT}
    scrub = scrubber(findings, repeated)
    sessions = _sessions(template)
    is_alone = template.requests_in_all < 2
    return msgspec.structs.replace(
        template,
        pieces=tuple(
            _masked_piece(
                piece, scrub, is_alone=is_alone, is_shared=len(sessions.get(piece.path, sessions[""])) > 1
            )
            for piece in template.pieces
        ),
        requests=tuple(
            msgspec.structs.replace(
                request, values={slot: mask(value, types[slot]) for slot, value in request.values.items()}
            )
            for request in template.requests
        ),
        proposals=tuple(
            msgspec.structs.replace(proposal, suggestion=scrub(proposal.suggestion))
            for proposal in template.proposals
        ),
    )


def _sessions(template: Template) -> dict[str, set[str]]:
    """Who says the text at a path: who has a value of a slot in it; everybody, by "", where it has none."""
    paths = {slot.id: slot.path for slot in template.slots}
    found: dict[str, set[str]] = {"": {request.session for request in template.requests}}
    for request in template.requests:
        for slot in request.values:
            found.setdefault(paths[slot], set()).add(request.session)
    return found


def _masked_piece(
    piece: TextPiece | SlotPiece, scrub: Scrub, *, is_alone: bool, is_shared: bool
) -> TextPiece | SlotPiece:
    if isinstance(piece, SlotPiece):
        return piece
    if piece.role == TOOLS_ROLE:
        shown: Scrub = without_secrets  # their names are the application's, though their order varies
    elif is_alone or is_conversation(piece.path) or not (piece.role in HEAD_ROLES or is_shared):
        shown = mask
    else:
        shown = scrub
    return msgspec.structs.replace(piece, text=_by_halves(piece, shown))


def _by_halves(piece: TextPiece, shown: Scrub) -> str:
    """The text of a piece ``shown``; the words at a hole in it are covered, for they are cut."""
    if not piece.skipped_chars:
        return shown(piece.text)
    head, tail = piece.text[:END_CHARS], piece.text[END_CHARS:]
    kept = len(head) - _word_chars(head[::-1])
    cut = _word_chars(tail)
    return shown(head[:kept]) + mask(head[kept:]) + mask(tail[:cut]) + shown(tail[cut:])


def _word_chars(text: str) -> int:
    """Characters in front of the first white space."""
    return next((i for i, character in enumerate(text) if character.isspace()), len(text))


def _cut(template: Template) -> Template:
    return msgspec.structs.replace(
        template,
        pieces=tuple(map(_cut_piece, template.pieces)),
        requests=tuple(
            msgspec.structs.replace(
                request, values={slot: _cut_value(value) for slot, value in request.values.items()}
            )
            for request in template.requests
        ),
    )


def _cut_piece(piece: TextPiece | SlotPiece) -> TextPiece | SlotPiece:
    if isinstance(piece, SlotPiece) or len(piece.text) <= 2 * END_CHARS:
        return piece
    ends = piece.text[:END_CHARS] + piece.text[-END_CHARS:]
    return msgspec.structs.replace(piece, text=ends, skipped_chars=len(piece.text) - len(ends))


def _cut_value(value: str) -> str:
    return value if len(value) <= VALUE_CHARS else f"{value[:VALUE_CHARS]}…"
