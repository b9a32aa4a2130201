"""What a measured replay is: one row per request, and everything needed to repeat and to judge it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from keepwarm._json import plain
from keepwarm.replay.measuring.options import Mode, ToolChoice
from keepwarm.trace.records import Skipped

SCHEMA = "keepwarm.replay/1"
Status = Literal["ok", "failed", "not-sent"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One request. What a failed one did not bring is None.

    ``tokenized_prompt_tokens`` is what the server counted before the run, ``prompt_tokens``,
    ``cached_tokens`` and ``output_tokens`` are from the usage of the answer. ``ttft_s`` and ``total_s`` count
    from sending; ``due_s`` (recorded timing only) and ``sent_s`` from the start of the run. ``blocks`` name
    the prompt's full blocks by content: equal numbers mean an equal prefix up to the block's end. ``text``
    is None unless it was asked for. ``skip_reads``: a parameter makes the server compute the whole prompt.
    """

    index: int
    line: int
    id: str
    session: str | None
    call_site: str | None
    api: Literal["chat", "completion"]
    body_sha256: str
    max_tokens: int
    skip_reads: bool
    tokenized_prompt_tokens: int | None
    status: Status
    error: str | None = None
    due_s: float | None = None
    sent_s: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    ttft_s: float | None = None
    total_s: float | None = None
    finish_reason: str | None = None
    text_sha256: str | None = None
    text: str | None = None
    blocks: tuple[int, ...] = ()


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """The trace. ``models`` counts the different ones it names: all are replayed on the server's one."""

    path: str
    sha256: str
    format: str
    requests: int
    models: int
    prompt_complete: bool
    skipped: tuple[Skipped, ...]


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """How it was sent. ``chat_template_sha256``: of the template sent with each request, None if none was."""

    mode: Mode
    concurrency: int
    max_tokens: int | None
    limit: int | None
    seed: int
    tool_choice: ToolChoice
    chat_template_sha256: str | None
    keep_text: bool


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The server, as it states itself.

    ``cache_settings``: what it says of its cache, by vLLM's names. ``mode`` and ``rule`` are the plugin's,
    ``stock`` and None where it is not there. ``rendering_sha256``: of the token ids of a fixed conversation
    with a tool, so that another tokenizer or chat template shows. ``device_type`` is ``cpu``, ``cuda`` and
    the like, None where nobody tells; ``device`` is in words.
    """

    base_url: str
    vllm: str
    model: str
    model_root: str | None
    max_model_len: int
    block_size: int
    capacity_blocks: int
    cache_settings: dict[str, str]
    mode: str
    rule: str | None
    rendering_sha256: str
    device_type: str | None
    device: str | None


class ClientFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What measured."""

    keepwarm: str
    python: str
    commit: str | None
    uncommitted_changes: bool | None


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the run began with an empty cache.

    ``state`` ``reset``: the server said so, and a request of the first wave (those sent before any answer
    came) hit nothing. ``skipped``: not asked for. ``first_wave_least_cached_tokens`` is the proof, None
    where no request of it succeeded.
    """

    state: Literal["reset", "skipped"]
    first_wave_least_cached_tokens: int | None


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What became of interruptions: requests that were kept, and runs given up for a new reset."""

    interruptions: int
    kept_requests: int
    restarts: int


class Counter(msgspec.Struct, frozen=True, kw_only=True):
    """A counter of the server's around the run."""

    before: int
    after: int

    @property
    def rise(self) -> int:
        """After less before."""
        return self.after - self.before


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """Requests by how they ended."""

    ok: int
    failed: int
    not_sent: int


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    """Over the requests that succeeded, from their usage."""

    prompt: int
    cached: int
    output: int


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds over the requests that succeeded."""

    p50: float
    p90: float
    p99: float


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why requests failed, and how many did."""

    reason: str
    requests: int


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run. ``inconsistencies``: sentences about figures that contradict each other."""

    label: str
    started: str  # UTC, ISO 8601
    wall_s: float
    input: Input
    conditions: Conditions
    server: ServerFacts
    client: ClientFacts
    reset: Reset
    resumed: Resumed
    requests: Counted
    tokens: Tokens
    hit_rate: float  # measured
    ttft_s: Times | None
    total_s: Times | None
    counters: dict[str, Counter]
    plugin_counters: dict[str, tuple[float, float]]
    failures: tuple[Failure, ...]
    inconsistencies: tuple[str, ...]
    schema: str = SCHEMA


def run_document(run: Run) -> dict[str, Any]:
    """The run as JSON holds it, its schema first."""
    document: dict[str, Any] = plain(run)
    return {"schema": document.pop("schema"), **document}
