"""What the caller chose, checked against what there is: policies, capacities, sample, match unit."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from keepwarm._errors import InputError
from keepwarm.cache.ceiling import ample_blocks
from keepwarm.cache.dense import DenseTrace
from keepwarm.cache.kernels import kernel_policies
from keepwarm.cache.load import LoadedTrace
from keepwarm.cache.sampling import check_rate
from keepwarm.policies import SESSION_POLICIES

DEFAULT_POLICIES = ("lru", "computecache", "belady")


def chosen_policies(names: Sequence[str]) -> tuple[str, ...]:
    """``names``, or the usual ones. Raises InputError: one is unknown, named twice, or needs sessions."""
    known = kernel_policies()
    chosen = tuple(names) or DEFAULT_POLICIES
    for index, name in enumerate(chosen):
        if name in SESSION_POLICIES:
            raise InputError(f"policy {name!r} needs sessions; use keepwarm simulate serving --eviction")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"unknown policy {name!r}; {guess}known are: {', '.join(known)}")
        if name in chosen[:index]:
            raise InputError(f"policy {name!r} is named twice; name each once")
    return chosen


def check_capacities(capacities_blocks: Sequence[int]) -> None:
    """Raises InputError: a capacity is not positive or named twice."""
    for index, capacity in enumerate(capacities_blocks):
        if capacity < 1:
            raise InputError(f"capacity of {capacity!r} blocks is not positive; give usable blocks, say 1024")
        if capacity in capacities_blocks[:index]:
            raise InputError(f"capacity of {capacity!r} blocks is named twice; name each once")


def check_sample(rate: float | None, policies: Sequence[str], kv_events: str | None) -> None:
    """Raises InputError: the share is none, or something is asked for that a sample cannot tell."""
    if rate is None:
        return
    check_rate(rate)
    if any(name != "lru" for name in policies):
        raise InputError(
            f"a sample estimates lru only, not {', '.join(policies)}; leave --policy or --sample out"
        )
    if kv_events is not None:
        raise InputError(
            f"a sample counts no evictions to compare {kv_events!r} with; leave --kv-events or --sample out"
        )


def check_fit(loaded: LoadedTrace, capacities_blocks: Sequence[int]) -> None:
    """Raises InputError: a prompt fits one of the capacities nowhere, so a server would never admit it."""
    trace, smallest = loaded.dense, min(capacities_blocks)
    needed = trace.largest_prompt_blocks
    if smallest >= needed:
        return
    place = f"line {loaded.lines[trace.prompt_tokens.argmax()]} of {str(loaded.trace.path)!r}"
    raise InputError(
        f"capacity of {smallest} blocks is below one request: the prompt at {place} takes {needed} blocks "
        f"of {trace.block_size} tokens; give at least {needed}"
    )


def chosen_match_unit_blocks(match_unit_tokens: int | None, block_size: int) -> int:
    """The unit in blocks, one if none is given. Raises InputError: it is no multiple of the block size."""
    if match_unit_tokens is None:
        return 1
    if match_unit_tokens < 1 or match_unit_tokens % block_size:
        raise InputError(
            f"match unit of {match_unit_tokens!r} tokens is no multiple of the block size {block_size}; "
            f"give {block_size}, {2 * block_size} or the like"
        )
    return match_unit_tokens // block_size


def default_capacities(trace: DenseTrace, *, ignore_output: bool, match_unit_blocks: int) -> Iterator[int]:
    """Powers of two, from the first that holds the largest prompt to the first that never evicts."""
    capacity = 1 << max(0, trace.largest_prompt_blocks - 1).bit_length()
    ample = ample_blocks(trace, ignore_output=ignore_output, match_unit_blocks=match_unit_blocks)
    yield capacity
    while capacity < ample:
        capacity *= 2
        yield capacity
