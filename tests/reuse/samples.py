"""Small sets of tool durations."""

from __future__ import annotations

from random import Random

from hypothesis import strategies as st

from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.curves import Curve
from keepwarm.reuse.durations.base import ToolDuration


def ran(command: str, duration_s: float, *, cut_off: bool = False, task: str = "task") -> ToolDuration:
    return ToolDuration(ToolCall("bash", command), duration_s, task, cut_off)


def listings_and_builds(calls: int = 60, tasks: int = 4) -> list[ToolDuration]:
    """Half are `ls` of some milliseconds, half `make` of 5 to 20 seconds, a fifth of these cut off."""
    random = Random(7)
    durations = []
    for number in range(calls):
        task = f"task-{number % tasks}"
        durations.append(ran(f"ls -la src/{number % 7}", 0.01 + random.random() / 100, task=task))
        cut_off = number % 5 == 0
        seconds = 20.0 if cut_off else 5.0 + 15.0 * random.random()
        durations.append(ran(f"make test TARGET={number % 5}", seconds, cut_off=cut_off, task=task))
    return durations


@st.composite
def curves(draw: st.DrawFn) -> Curve:
    """Any curve that a model may hold."""
    times_s = sorted(draw(st.sets(st.floats(0.0, 100.0), max_size=12)))
    shares = draw(st.lists(st.floats(0.0, 0.999), min_size=len(times_s), max_size=len(times_s), unique=True))
    return Curve(
        times_s,
        sorted(shares, reverse=True),
        end_s=max([*times_s, 1e-6]) + draw(st.sampled_from([0.0, 0.5, 50.0])),
        beyond_s=draw(st.floats(1e-6, 1e4)),
        samples=draw(st.integers(1, 1000)),
    )


def tool_durations(max_s: float = 100.0) -> st.SearchStrategy[list[ToolDuration]]:
    """Calls of one shell, some cut off."""
    one = st.builds(
        ran, st.sampled_from(["ls", "make", "pytest -x"]), st.floats(0.0, max_s), cut_off=st.booleans()
    )
    return st.lists(one, min_size=1, max_size=40)
