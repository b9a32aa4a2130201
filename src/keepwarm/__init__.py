"""keepwarm: find out why prompts miss the prefix cache, and keep the right blocks warm.

The same as the command line, from Python. What misses the cache, and what a fix would give back::

    >>> import keepwarm
    >>> found = keepwarm.diagnose_trace("traffic.jsonl.gz")
    >>> f"{found.hit_rate:.1%} now, {found.hit_rate_if_fixed:.1%} if fixed (both simulated)"
    '56.0% now, 87.9% if fixed (both simulated)'
    >>> worst = found.findings[0]
    >>> worst.cause, worst.path, worst.recoverable_tokens
    ('tool-order', 'tools[0]', 46392)

What a cache of another size or policy would hit::

    >>> options = keepwarm.SimulateOptions(policies=("lru", "belady"), capacities_blocks=(1024,))
    >>> simulated = keepwarm.simulate_cache("traffic.jsonl.gz", options)
    >>> [(row.policy, f"{row.hit_rate:.1%}") for row in simulated.rows]
    [('lru', '46.8%'), ('belady', '56.0%')]

- ``diagnose_trace(path, options)`` takes ``Options`` and answers a ``Diagnosis``
- ``simulate_cache(path, options)`` takes ``SimulateOptions``, in them a ``ServerOptions`` to size a cache
  for a server, and answers a ``Simulation``
- both take ``Resources``, a budget of memory; it changes no answer

Options and answers are frozen records; a field of an answer is the key of the same name in ``--json``.
Times are in seconds, capacities in usable blocks, rates from 0 to 1; every hit rate is simulated. The same
trace and options give the same answer.

Errors derive from ``KeepwarmError``; their message says what, where and what to do next::

    KeepwarmError
    ├── InputError            the trace or an option is wrong
    │   ├── BudgetError       a budget of memory cannot be kept
    │   ├── ServerError       a server cannot be reached or started, or answers what it must not
    │   ├── TraceError        a trace cannot be opened, or has nothing usable
    │   ├── TemplateError     a chat template cannot be read or rendered
    │   └── TokenizerError    a tokenizer cannot be loaded or reached
    ├── GateRefusal           a gate that was asked for said no
    ├── Interrupted           Ctrl-C, where what was done so far is kept
    └── IntegrityError        a bug in keepwarm

Names are loaded when they are first used: ``import keepwarm`` costs next to nothing. Besides these,
``keepwarm.hints`` is for clients of a server that runs the plugin; other modules may change without notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keepwarm._errors import (
        BudgetError,
        GateRefusal,
        InputError,
        IntegrityError,
        Interrupted,
        KeepwarmError,
        ServerError,
        TemplateError,
        TokenizerError,
        TraceError,
    )
    from keepwarm._resources import Resources
    from keepwarm.cache.options import ServerOptions, SimulateOptions
    from keepwarm.cache.simulate import simulate_cache
    from keepwarm.cache.simulation import Simulation
    from keepwarm.diagnose import diagnose as diagnose_trace
    from keepwarm.diagnose.findings import Diagnosis
    from keepwarm.diagnose.options import Options

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "Diagnosis",
    "GateRefusal",
    "InputError",
    "IntegrityError",
    "Interrupted",
    "KeepwarmError",
    "Options",
    "Resources",
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
    "Resources": ("keepwarm._resources", "Resources"),
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
