"""What every engine does with a cell, wherever it runs: the source is read once, then cell by cell."""

from __future__ import annotations

from typing import NamedTuple

from keepwarm._errors import InputError, KeepwarmError
from keepwarm.cache.choices import check_fit, chosen_match_unit_blocks
from keepwarm.cache.load import LoadedTrace, load_trace
from keepwarm.cache.rows import Cell as CacheCell
from keepwarm.cache.rows import RowMaker
from keepwarm.cache.store import TraceStore, store_folder
from keepwarm.serving.options import ServingOptions
from keepwarm.serving.simulate import simulate
from keepwarm.sweep import columns
from keepwarm.sweep.cells import CacheRun, Cell, Figures, Source
from keepwarm.workload.base import Workload
from keepwarm.workload.load import LoadOptions, load_workload


class Outcome(NamedTuple):
    """What became of a cell: its figures, or else one line that says why there are none."""

    cell: Cell
    figures: Figures | None
    reason: str | None = None


class Prepared(NamedTuple):
    """A source that has been read: one of the two. Read-only, and fit to be sent to other processes."""

    trace: LoadedTrace | None
    workload: Workload | None

    def outcome(self, cell: Cell) -> Outcome:
        """Compute one cell. Never raises for what is wrong with the cell alone."""
        try:
            return Outcome(cell, self._figures(cell.run))
        except KeepwarmError as error:
            return Outcome(cell, None, str(error))
        except MemoryError:
            return Outcome(cell, None, "out of memory; take a larger machine, or fewer cells at a time")
        except Exception as error:  # noqa: BLE001 - the other cells are to go on
            return Outcome(
                cell, None, f"a bug in keepwarm, {type(error).__name__}: {error}; please report it"
            )

    def _figures(self, run: CacheRun | ServingOptions) -> Figures:
        if isinstance(run, CacheRun):
            assert self.trace is not None, "the source of a cache cell is a trace"
            return _cache_figures(self.trace, run)
        assert self.workload is not None, "that of a serving cell a workload"
        return columns.figures(columns.SERVING, simulate(self.workload, run), self.workload.block_size)


def _cache_figures(trace: LoadedTrace, run: CacheRun) -> Figures:
    block_size = trace.dense.block_size
    check_fit(trace, (run.capacity_blocks,))
    maker = RowMaker(trace, run.ignore_output, chosen_match_unit_blocks(run.match_unit_tokens, block_size))
    row = maker.row(CacheCell(run.policy, run.capacity_blocks))
    return columns.figures(columns.CACHE, row, block_size)


def prepare(source: Source) -> Prepared:
    """Read a source, or take it from the store of interned traces. Raises InputError: it cannot be used."""
    options = source.options
    if source.serving:
        chosen = LoadOptions(options.format, options.tokenizer, options.chat_template, options.block_size)
        return Prepared(None, load_workload(source.path, chosen))
    folder = store_folder()
    trace = load_trace(source.path, options, store=None if folder is None else TraceStore(folder))
    if not trace.dense.requests:
        raise InputError(f"{source.path!r} holds no request; name a trace with requests")
    return Prepared(trace, None)
