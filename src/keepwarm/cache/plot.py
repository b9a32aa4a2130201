"""A curve as a picture: hit rate against capacity, PNG or SVG, the same bytes every time."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepwarm._errors import InputError
from keepwarm._files import write_whole
from keepwarm.cache.curve import Curve, PolicyCurve
from keepwarm.cache.sampling import SampledCurve
from keepwarm.cache.weights import GIB
from keepwarm.policies.belady import Belady

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUFFIXES = (".png", ".svg")

# Okabe and Ito, Color Universal Design, 2008; black is kept for the optimum. Dashes tell lines apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (2, 1.5)))
_OPTIMUM = Belady.name
_MARKERS = {90: "o", 95: "s", 99: "D"}
_GREY = "#666666"
_RC: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib: the same measures everywhere
    "font.size": 10,
    "lines.linewidth": 1.8,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "keepwarm",
}


def write_curve_plot(
    curve: Curve,
    path: Path,
    *,
    title: str = "",
    block_bytes: int | None = None,
    sampled: SampledCurve | None = None,
) -> None:
    """Draw a curve to ``path``, whose suffix says how: ``.png`` or ``.svg``. Needs the extra ``plot``.

    ``title`` names the trace. ``block_bytes``, if known, gives a second axis in GiB. ``sampled`` is drawn
    with the band of its stated error.

    Raises:
        InputError: another suffix, matplotlib is missing, or the file cannot be written.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"plot {str(path)!r}: suffix {path.suffix!r} is not known; name a .png or .svg file")
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("plots need matplotlib, which is not installed; install keepwarm[plot]") from None
    content = io.BytesIO()
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever the user's own settings are
        mpl.rcParams.update(_RC)
        figure = Figure(figsize=(9, 5.4), layout="constrained")
        FigureCanvasAgg(figure)
        _draw(figure.add_subplot(), curve, title, block_bytes, sampled)
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(content, format=suffix[1:], dpi=150, metadata=metadata)
    write_whole(path, content.getvalue())


def _draw(
    axes: Axes, curve: Curve, title: str, block_bytes: int | None, sampled: SampledCurve | None
) -> None:
    _draw_ceiling(axes, curve)
    for place, policy in enumerate(name for name in curve.policies if name.policy != _OPTIMUM):
        _draw_policy(axes, curve, policy, _COLOURS[place % len(_COLOURS)], _DASHES[place % len(_DASHES)])
    for policy in curve.policies:
        if policy.policy == _OPTIMUM:
            _draw_policy(axes, curve, policy, "black", (0, (1, 1)), f"{_OPTIMUM} (knows the future)")
    if sampled is not None:
        _draw_sampled(axes, sampled)
    for percent, marker in _MARKERS.items():
        axes.plot([], [], marker, color=_GREY, label=f"{percent}% of the ceiling")
    axes.set_title(f"Simulated prefix-cache hit rate{': ' if title else ''}{title}")
    axes.set_ylabel("hit rate, % of prompt tokens (simulated)")
    axes.set_ylim(0, min(104.0, 112 * curve.ceiling.hit_rate) or 1.0)
    axes.grid(visible=True, color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", frameon=True, framealpha=0.9, edgecolor="none")
    _set_capacity_axes(axes, curve, block_bytes)


def _draw_ceiling(axes: Axes, curve: Curve) -> None:
    rate = 100 * curve.ceiling.hit_rate
    axes.axhline(rate, color=_GREY, linewidth=1, zorder=1)
    axes.annotate(
        f"ceiling {rate:.1f}%: nothing is ever evicted",
        xy=(0, rate),
        xycoords=("axes fraction", "data"),
        xytext=(6, 3),
        textcoords="offset points",
        color=_GREY,
        fontsize=9,
    )


def _draw_policy(
    axes: Axes, curve: Curve, policy: PolicyCurve, colour: str, dashes: Any, label: str | None = None
) -> None:
    line = [(point.capacity_blocks, 100 * point.hit_rate) for point in policy.points]
    for size in policy.sizes:
        if size.capacity_blocks is not None:
            place = (size.capacity_blocks, size.percent_of_ceiling * curve.ceiling.hit_rate)
            line.append(place)  # a point of the curve like any other
            marker = _MARKERS.get(size.percent_of_ceiling, "x")
            axes.plot(*place, marker, color=colour, markersize=7, markeredgecolor="white", zorder=4)
    axes.plot(*zip(*sorted(line), strict=True), color=colour, linestyle=dashes, label=label or policy.policy)


def _draw_sampled(axes: Axes, sampled: SampledCurve) -> None:
    capacities = [point.capacity_blocks for point in sampled.points]
    lower = [100 * (point.hit_rate - point.error) for point in sampled.points]
    upper = [100 * (point.hit_rate + point.error) for point in sampled.points]
    label = f"lru, estimated from {sampled.followed_blocks / max(1, sampled.distinct_blocks):.1%} of blocks"
    axes.fill_between(capacities, lower, upper, color=_COLOURS[5], alpha=0.35, linewidth=0)
    rates = [100 * point.hit_rate for point in sampled.points]
    axes.plot(capacities, rates, color=_COLOURS[5], linewidth=1, label=label)


def _set_capacity_axes(axes: Axes, curve: Curve, block_bytes: int | None) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.set_xlabel(f"capacity, usable blocks of {curve.block_size} tokens")
    axes.spines.top.set_visible(block_bytes is not None)
    shown = [axes.xaxis]
    if block_bytes is not None:
        gib = block_bytes / GIB
        scales: Any = (lambda blocks: blocks * gib, lambda size: size / gib)
        above = axes.secondary_xaxis("top", functions=scales)
        above.set_xlabel("KV cache, GiB")
        shown.append(above.xaxis)
    for axis in shown:
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(FuncFormatter(lambda value, _place: f"{value:,.10g}"))
        axis.set_minor_formatter(NullFormatter())
