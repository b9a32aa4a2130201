"""Whether two runs may be compared: every condition that must be equal, and those that are not, by name."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.replay.measuring.record import Run


class Condition(NamedTuple):
    """Something that both runs must have in common, as each has it."""

    what: str
    before: object
    after: object

    @property
    def is_equal(self) -> bool:
        """Whether they have."""
        return self.before == self.after


def conditions(before: Run, after: Run, *, other_template: bool) -> tuple[Condition, ...]:
    """All of them. ``other_template``: the chat template is what was repaired, so it may differ."""
    found = []
    for what, name in (
        ("model", "model"),
        ("model files", "model_root"),
        ("vLLM version", "vllm"),
        ("max_model_len", "max_model_len"),
        ("block size in tokens", "block_size"),
        ("cache size in blocks", "capacity_blocks"),
        ("cache settings", "cache_settings"),
        ("ComputeCache mode", "mode"),
        ("ComputeCache rule", "rule"),
        ("kind of device", "device_type"),
        ("device", "device"),
    ):
        found.append(Condition(what, getattr(before.server, name), getattr(after.server, name)))
    for what, name in (
        ("mode", "mode"),
        ("concurrency", "concurrency"),
        ("--max-tokens", "max_tokens"),
        ("--limit", "limit"),
        ("seed", "seed"),
        ("--tool-choice", "tool_choice"),
    ):
        found.append(Condition(what, getattr(before.conditions, name), getattr(after.conditions, name)))
    found.append(Condition("cache at the start", before.reset.state, after.reset.state))
    if not other_template:
        found += [
            Condition(
                "chat template sent along",
                before.conditions.chat_template_sha256,
                after.conditions.chat_template_sha256,
            ),
            Condition(
                "tokenizer and chat template",
                before.server.rendering_sha256,
                after.server.rendering_sha256,
            ),
        ]
    return tuple(found)


def check_match(found: tuple[Condition, ...]) -> None:
    """Raises InputError that names every difference."""
    differing = [f"{c.what} {_told(c.before)} and {_told(c.after)}" for c in found if not c.is_equal]
    if differing:
        raise InputError(
            f"the runs do not match: {'; '.join(differing)}; replay both on one server in the same way"
        )


def _told(value: object) -> str:
    return "not told" if value is None else repr(value)
