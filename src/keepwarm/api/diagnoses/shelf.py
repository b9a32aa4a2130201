"""The diagnoses used last, opened: read once, kept until a file of theirs is written again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from functools import cached_property
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from fastapi import Depends, Request

from keepwarm._errors import InputError
from keepwarm.api.diagnoses.columns import RequestColumns
from keepwarm.api.library.library import Found, Library, plain_stamp
from keepwarm.api.problems import NoSuchResult
from keepwarm.diagnose.findings import Diagnosis, RequestRow
from keepwarm.diagnose.report.map_file import read_map
from keepwarm.diagnose.report.mask import masked
from keepwarm.diagnose.report.reading import (
    SavedDiagnosis,
    read_diagnosis,
    read_request_table,
    read_templates,
)
from keepwarm.diagnose.report.template_file import masked_templates
from keepwarm.diagnose.runs import MapRuns
from keepwarm.diagnose.templates import Template, Templates

_MOST_OPEN = 4
_REQUESTS, _MAP, _TEMPLATES = "requests.parquet", "map.parquet", "templates.json"
_COMPANIONS = (_REQUESTS, _MAP, _TEMPLATES)
_MOST_COMPANION_BYTES = 1 << 30


class Opened:
    """One diagnosis with the files beside it. ``reveals``: values may be shown where they were saved."""

    def __init__(self, found: Found, *, reveals: bool) -> None:
        self.found = found
        self.saved: SavedDiagnosis = read_diagnosis(found.path)
        self.revealed = reveals and self.saved.revealed
        self._reveals = reveals
        self._masks = self.saved.revealed and not reveals
        self._lock = threading.Lock()

    @cached_property
    def shown(self) -> Diagnosis:
        """The document as it may be shown, without rows."""
        return masked(self.saved.diagnosis) if self._masks else self.saved.diagnosis

    @property
    def has_map(self) -> bool:
        """Whether there is a break map."""
        return self._beside(_MAP) is not None and self.has_requests

    @property
    def has_requests(self) -> bool:
        """Whether its requests were saved."""
        return self._beside(_REQUESTS) is not None

    @property
    def has_templates(self) -> bool:
        """Whether its templates were saved."""
        return self._beside(_TEMPLATES) is not None

    def requests(self) -> RequestColumns:
        """Its requests. Raises NoSuchResult: they were not saved; InputError: they cannot be read."""
        with self._lock:
            return self._requests

    def runs(self) -> MapRuns:
        """What the break map is drawn from, of the same requests. Raises as ``requests`` does."""
        with self._lock:
            return self._runs

    def rows_shown(self, rows: tuple[RequestRow, ...]) -> tuple[RequestRow, ...]:
        """``rows`` of it as they may be shown."""
        if not self._masks:
            return rows
        return tuple(masked(msgspec.structs.replace(self.saved.diagnosis, rows=rows)).rows)

    def template(self, call_site: str) -> Template:
        """The template of a call site. Raises NoSuchResult; InputError: the file cannot be read."""
        for template in self._templates.templates:
            if template.call_site == call_site:
                return template
        raise NoSuchResult(
            f"there is no template of {call_site!r} in {self.found.item.path!r}; name one of its call sites"
        )

    @cached_property
    def _requests(self) -> RequestColumns:
        return RequestColumns(read_request_table(self._companion(_REQUESTS)))

    @cached_property
    def _runs(self) -> MapRuns:
        path = self._companion(_MAP)
        runs = read_map(path)
        if not np.array_equal(runs.prompt_tokens, self._requests.prompt):
            raise InputError(
                f"{path.name!r} is of another diagnosis; write it again with 'keepwarm diagnose'"
            )
        return runs

    @cached_property
    def _templates(self) -> Templates:
        templates = read_templates(self._companion(_TEMPLATES))
        if self._reveals or not templates.revealed:
            return templates
        return masked_templates(templates, self.saved.diagnosis)

    def _companion(self, name: str) -> Path:
        path = self._beside(name)
        if path is None:
            raise NoSuchResult(
                f"{name!r} is not beside {self.found.item.path!r}; write it with 'keepwarm diagnose TRACE "
                "--out DIR'"
            )
        if path.stat().st_size > _MOST_COMPANION_BYTES:
            raise InputError(f"{str(name)!r} is larger than 1 GiB; diagnose a part of the trace")
        return path

    def _beside(self, name: str) -> Path | None:
        return self.found.beside(name)


class Shelf:
    """Opens diagnoses of a library. Safe to use from threads."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = threading.Lock()
        self._opened: OrderedDict[tuple[object, ...], Opened] = OrderedDict()

    def open(self, id: str) -> Opened:  # noqa: A002 - as the answer calls it
        """The diagnosis with that id. Raises NoSuchResult, InputError."""
        found = self._library.find(id, "diagnosis")
        key = (
            id,
            *(plain_stamp(str(found.path.with_name(name))) for name in (found.path.name, *_COMPANIONS)),
        )
        with self._lock:
            opened = self._opened.get(key)
            if opened is None:
                opened = Opened(found, reveals=self._library.revealed)
                self._opened[key] = opened
            self._opened.move_to_end(key)
            while len(self._opened) > _MOST_OPEN:
                self._opened.popitem(last=False)
        return opened


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf


ShelfNow = Annotated[Shelf, Depends(_shelf)]
