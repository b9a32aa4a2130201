"""A description as pictures: PNG or SVG, the same bytes every time."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm.workload.describe.figures import Description
from keepwarm.workload.describe.panels import PANELS, Panel, Traces
from keepwarm.workload.describe.terminal import named

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
_COLUMNS = 2
_PANEL_INCHES = (5.6, 3.6)
_RC: Mapping[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same measures everywhere
    "font.size": 9,
    "lines.linewidth": 1.6,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "keepwarm",
}


def check_plot(path: Path) -> None:
    """Before the work: that there can be pictures at ``path``. Raises InputError: there cannot."""
    if find_spec("matplotlib") is None:
        raise InputError("plots need matplotlib, which is not installed; install keepwarm[plot]")
    folder = path if path.is_dir() else path.parent
    if not path.is_dir() and path.suffix.lower() not in SUFFIXES:
        raise InputError(
            f"plot {str(path)!r} is neither a .png or .svg file nor a folder that is there; name it so, or "
            "make the folder first"
        )
    if not folder.is_dir():
        raise InputError(f"plot {str(path)!r}: no folder {str(folder)!r}; make it first")
    if not os.access(folder, os.W_OK):
        raise InputError(f"plot {str(path)!r}: folder {str(folder)!r} is not writable; name another")


def write_plots(description: Description, path: Path) -> None:
    """One picture of all panels, or, where ``path`` is a folder, an SVG file of each.

    Raises:
        InputError: it cannot be written.
    """
    traces = named(description)
    panels = {name: panel for name, panel in PANELS.items() if panel.has(description)}
    if path.is_dir():
        for name, panel in panels.items():
            _write(path / f"{name}.svg", description, traces, [panel])
    else:
        _write(path, description, traces, list(panels.values()))


def _write(path: Path, description: Description, traces: Traces, panels: Sequence[Panel]) -> None:
    def drawn(figure: Figure) -> None:
        for place, panel in enumerate(panels, start=1):
            axes = figure.add_subplot(rows, columns, place)
            axes.set_title(panel.title)
            panel.draw(axes, description, traces)

    columns = min(_COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (_PANEL_INCHES[0] * columns, _PANEL_INCHES[1] * rows)
    write_whole(path, _picture(drawn, size, path.suffix.lower()))


def _picture(drawn: Callable[[Figure], None], size: tuple[float, float], suffix: str) -> bytes:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    content = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's own settings are
        mpl.rcParams.update(_RC)
        figure = Figure(figsize=size, layout="constrained")
        FigureCanvasAgg(figure)
        drawn(figure)
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(content, format=suffix[1:], dpi=150, metadata=metadata)
    return content.getvalue()
