"""Ctrl-C once: nothing more is sent, and what is under way ends. Twice: as usual."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopped_by_interrupt() -> Iterator[Callable[[], bool]]:
    """Gives what tells whether SIGINT came; outside of the main thread it never does."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = False
    earlier = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        del number, frame
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, earlier)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, earlier)
