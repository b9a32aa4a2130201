"""What a sweep is to compute, as a TOML file says it: tables of cache and of serving simulations.

Every list is one axis of its table's grid; paths are relative to the file.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec

from keepwarm._errors import InputError

_Table = TypeVar("_Table", bound="Traced")
_Names = Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1)], ...], msgspec.Meta(min_length=1)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=2**40)]
_Counts = Annotated[tuple[_Positive, ...], msgspec.Meta(min_length=1)]
_Seeds = Annotated[tuple[Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)], ...], msgspec.Meta(min_length=1)]


class Traced(msgspec.Struct, frozen=True, kw_only=True):
    """What both kinds of tables say of their traces; see ``TraceOptions``."""

    traces: _Names
    format: str = "auto"
    tokenizer: str | None = None
    chat_template: str | None = None
    block_size: _Positive | None = None


class CacheTable(Traced, frozen=True, kw_only=True):
    """``[[cache]]``: traces × policies × capacities; see ``SimulateOptions``."""

    policies: _Names
    capacity_blocks: _Counts
    ignore_output: bool = False
    match_unit_tokens: _Positive | None = None


class ServingTable(Traced, frozen=True, kw_only=True):
    """``[[serving]]``: the product of all its lists; see ``ServingOptions``."""

    scheduling: _Names = ("fcfs",)
    eviction: _Names = ("lru",)
    sessions: _Counts = (10,)
    seeds: _Seeds = (0,)
    profiles: _Names = ("2xh200-32b",)
    capacity_tokens: _Counts | None = None  # None: each profile's own
    step_tokens: _Positive | None = None
    gap_scale: float = 1.0
    population: str = "together"
    reuse_model: str | None = None


class Spec(NamedTuple):
    """A spec as it was read; ``path`` is its file, beside which its relative paths start."""

    path: Path
    cache: tuple[CacheTable, ...]
    serving: tuple[ServingTable, ...]


def place(path: Path, kind: str, index: int) -> str:
    """Where a table is, for messages; ``index`` from 0."""
    return f"{str(path)!r} [[{kind}]] {index + 1}"


def read_spec(path: Path) -> Spec:
    """Read and check a spec by itself, without looking at the files it names.

    Raises:
        InputError: it is not there, is not TOML, or has a key, type or value that no spec has.
    """
    try:
        document = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise InputError(f"no spec at {str(path)!r}: {error.strerror}; name a TOML file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"spec {str(path)!r} is not TOML: {error}; correct it there") from None
    _check_keys(document, ("cache", "serving"), repr(str(path)))
    spec = Spec(
        path,
        tuple(_tables(document, "cache", CacheTable, path)),
        tuple(_tables(document, "serving", ServingTable, path)),
    )
    if not (spec.cache or spec.serving):
        raise InputError(f"spec {str(path)!r} asks for nothing; add a [[cache]] or a [[serving]] table")
    return spec


def _tables(document: dict[str, Any], kind: str, table_type: type[_Table], path: Path) -> Iterator[_Table]:
    tables = document.get(kind, [])
    if not (isinstance(tables, list) and all(isinstance(table, dict) for table in tables)):
        raise InputError(f"{str(path)!r}: {kind} is no list of tables; write [[{kind}]] above its keys")
    for index, table in enumerate(tables):
        where = place(path, kind, index)
        _check_keys(table, table_type.__struct_fields__, where)
        try:
            read = msgspec.convert(table, table_type)
        except msgspec.ValidationError as error:
            raise InputError(f"{where}: {_plainly(error)}; see docs/how-to/sweep.md") from None
        for name in read.__struct_fields__:
            _check_once(getattr(read, name), f"{where}: {name}")
        yield read


def _check_keys(table: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise InputError(f"{where}: unknown key {key!r}; {guess}known are: {', '.join(known)}")


def _check_once(values: object, where: str) -> None:
    if isinstance(values, tuple):
        for index, value in enumerate(values):
            if value in values[:index]:
                raise InputError(f"{where} names {value!r} twice; name each once")


def _plainly(error: msgspec.ValidationError) -> str:
    """``Expected `array`, got `str` - at `$.traces``` as ``traces: Expected ...``."""
    what, _, where = str(error).replace("`", "").partition(" - at $.")
    return f"{where}: {what}" if where else what
