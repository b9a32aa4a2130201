"""A server to simulate, as a JSON file: its costs, its memory, its limits."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from keepwarm._errors import InputError
from keepwarm._json import decoded
from keepwarm.serving.costs import Coefficients, Fitted, Roofline

SCHEMA: Final = "keepwarm.profile/1"
_SHIPPED = files("keepwarm.serving") / "profiles"


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One server. ``sources``: where each figure is from, for people."""

    schema: Literal["keepwarm.profile/1"]
    name: str
    capacity_tokens: int
    step_tokens: int
    max_running_requests: int
    costs: Roofline | Fitted
    sources: tuple[str, ...] = ()

    def check(self, path: str) -> None:
        """Raise InputError for the first figure that no server could have; ``path`` says whose."""
        for name in ("capacity_tokens", "step_tokens", "max_running_requests"):
            if getattr(self, name) < 1:
                raise InputError(f"profile {path!r}: {name} is {getattr(self, name)!r}; give at least 1")
        coefficients = self.coefficients(path)
        for name, value in coefficients._asdict().items():
            if not 0 <= value < float("inf"):
                raise InputError(f"profile {path!r}: {name} comes to {value!r}; give seconds of 0 or more")
        if coefficients.step_s(1, 1, 1) <= 0:
            raise InputError(f"profile {path!r}: a step takes no time; give costs above 0")

    def coefficients(self, path: str = "") -> Coefficients:
        """Its costs in seconds. Raises InputError where a device does nothing per second."""
        try:
            return self.costs.coefficients()
        except ZeroDivisionError:
            raise InputError(f"profile {path or self.name!r}: a rate or share of the device is 0") from None

    def kv_bytes_per_token(self) -> float | None:
        """Keys and values of all layers; None where nobody said."""
        costs = self.costs
        return costs.model.kv_bytes_per_token if isinstance(costs, Roofline) else costs.kv_bytes_per_token


def shipped_profiles() -> list[str]:
    """Names of the profiles that come with keepwarm, sorted."""
    return sorted(entry.name.removesuffix(".json") for entry in _SHIPPED.iterdir() if entry.is_file())


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by its name, else a file. Raises InputError: not there, or not a profile."""
    if name_or_path in shipped_profiles():
        content = (_SHIPPED / f"{name_or_path}.json").read_bytes()
    else:
        content = _read(name_or_path)
    try:
        profile = decoded(content, Profile, SCHEMA)
    except msgspec.DecodeError as error:
        raise InputError(f"profile {name_or_path!r}: {error}; see docs/design/serving-model.md") from None
    profile.check(name_or_path)
    return profile


def profile_document(profile: Profile) -> dict[str, Any]:
    """As JSON holds it; coefficients keep all their digits."""
    document: dict[str, Any] = msgspec.to_builtins(profile)
    return document


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            f"profile {path!r}: {reason}; give a file or one of {', '.join(shipped_profiles())}"
        ) from None
