"""What an agent is told, and that nothing more is."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from keepwarm.repair.agents.run import prompt_of
from keepwarm.repair.markdown import to_markdown
from keepwarm.repair.task import ShownBreak
from tests.repair.agents.sample import PROMPTS, sample_task


def test_the_prompt_is_the_task_with_rules_before_it() -> None:
    digests = hashlib.sha1(b"x").hexdigest(), hashlib.sha256(b"x").hexdigest()
    task = sample_task(digests[0], trace_sha256=digests[1])
    prompt = prompt_of(task)
    assert prompt.endswith(to_markdown(task))
    assert PROMPTS in prompt
    assert all(digest in prompt for digest in digests)


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ" * 2,
        "anna.schmidt@example.com",
        "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
        "4111 1111 1111 1111",
    ],
)
def test_a_task_that_was_edited_by_hand_is_looked_over_once_more(secret: str) -> None:
    shown = ShownBreak(before=f"The key is {secret} ", values=(secret,), after="")
    task = msgspec.structs.replace(sample_task(None), shown=shown)
    assert secret in to_markdown(task)
    assert secret not in prompt_of(task)
