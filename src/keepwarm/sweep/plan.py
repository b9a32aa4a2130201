"""From a spec to cells: every file it names is looked at, every name in it known, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from keepwarm._errors import InputError
from keepwarm.cache.choices import chosen_policies
from keepwarm.cache.options import TraceOptions
from keepwarm.reuse.model import ModelError
from keepwarm.reuse.model import load as load_model
from keepwarm.reuse.predictor import ReuseModel
from keepwarm.serving.options import Population, ServingOptions
from keepwarm.serving.profile import Profile, load_profile, shipped_profiles
from keepwarm.serving.rules import check_eviction, queue_order
from keepwarm.sweep import keys
from keepwarm.sweep.cells import CacheRun, Cell, CellKey, Group, Settings, Source
from keepwarm.sweep.spec import CacheTable, ServingTable, Spec, Traced, place
from keepwarm.trace.open import open_trace
from keepwarm.trace.tokens import is_server

MOST_CELLS = 1_000_000


class _OpenedSource(NamedTuple):
    """A source, its key, and how rows name it."""

    source: Source
    key: str
    named: Settings


def planned(spec: Spec) -> tuple[Group, ...]:
    """The cells of a spec by source, each key once, in the order in which the spec comes to them.

    Raises:
        InputError: a file is not there or not usable, a name is unknown, or there are too many cells.
    """
    opened = _Opened(spec.path.parent)
    cells: dict[Source, dict[CellKey, Cell]] = {}
    seen: set[CellKey] = set()
    for source, cell in _all_cells(spec, opened):
        if cell.key in seen:
            continue
        seen.add(cell.key)
        if len(seen) > MOST_CELLS:
            raise InputError(f"spec {str(spec.path)!r} asks for more than {MOST_CELLS} cells; split it")
        cells.setdefault(source, {})[cell.key] = cell
    return tuple(Group(source, tuple(found.values())) for source, found in cells.items())


def _all_cells(spec: Spec, opened: _Opened) -> Iterator[tuple[Source, Cell]]:
    for index, cache in enumerate(spec.cache):
        yield from _placed(place(spec.path, "cache", index), _cache_cells(cache, opened))
    for index, serving in enumerate(spec.serving):
        yield from _placed(place(spec.path, "serving", index), _serving_cells(serving, opened))


def _placed(where: str, cells: Iterator[tuple[Source, Cell]]) -> Iterator[tuple[Source, Cell]]:
    """``cells``, whose errors say which table they are of."""
    try:
        yield from cells
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


class _Opened:
    """Files that a spec names, each opened once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sources: dict[tuple[str, TraceOptions, bool], _OpenedSource] = {}

    def file(self, name: str, what: str) -> Path:
        """A file beside the spec. Raises InputError: it is not there."""
        path = self._folder / name
        if path.is_dir():
            raise InputError(f"the {what} {str(path)!r} is a folder; name a file in it")
        if not path.is_file():
            raise InputError(f"no {what} at {str(path)!r}; paths are relative to the spec, correct it there")
        return path

    def sources(self, table: Traced, *, serving: bool) -> Iterator[_OpenedSource]:
        """The traces of a table."""
        options = TraceOptions(
            format=table.format,
            tokenizer=self._tokenizer(table.tokenizer),
            chat_template=self._template(table.chat_template),
            block_size=table.block_size,
        )
        for name in table.traces:
            asked = (name, options, serving)
            if asked not in self._sources:
                self._sources[asked] = self._open(name, options, serving=serving)
            yield self._sources[asked]

    def profile(self, name: str) -> Profile:
        """A shipped profile, else a file beside the spec."""
        if name in shipped_profiles():
            return load_profile(name)
        if not (self._folder / name).is_file():
            raise InputError(
                f"no profile {name!r}: give a file beside the spec, or one of {', '.join(shipped_profiles())}"
            )
        return load_profile(str(self._folder / name))

    def _open(self, name: str, options: TraceOptions, *, serving: bool) -> _OpenedSource:
        trace = open_trace(self.file(name, "trace"), options.format)
        key = keys.trace_key(trace, options)
        kind = "serving" if serving else "cache"
        named: Settings = {"kind": kind, "trace": name, "trace_sha256": trace.sha256}
        return _OpenedSource(Source(str(trace.path), options, serving), key, named)

    def _tokenizer(self, name: str | None) -> str | None:
        beside = None if name is None or is_server(name) else self._folder / name
        return str(beside) if beside is not None and beside.exists() else name

    def _template(self, name: str | None) -> str | None:
        if name is None:
            return None
        path = self._folder / name
        if not path.exists():
            raise InputError(f"no chat template at {str(path)!r}; paths are relative to the spec")
        return str(path)


def _cache_cells(table: CacheTable, opened: _Opened) -> Iterator[tuple[Source, Cell]]:
    policies = chosen_policies(table.policies)
    for source, key, named in opened.sources(table, serving=False):
        for policy, capacity_blocks in product(policies, table.capacity_blocks):
            run = CacheRun(policy, capacity_blocks, table.ignore_output, table.match_unit_tokens)
            yield source, Cell(keys.cache_key(key, run), run, {**named, **run._asdict()})


def _serving_cells(table: ServingTable, opened: _Opened) -> Iterator[tuple[Source, Cell]]:
    model, model_digest = _reuse_model(table.reuse_model, opened)
    runs = _runs(table, model, opened)
    for source, key, named in opened.sources(table, serving=True):
        for profile, run in runs:
            cell_key = keys.serving_key(key, run, reuse_model=model_digest)
            yield source, Cell(cell_key, run, {**named, **_settings(profile, run)})


def _runs(
    table: ServingTable, model: ReuseModel | None, opened: _Opened
) -> Sequence[tuple[str, ServingOptions]]:
    for name in table.scheduling:
        queue_order(name)
    for name in table.eviction:
        check_eviction(name, model)
    profiles = {name: opened.profile(name) for name in table.profiles}
    population = _population(table.population)
    axes = (profiles, table.capacity_tokens or (None,), table.scheduling, table.eviction, table.sessions)
    runs = []
    for profile, capacity_tokens, order, rule, sessions, seed in product(*axes, table.seeds):
        run = ServingOptions(
            profile=profiles[profile],
            scheduling=order,
            eviction=rule,
            sessions=sessions,
            seed=seed,
            step_tokens=table.step_tokens,
            capacity_tokens=capacity_tokens,
            gap_scale=table.gap_scale,
            population=population,
            reuse_model=model,
        )
        run.check()
        runs.append((profile, run))
    return runs


def _settings(profile: str, run: ServingOptions) -> Settings:
    return {
        "scheduling": run.scheduling,
        "eviction": run.eviction,
        "sessions": run.sessions,
        "seed": run.seed,
        "profile": profile,
        "capacity_tokens": run.capacity_tokens or run.profile.capacity_tokens,
        "step_tokens": run.step_tokens or run.profile.step_tokens,
        "gap_scale": run.gap_scale,
        "population": run.population.value,
    }


def _population(name: str) -> Population:
    try:
        return Population(name)
    except ValueError:
        raise InputError(f"no population {name!r}; there are together, constant") from None


def _reuse_model(name: str | None, opened: _Opened) -> tuple[ReuseModel | None, str]:
    if name is None:
        return None, ""
    path = opened.file(name, "reuse model")
    try:
        return load_model(path), keys.digest(path.read_bytes())
    except ModelError as error:
        raise InputError(str(error)) from None
