"""keepwarm: find out why prompts miss the prefix cache, and keep the right blocks warm.

The public face. Names are loaded when they are first used, so that ``import keepwarm`` costs
next to nothing; every other module may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keepwarm._errors import (
        GateRefusal,
        InputError,
        IntegrityError,
        KeepwarmError,
        ServerError,
        TemplateError,
        TokenizerError,
        TraceError,
    )
    from keepwarm.cache.options import ServerOptions, SimulateOptions
    from keepwarm.cache.simulate import simulate_cache
    from keepwarm.cache.simulation import Simulation
    from keepwarm.diagnose import diagnose as diagnose_trace
    from keepwarm.diagnose.findings import Diagnosis
    from keepwarm.diagnose.options import Options

__version__ = "0.1.0"

__all__ = [
    "Diagnosis",
    "GateRefusal",
    "InputError",
    "IntegrityError",
    "KeepwarmError",
    "Options",
    "ServerError",
    "ServerOptions",
    "SimulateOptions",
    "Simulation",
    "TemplateError",
    "TokenizerError",
    "TraceError",
    "__version__",
    "diagnose_trace",
    "simulate_cache",
]

# The function has another name here than at home: `keepwarm.diagnose` is the package it lives in.
_HOMES = {
    "Diagnosis": ("keepwarm.diagnose.findings", "Diagnosis"),
    "Options": ("keepwarm.diagnose.options", "Options"),
    "ServerOptions": ("keepwarm.cache.options", "ServerOptions"),
    "SimulateOptions": ("keepwarm.cache.options", "SimulateOptions"),
    "Simulation": ("keepwarm.cache.simulation", "Simulation"),
    "diagnose_trace": ("keepwarm.diagnose", "diagnose"),
    "simulate_cache": ("keepwarm.cache.simulate", "simulate_cache"),
}


def __getattr__(name: str) -> object:
    """Load a public name from the module that defines it."""
    if name not in __all__:
        raise AttributeError(f"module 'keepwarm' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES.get(name, ("keepwarm._errors", name))
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted(__all__)
