"""What a comparison says and what it does not, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from keepwarm._text import counted
from keepwarm.replay.comparing.comparison import Boundary, SimulatedRun
from keepwarm.replay.comparing.matching import Condition
from keepwarm.replay.comparing.pairing import Paired
from keepwarm.replay.measuring.record import Run

_DIGEST_CHARACTERS = 64
_POINTS = 1.0  # simulated and measured hit rates are said to agree within so many percentage points


def boundary_of(
    before: Run, after: Run, conditions: Sequence[Condition], paired: Paired, other_template: bool
) -> Boundary:
    """The sentences for two runs that match."""
    return Boundary(
        held_equal=tuple(_held(conditions, paired)),
        not_held_equal=tuple(_not_held(before, after, paired, other_template)),
        limits=tuple(_limits(before, after)),
    )


def _held(conditions: Sequence[Condition], paired: Paired) -> Iterator[str]:
    for condition in conditions:
        if condition.before not in (None, {}):
            yield f"{condition.what}: {_words(condition.before)}"
    yield f"requests: the same {len(paired.pairs)}, paired by {paired.by}"
    yield "sampling: greedy"


def _kind(reason: str) -> str:
    return reason.partition(":")[0]


def _words(value: object) -> str:
    if isinstance(value, str) and len(value) == _DIGEST_CHARACTERS:
        return f"{value[:12]}…"
    if isinstance(value, str) and (value.startswith("/") or value.count("/") > 1):
        return PurePath(value).name  # where it lies on the server says nothing, or who it belongs to
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in sorted(value.items()))
    return str(value)


def _not_held(before: Run, after: Run, paired: Paired, other_template: bool) -> Iterator[str]:
    if before.input.sha256 != after.input.sha256:
        yield "the prompts: that is what is compared"
    longer = sum(
        (pair.after.prompt_tokens or 0) != (pair.before.prompt_tokens or 0)
        for pair in paired.pairs
        if pair.is_compared
    )
    if longer:
        yield f"the length of the prompt: another one in {counted(longer, 'pair')}"
    if other_template and before.server.rendering_sha256 != after.server.rendering_sha256:
        yield "the tokenizer or chat template: allowed to differ by --allow-other-template"
    if before.client != after.client:
        yield "the measuring side: another keepwarm, Python or commit"
    yield "the time of day, and whatever else the machine did then"


def _limits(before: Run, after: Run) -> Iterator[str]:
    kind = before.server.device_type
    if kind == "cpu":
        yield (
            "TTFT was measured on a CPU: neither it nor a ratio of two of them is a figure for a GPU, where "
            "prefill is far quicker"
        )
    elif kind is None:
        yield "the server does not say what it runs on: TTFT is of that machine alone"
    else:
        yield f"TTFT was measured on {before.server.device or kind}: it is no figure for another machine"
    if before.conditions.mode == "sequential":
        yield "requests went one after another: no queueing, and none side by side that evict each other"
    else:
        yield "requests went side by side, but are simulated one after another: some residual is due to that"
    if before.reset.state == "reset":
        yield "both runs began with an empty cache: in production the first requests find one in use"
    else:
        yield "neither run began with an empty cache: hits may come from before them"
    yield (
        "simulated figures take the blocks that decoding fills to match nothing: where a prompt repeats what "
        "the server wrote, it may hit more"
    )
    for run in (before, after):
        if run.input.models > 1:
            yield (
                f"the trace of run {run.label!r} names {run.input.models} models, all sent to one: what "
                "they do not share in production they may share here"
            )
        if run.resumed.interruptions:
            yield (
                f"run {run.label!r} was interrupted and went on; the server's counters show that nobody used "
                "it meanwhile"
            )
    yield "generated texts are compared by digest: whether a change matters is for the guard to say"


def warnings_of(before: Run, after: Run, simulated: Sequence[SimulatedRun]) -> Iterator[str]:
    """What must be read before the figures."""
    for run in (before, after):
        missing = run.requests.failed + run.requests.not_sent
        if missing:
            # What a server says may quote the prompt: the run itself has it.
            reason = f", most often {_kind(run.failures[0].reason)!r}" if run.failures else ""
            yield (
                f"{counted(missing, 'request')} of run {run.label!r} failed or did not fit{reason}: their "
                "pairs are left out, so the figures are of a part"
            )
        yield from (f"run {run.label!r}: {sentence}" for sentence in run.inconsistencies)
    for each in simulated:
        if each.other_lengths:
            yield (
                f"{each.tokens_of!r} makes {counted(each.other_lengths, 'prompt')} longer or shorter than "
                "the server did: give the tokenizer and the chat template that it uses"
            )
        if abs(each.residual_points) > _POINTS:
            yield (
                f"measured and simulated hit rate ({each.tokens_of} tokens) differ by "
                f"{each.residual_points:+.1f} points, which nothing here explains"
            )
