"""Secrets, personal data and recorded values out of a text, replaced by typed placeholders.

- ``redactor``: the way of a text: found, merged, replaced, looked at again
- ``views``: a text without its escapes, spacing, accents and case, and the way back to it
- ``known``: recorded values wherever they occur; ``recorded``: which values a trace has
- ``cues``: what only its surroundings give away, such as a name behind "Dear"
- shapes, checksums and randomness are those of ``diagnose.report.secrets``, which reports use as well
"""

from __future__ import annotations

from keepwarm.repair.redaction.redactor import Redactor

__all__ = ["Redactor"]
