"""Specialise the replay loop to a policy, and compile it with numba on first use.

The loop and the operations are plain Python functions. To compile one, it is copied with other globals:
operations become those of the policy, and every function of this package its own compiled copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

from keepwarm.cache.kernels import frame
from keepwarm.cache.kernels.operations import PolicyKernel

_PACKAGE = __name__.rpartition(".")[0]
_lock = Lock()
_compiled: dict[tuple[PolicyKernel, bool], Callable[..., int]] = {}


def compiled_replay(name: str, kernel: PolicyKernel, *, checked: bool) -> Callable[..., int]:
    """``frame.replay_requests`` with the operations of a policy; compiled when first called."""
    with _lock:
        replay = _compiled.get((kernel, checked))
        if replay is None:
            constants = {"CHECKED": checked, **kernel.operations()}
            label = f"{name}_checked" if checked else name
            replay = compiled(frame.replay_requests, constants, label)
            _compiled[kernel, checked] = replay
        return replay


def compiled(function: Callable[..., Any], put_in: Mapping[str, Any], label: str) -> Callable[..., Any]:
    """A compiled twin of ``function``, cached on disk; the globals named in ``put_in`` are replaced.

    Numba files compiled code by the function's name and looks for changes in its own module alone, so
    the twin's name carries ``label`` and a digest of all sources of this package.
    """
    from numba import njit

    twins: dict[Any, Any] = {}
    copy = _with_globals(function, put_in, twins)
    copy.__qualname__ = f"{function.__name__}_{label}_{_sources_digest()}"
    result: Callable[..., Any] = njit(nogil=True, cache=True)(copy)
    return result


def _twin(function: FunctionType, put_in: Mapping[str, Any], twins: dict[Any, Any]) -> Any:
    from numba import njit

    if function not in twins:
        twins[function] = njit(nogil=True)(_with_globals(function, put_in, twins))
    return twins[function]


def _with_globals(function: Any, put_in: Mapping[str, Any], twins: dict[Any, Any]) -> FunctionType:
    scope = dict(function.__globals__)
    for name in function.__code__.co_names:
        value = put_in.get(name, scope.get(name))
        if isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE):
            value = _twin(value, put_in, twins)
        if name in put_in or name in scope:
            scope[name] = value
    return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)


@cache
def _sources_digest() -> str:
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()
