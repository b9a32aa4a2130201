"""One request at a click: what stands around its break, its baseline, its findings."""

from __future__ import annotations

import numpy as np

from keepwarm.api.diagnoses.shelf import Opened
from keepwarm.api.problems import NoSuchResult
from keepwarm.api.schema.diagnosis import Piece, RequestAnswer
from keepwarm.diagnose.report.pieces import pieces


def request_answer(opened: Opened, index: int) -> RequestAnswer:
    """The request with that index. Raises NoSuchResult, InputError."""
    columns = opened.requests()
    position = columns.position(index)
    if position is None:
        raise NoSuchResult(
            f"there is no request {index} in {opened.found.item.path!r}; it has 0 to {len(columns) - 1}"
        )
    (row,) = columns.rows(np.array([position]))
    earlier = None if row.baseline_request is None else columns.earlier(row.baseline_request, position)
    rows = (row,) if earlier is None else (row, *columns.rows(np.array([earlier])))
    request, *baseline = opened.rows_shown(rows)
    return RequestAnswer(
        request=request,
        baseline=baseline[0] if baseline else None,
        findings=tuple(
            finding
            for finding in opened.shown.findings
            if finding.call_site == request.call_site and finding.cause in request.causes
        ),
        before=_pieces(request.break_before, request.break_before_tokens),
        here=_pieces(request.break_here, request.break_here_tokens),
        there=_pieces(request.break_there, request.break_there_tokens),
        break_byte=request.break_byte,
    )


def _pieces(text: str, token_chars: tuple[int, ...]) -> tuple[Piece, ...]:
    return tuple(Piece(text=part.text, masked=part.masked) for part in pieces(text, token_chars))
