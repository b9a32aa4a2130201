"""What can go wrong at the desk."""

from __future__ import annotations


class HelpdeskError(Exception):
    """Base of every error the desk raises on purpose."""


class UnknownRecord(HelpdeskError):
    """A customer, invoice or tool that does not exist."""


class UpstreamError(HelpdeskError):
    """The model server did not answer, or answered with something that is no chat completion."""
