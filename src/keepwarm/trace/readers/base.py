"""What a reader of one trace format is.

To add a format: copy the smallest neighbour (``mooncake.py``), list it in
``readers/__init__.py``; the conformance suite in ``tests/trace_readers`` says what is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from keepwarm.trace.records import JsonObject, Request, Skipped

CERTAIN = 1.0
"""Score of a record that only this format has."""

AMBIGUOUS = 0.6
"""Score of a record that this format has too."""


class Unusable(Exception):
    """A record that cannot be used; the message is the reason shown to the user."""


class Reader(ABC):
    """One pass over the records of a trace.

    An instance holds the state of that one pass and is then thrown away. The class docstring
    is the documentation of the format.
    """

    name: ClassVar[str]  # as given with ``--format``
    prompt_texts_known: ClassVar[bool] = True  # false: the file holds block ids instead
    prompt_complete: ClassVar[bool] = True  # false: system text or tools are not in the file
    sessions_known: ClassVar[bool] = True  # false: the format has no field that names one
    one_clock: ClassVar[bool] = True  # false: times count from the start of each session
    is_text: ClassVar[bool] = False  # lines of a log instead of JSON

    @staticmethod
    @abstractmethod
    def score(record: JsonObject) -> float:
        """How much the record looks like this format, 0 to 1, from its content alone.

        Changes nothing, never raises. Records of the format that are no requests score too.
        """

    @staticmethod
    def score_text(text: str) -> float:
        """How much a line that is not JSON looks like this format; 0 unless it is a log.

        Changes nothing, never raises.
        """
        del text
        return 0.0

    @abstractmethod
    def read(self, record: JsonObject, line: int) -> Iterable[Request | Skipped]:
        """The requests that this record completes: none, one or several.

        Mutates: it may hold a request back until a later record completes it. Use up the result
        before the next call; the requests in it stay valid. Raises, there or on the way, Unusable
        where the record is of no use and RecursionError where it nests too deep.
        """

    def read_text(self, text: str, line: int) -> Iterable[Request | Skipped]:
        """The same for a line of a log; only called where ``is_text``. Mutates, raises as ``read``."""
        raise NotImplementedError

    def finish(self) -> Iterable[Request | Skipped]:
        """What was held back, at the end of the file. Mutates: call it once, and nothing after it."""
        return ()
