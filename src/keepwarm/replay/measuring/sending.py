"""One request sent, one row back; whatever goes wrong is in the row."""

from __future__ import annotations

import hashlib
import threading
import time

import msgspec

from keepwarm._errors import ServerError
from keepwarm.replay.measuring.plan import Planned
from keepwarm.replay.measuring.quoting import unquoted
from keepwarm.replay.measuring.record import Row
from keepwarm.server.client import RequestFailed, VllmClient
from keepwarm.server.stream import Generated

# A server that hangs would cost the whole time limit for each request.
_MOST_FAILURES_IN_A_ROW = 5


class Sender:
    """Sends and counts failures; may be used by several threads at once.

    The clock starts when it is made, at ``earlier_s`` where a run goes on.
    """

    def __init__(self, client: VllmClient, *, keep_text: bool, earlier_s: float = 0.0) -> None:
        self._client = client
        self._keep_text = keep_text
        self._started_s = time.perf_counter() - earlier_s
        self._lock = threading.Lock()
        self._failed_in_a_row = 0

    def now_s(self) -> float:
        """Seconds since the start of the run."""
        return time.perf_counter() - self._started_s

    def send(self, entry: Planned, due_s: float | None = None) -> Row:
        """The finished row. Raises ServerError: usage lacks cached tokens, or five in a row failed."""
        row = msgspec.structs.replace(entry.row, due_s=due_s, sent_s=self.now_s())
        try:
            generated = self._client.generate(entry.sendable.path, entry.sendable.body)
        except RequestFailed as failure:
            reason = unquoted(str(failure), entry.sendable.body)
            self._failed(reason)
            return msgspec.structs.replace(row, status="failed", error=reason)
        with self._lock:
            self._failed_in_a_row = 0
        return self._answered(row, generated)

    def _answered(self, row: Row, generated: Generated) -> Row:
        if generated.cached_tokens is None:
            raise ServerError(
                f"{self._client.name} does not say how many tokens it served from the cache; "
                "start it with --enable-prompt-tokens-details"
            )
        return msgspec.structs.replace(
            row,
            status="ok",
            error=None,
            prompt_tokens=generated.prompt_tokens,
            cached_tokens=generated.cached_tokens,
            output_tokens=generated.output_tokens,
            ttft_s=generated.ttft_s,
            total_s=generated.total_s,
            finish_reason=generated.finish_reason,
            text_sha256=hashlib.sha256(generated.text.encode("utf-8", "surrogatepass")).hexdigest(),
            text=generated.text if self._keep_text else None,
        )

    def _failed(self, reason: str) -> None:
        with self._lock:
            self._failed_in_a_row += 1
            in_a_row = self._failed_in_a_row
        if in_a_row >= _MOST_FAILURES_IN_A_ROW:
            raise ServerError(
                f"{in_a_row} requests in a row failed, the last with {reason!r}; look at the log of "
                f"{self._client.name}, then run it again with --resume"
            )
