"""Whole sessions picked from a trace, and what else has to be read to tell their fates without bias.

The trace is parsed twice, and few of its requests are rendered. The first pass picks sessions by a hash of
their names. The second hands on their requests and, as *context*, the earliest requests outside the sample
that carried what a picked one carries later, and the first of the trace, where most call sites begin: then
cache and call site hold for a picked request what they hold in the whole trace. Context counts for no figure.
``docs/design/sampled-diagnosis.md`` says why.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from keepwarm._errors import InputError
from keepwarm.diagnose.sample_keys import carried_keys, content_of, message_key
from keepwarm.trace.catalog import HEAD_ROLES
from keepwarm.trace.open import Trace
from keepwarm.trace.records import Request

SEED = 0
CONTEXT = -1
"""Session number of a request that is read for its content only."""

_CHANCES = 1 << 64
_FIRST_REQUESTS = 256  # of the trace are context, but no more than a quarter of what is picked


class Sample(NamedTuple):
    """The sample behind a traffic: ``session[i]`` numbers the picked session of row ``i``, or is ``CONTEXT``.

    ``size[i]`` is the recorded size of its prompt: tokens where every request of the trace records them, else
    bytes. The totals are those of the whole trace.
    """

    rate: float
    session: npt.NDArray[np.int64]
    size: npt.NDArray[np.int64]
    size_unit: str
    total_requests: int
    total_sessions: int
    total_size: int

    def is_counted(self, index: int) -> bool:
        """Whether row ``index`` is of a picked session."""
        return bool(self.session[index] >= 0)

    def knows_last_use(self, index: int, holder: int) -> bool:
        """Whether only the sample can have used since what both hold: they are of one picked session."""
        return bool(self.session[index] == self.session[holder] >= 0)


class Sampler:
    """One sample of a trace. Iterate ``requests`` to the end, then ask for ``result``."""

    def __init__(self, trace: Trace, rate: float, seed: int = SEED) -> None:
        self._trace = trace
        self._rate = rate
        self._seed = seed
        self._picked: dict[int, int] = {}  # number of the request in the trace -> of its session
        self._wanted: dict[int, bool] = {}  # keys of picked requests -> whether one before held them
        self._total_sessions = 0
        self._total_requests = 0
        self._total_bytes = self._total_tokens = 0
        self._all_counted = True  # by the server that answered
        self._session: list[int] = []
        self._bytes: list[int] = []
        self._tokens: list[int] = []

    def pick(self, on_bytes: Callable[[int], None] | None = None) -> None:
        """The first pass. Raises InputError: the trace is of no use, or no session fell into the sample."""
        sessions = _Sessions()
        numbers: dict[bytes, int] = {}  # of sessions in the order of their first requests
        for number, request in enumerate(self._trace.requests(on_bytes, own_ids=False)):
            name = sessions.name(request)
            if name not in numbers:
                numbers[name] = len(numbers) if self._is_picked(name) else CONTEXT
            if numbers[name] == CONTEXT:
                continue
            self._picked[number] = numbers[name]
            for key in (*content_of(request).prefixes.tolist(), *carried_keys(request)):
                self._wanted[key] = False
        self._total_sessions = len(numbers)
        if not self._picked:
            rate = min(1.0, 20 / len(numbers))
            raise InputError(
                f"no session of {str(self._trace.path)!r} fell into a sample of {self._rate:g}: it has "
                f"{len(numbers)}; take a larger one, say --sample {rate:.2g}"
            )

    def _is_picked(self, session: bytes) -> bool:
        digest = hashlib.blake2b(session, digest_size=8, person=b"sample", salt=self._seed.to_bytes(8))
        return int.from_bytes(digest.digest()) < self._rate * _CHANCES

    def requests(self, on_bytes: Callable[[int], None] | None = None) -> Iterator[Request]:
        """The second pass: what is to be diagnosed, in recorded order."""
        first_requests = min(_FIRST_REQUESTS, len(self._picked) // 4)
        for number, request in enumerate(self._trace.requests(on_bytes)):
            content = content_of(request)
            tokens = request.usage.prompt_tokens
            self._all_counted &= tokens is not None
            self._total_bytes += content.size_bytes
            self._total_tokens += tokens or 0
            self._total_requests += 1
            session = self._picked.get(number, CONTEXT)
            prefixes = content.prefixes.tolist()
            # The very first request says which template and block size the whole trace has.
            if self._hold(prefixes, request) or session != CONTEXT or number <= first_requests:
                self._session.append(session)
                self._bytes.append(content.size_bytes)
                self._tokens.append(tokens or 0)
                yield request

    def _hold(self, prefixes: Sequence[int], request: Request) -> bool:
        """Whether a picked request carries something of this one that none before held. Mutates."""
        wanted = self._wanted
        known = _leading(prefixes, lambda key: key in wanted)
        held = _leading(prefixes[:known], lambda key: wanted[key])
        for key in prefixes[held:known]:
            wanted[key] = True
        is_first = held < known
        for key in carried_keys(request):
            if not wanted.get(key, True):
                wanted[key] = is_first = True
        return is_first

    def result(self) -> Sample:
        """The sample, once all requests have been handed on."""
        counted = self._all_counted and self._total_tokens > 0
        return Sample(
            rate=self._rate,
            session=np.asarray(self._session, dtype=np.int64),
            size=np.asarray(self._tokens if counted else self._bytes, dtype=np.int64),
            size_unit="recorded prompt tokens" if counted else "bytes",
            total_requests=self._total_requests,
            total_sessions=self._total_sessions,
            total_size=self._total_tokens if counted else self._total_bytes,
        )


def _leading(keys: Sequence[int], holds: Callable[[int], bool]) -> int:
    """How many keys ``holds`` is true of; it is of the first so many, so halving finds the number."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if holds(keys[middle]):
            low = middle + 1
        else:
            high = middle
    return low


class _Sessions:
    """Names of sessions, request by request: recorded, else told nearly as the diagnosis tells them.

    A request without a session continues the one whose conversation it begins with; a prompt without messages
    the one whose prompt ended within it. Requests that record a session are not remembered: it would take
    memory for each, for the sake of traces that record some sessions and not others. A name of a new session
    is made of what its first request says. Takes some 150 bytes for each request that records no session.
    """

    def __init__(self) -> None:
        self._by_history: dict[int, bytes] = {}

    def name(self, request: Request) -> bytes:
        if request.session is not None:
            return b"session " + request.session.encode("utf-8", "surrogatepass")
        if request.hashed is not None:
            return _own_name(request)  # no cause is named without texts: requests are picked one by one
        history = _turns(request) if request.messages else content_of(request).prefixes.tolist()
        before = history[:-1] if request.messages else history
        found = next((self._by_history[key] for key in reversed(before) if key in self._by_history), None)
        name = _own_name(request) if found is None else found
        if history:
            self._by_history[history[-1]] = name
        return name


def _turns(request: Request) -> list[int]:
    """A key of the conversation up to each turn, without what an application puts in front of it."""
    keys: list[int] = []
    for message in request.messages:
        if message.get("role") not in HEAD_ROLES:
            keys.append(hash((keys[-1] if keys else 0, message_key(message))))
    return keys


def _own_name(request: Request) -> bytes:
    """Of the content, time and id of a session's first request."""
    body = (request.messages, request.prompt_text, request.prompt_token_ids, request.hashed)
    raw = msgspec.json.encode((body, request.id, request.time_s))
    return b"request " + hashlib.blake2b(raw, digest_size=16).digest()
