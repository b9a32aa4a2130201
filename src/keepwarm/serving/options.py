"""What to simulate: which server, which rules, how many sessions."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from keepwarm._errors import InputError
from keepwarm.policies.cachewise import N_REBUILD
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.serving.profile import Profile


class Population(Enum):
    """How many sessions are there over time."""

    TOGETHER = "together"  # all start at once, none is replaced: the load drains
    CONSTANT = "constant"  # one that ends is replaced at once


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """One run. None: what the profile says. ``gap_scale`` multiplies the time between requests.

    ``reuse_model`` is what eviction ``cachewise`` predicts by, and any order that asks for predictions.
    """

    profile: Profile
    scheduling: str = "fcfs"
    eviction: str = "lru"
    sessions: int = 10
    seed: int = 0
    step_tokens: int | None = None
    capacity_tokens: int | None = None
    gap_scale: float = 1.0
    population: Population = Population.TOGETHER
    host_memory_gib: float = 0.0
    reuse_model: ReuseModel | None = None
    n_rebuild: int = N_REBUILD

    def check(self) -> None:
        """Raise InputError for the first that makes no sense."""
        if self.sessions < 1:
            raise InputError(f"sessions is {self.sessions!r}; give at least 1")
        if not 0 <= self.host_memory_gib < float("inf"):
            raise InputError(f"host_memory_gib is {self.host_memory_gib!r}; give 0 for none, or more")
        if not 0 <= self.gap_scale < float("inf"):
            raise InputError(f"gap_scale is {self.gap_scale!r}; give 0 or more, 1 for the recorded gaps")
        for name in ("step_tokens", "capacity_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} is {value!r}; give at least 1")
