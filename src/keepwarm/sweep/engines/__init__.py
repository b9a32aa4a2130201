"""Where cells are computed: one engine per module, by name."""

from __future__ import annotations

from keepwarm._errors import InputError
from keepwarm.sweep.engines.base import Engine

ENGINES = ("local", "ray")


def chosen_engine(name: str, *, address: str | None, threads: int | None) -> Engine:
    """The engine of that name.

    Raises:
        InputError: there is none, it is not installed, or it has no address.
    """
    if name not in ENGINES:
        raise InputError(f"no engine {name!r}; there are {', '.join(ENGINES)}")
    if name == "local":
        if address is not None:
            raise InputError(f"the local engine has no address, and {address!r} is one; add --engine ray")
        from keepwarm.sweep.engines.local import Local

        return Local(threads)
    from keepwarm.sweep.engines.ray import Ray

    return Ray(address, threads)
