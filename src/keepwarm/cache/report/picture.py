"""The curve of a simulation as a picture."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from keepwarm._errors import InputError
from keepwarm._text import visible
from keepwarm.cache.curve import Curve
from keepwarm.cache.plot import SUFFIXES, write_curve_plot
from keepwarm.cache.simulation import Simulation


def check_picture(path: Path) -> None:
    """Before the work: that there can be a picture at ``path``. Raises InputError: there cannot."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"plot {str(path)!r} is neither .png nor .svg; name it so")
    if not path.parent.is_dir():
        raise InputError(f"plot {str(path)!r}: no folder {str(path.parent)!r}; make it first")
    if path.is_dir():
        raise InputError(f"plot {str(path)!r} is a folder; name a file")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"plot {str(path)!r}: folder {str(path.parent)!r} is not writable; name another")
    if find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib, which is not installed; install keepwarm[plot]")


def write_picture(simulation: Simulation, path: Path) -> None:
    """Draw the exact or sampled curve of ``simulation``. Raises InputError: it cannot be written."""
    nothing = Curve(block_size=simulation.cache.block_size, ceiling=simulation.ceiling, policies=())
    write_curve_plot(
        simulation.curve or nothing,
        path,
        title=visible(Path(simulation.input.path).name),
        block_bytes=simulation.cache.bytes_per_block,
        sampled=simulation.sampled_curve,
    )
