"""What a folder of evidence holds, said by whoever wrote it, so that a redacted copy can be made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from keepwarm.evidence.tables import Column


class Kind(NamedTuple):
    """One kind of folder: a document, a table of rows, and a page made of the two.

    ``page`` takes the document, the rows and a note that stands above all else.
    """

    schema: str
    document_name: str
    rows_name: str
    rows_schema: str
    columns: tuple[Column, ...]
    page_name: str
    page: Callable[[dict[str, Any], list[dict[str, Any]], str], bytes]
