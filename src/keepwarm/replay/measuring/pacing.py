"""When requests go out: one after another, several at once, or as they were recorded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from keepwarm.replay.measuring.options import Mode
from keepwarm.replay.measuring.plan import Planned
from keepwarm.replay.measuring.record import Row
from keepwarm.replay.measuring.sending import Sender

_MOST_AT_ONCE = 256  # with recorded timing: beyond it requests are late, and the run says so
_LOOK_S = 0.25  # how often a wait looks whether the run was interrupted

Stopped = Callable[[], bool]


def sent_rows(
    mode: Mode, entries: Sequence[Planned], sender: Sender, concurrency: int, stopped: Stopped
) -> Iterator[Row]:
    """Rows as they are finished. Where ``stopped`` says so nothing more is sent; what is under way ends.

    Raises what ``Sender.send`` does, once nothing is under way any more.
    """
    if mode == "sequential":
        return _one_by_one(entries, sender, stopped)
    if mode == "concurrent":
        return _several(entries, sender, concurrency, stopped)
    return _as_recorded(entries, sender, stopped)


def _one_by_one(entries: Sequence[Planned], sender: Sender, stopped: Stopped) -> Iterator[Row]:
    for entry in entries:
        if stopped():
            return
        yield sender.send(entry)


def _several(entries: Sequence[Planned], sender: Sender, concurrency: int, stopped: Stopped) -> Iterator[Row]:
    waiting = iter(entries)
    under_way: set[Future[Row]] = set()
    with ThreadPoolExecutor(max_workers=concurrency) as pool:
        while True:
            while len(under_way) < concurrency and not stopped():
                entry = next(waiting, None)
                if entry is None:
                    break
                under_way.add(pool.submit(sender.send, entry))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def _as_recorded(entries: Sequence[Planned], sender: Sender, stopped: Stopped) -> Iterator[Row]:
    timed = sorted(entries, key=lambda entry: entry.time_s or 0.0)
    first_s = (timed[0].time_s or 0.0) if timed else 0.0
    nobody = threading.Event()
    under_way: set[Future[Row]] = set()
    with ThreadPoolExecutor(max_workers=_MOST_AT_ONCE) as pool:
        for entry in timed:
            due_s = (entry.time_s or 0.0) - first_s
            while not stopped() and (left_s := due_s - sender.now_s()) > 0:
                done, under_way = _finished(under_way)
                yield from (future.result() for future in done)
                nobody.wait(min(left_s, _LOOK_S))
            if stopped():
                break
            under_way.add(pool.submit(sender.send, entry, due_s))
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _finished(under_way: set[Future[Row]]) -> tuple[set[Future[Row]], set[Future[Row]]]:
    done = {future for future in under_way if future.done()}
    return done, under_way - done
