"""The requests of one test against a committed snapshot of their prefixes.

- ``recording``: the requests, as they are recorded; ``examined``: the same as tokens, with what they reuse
- ``snapshot``: what is kept of them; ``compare``: where a prefix moved; ``message``: how that is said

The prefix of a request is what other requests can share with it: everything before the newest turn (system
text, tools, history), or more where an earlier request of the test shares more.
"""

from __future__ import annotations

from keepwarm.gate.prefixes.message import check_requests, update_snapshot
from keepwarm.gate.prefixes.recording import RecordedRequests

__all__ = ["RecordedRequests", "check_requests", "update_snapshot"]
