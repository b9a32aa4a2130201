"""What the library knows of a kind of result: the few fields of the document that it shows.

A kind is a record of those fields, decoded from the document; what it does not name is skipped.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from keepwarm.api.schema.library import Kind


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The base of every kind. Fields without a default must be there, or the document is none."""

    kind: ClassVar[Kind]
    schema_name: ClassVar[str]
    made_by: ClassVar[str]  # the command that writes it again

    def title(self) -> str:
        """One line that tells it from others of its kind; no recorded text but names of files and sites."""
        raise NotImplementedError

    def trace_sha256(self) -> str | None:
        """Of the requests that it is about; None: about none, or it does not say."""
        return None


class TraceInput(msgspec.Struct, frozen=True, kw_only=True):
    """The trace, as most documents name it."""

    path: str
    sha256: str | None = None
    requests: int = 0

    @property
    def name(self) -> str:
        """The file's name without its folders."""
        return self.path.replace("\\", "/").rstrip("/").rpartition("/")[2] or self.path
