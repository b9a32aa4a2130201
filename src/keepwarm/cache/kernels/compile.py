"""Specialise the replay loop to a policy, and compile it with numba on first use.

The loop and the operations are plain Python functions. To compile one, it is copied with other globals:
operations become those of the policy, and every function of this package its own compiled copy.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

from keepwarm.cache.kernels import frame
from keepwarm.cache.kernels.operations import PolicyKernel

_PACKAGE = __name__.rpartition(".")[0]

# Nothing is allocated inside, so arrays need no reference counts, and divisors are positive. Callees go into
# their callers: what is passed, every array in seven parts, costs more than most of them do (see
# docs/design/kernel.md).
_OPTIONS: dict[str, Any] = {"_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

_lock = Lock()
_replays: dict[tuple[PolicyKernel, bool], Callable[..., int]] = {}


def compiled_replay(name: str, kernel: PolicyKernel, *, checked: bool) -> Callable[..., int]:
    """``frame.replay_requests`` with the operations of a policy; compiled when first called."""
    with _lock:
        replay = _replays.get((kernel, checked))
        if replay is None:
            put_in = {"CHECKED": checked, **kernel.operations()}
            label = f"{name}_checked" if checked else name
            replay = _replays[kernel, checked] = compiled(frame.replay_requests, put_in, label)
        return replay


def compiled(function: Callable[..., Any], put_in: Mapping[str, Any], label: str) -> Callable[..., Any]:
    """A compiled twin of ``function``, cached on disk; the globals named in ``put_in`` are replaced.

    Numba files compiled code by the function's name and looks for changes in its own module alone, so
    the twin's name carries ``label`` and a digest of everything that is compiled along.
    """
    twins = _Twins(put_in)
    copy = twins.copy(function)
    copy.__qualname__ = f"{function.__name__}_{label}_{twins.digest()}"
    result: Callable[..., Any] = jit_on_disk(copy, **_OPTIONS)
    return result


def jit_on_disk(function: Callable[..., Any], **options: bool) -> Any:
    """Compile when first called, without the GIL; kept on disk where numba finds a folder it may write to."""
    from numba import njit

    decorate: Any = njit  # its stubs leave out some options
    try:
        return decorate(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no such folder, as in a read-only container: each process compiles anew
        return decorate(nogil=True, **options)(function)


def _jit(function: FunctionType, **options: bool) -> Any:
    from numba import njit

    decorate: Any = njit  # its stubs leave out some options
    return decorate(**options, **_OPTIONS)(function)


class _Twins:
    """Compiled twins of the functions that one function calls, directly or not."""

    def __init__(self, put_in: Mapping[str, Any]) -> None:
        self._put_in = put_in
        self._twins: dict[FunctionType, Any] = {}
        self._sources: set[str] = {__file__}
        self._constants: set[str] = set()

    def copy(self, function: Any) -> FunctionType:
        """The same code with other globals."""
        self._sources.add(function.__code__.co_filename)
        scope = {**function.__globals__, **self._put_in}
        for name in function.__code__.co_names:
            value = scope.get(name)
            if isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE):
                scope[name] = self._twin(value)
            elif isinstance(value, int | float | str):
                self._constants.add(f"{function.__module__}.{name}={value!r}")
        return FunctionType(function.__code__, scope, function.__name__, function.__defaults__)

    def digest(self) -> str:
        """Of the sources of all copied functions, and of the constants they use from elsewhere."""
        digest = hashlib.blake2b(digest_size=6)
        for source in sorted(self._sources):
            digest.update(Path(source).read_bytes())
        for constant in sorted(self._constants):
            digest.update(constant.encode())
        return digest.hexdigest()

    def _twin(self, function: FunctionType) -> Any:
        if function not in self._twins:
            self._twins[function] = _jit(self.copy(function), no_cpython_wrapper=True, forceinline=True)
        return self._twins[function]
