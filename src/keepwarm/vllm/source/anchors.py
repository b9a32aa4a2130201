"""What must stand in a tree before anything is changed: the places of the edits, all functions relied on.

An edit adds a line beside an anchor and changes none of vLLM's own. It is named after what it does, a
function by its name in vLLM; a refusal names the first that does not match. The table of functions is
the plugin's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from keepwarm._errors import InputError
from keepwarm.vllm.fingerprints import BLOCK_POOL, FINGERPRINTS, VERSION, find
from keepwarm.vllm.source.patched import expose_if_asked, hook_if_asked
from keepwarm.vllm.source.tree import Source

_METRICS = "vllm/v1/metrics/prometheus.py"
_LOOKS_LIKE = 0.6  # similarity from which a line is taken for one that was edited


class Edit(NamedTuple):
    """A line added before or after the only one that is ``anchor``."""

    name: str
    path: str
    anchor: str  # a whole line
    place: Literal["before", "after"]
    added: str

    def apply(self, text: str) -> str:
        """``text`` with the line added; the anchor stands there once."""
        lines = text.split("\n")
        lines.insert(lines.index(self.anchor) + (self.place == "after"), self.added)
        return "\n".join(lines)


EDITS = (
    Edit(
        "import of the policy",
        BLOCK_POOL,
        "from vllm.v1.core.kv_cache_metrics import KVCacheMetricsCollector",
        "before",
        "from vllm.v1.core import computecache",
    ),
    Edit(
        "policy of the pools",
        BLOCK_POOL,
        "class BlockPool:",
        "before",
        f"@computecache.{hook_if_asked.__name__}",
    ),
    Edit(
        "import of the metrics",
        _METRICS,
        "from vllm.logger import init_logger",
        "after",
        "from vllm.v1.core import computecache",
    ),
    Edit(
        "metrics of the policy",
        _METRICS,
        "logger = init_logger(__name__)",
        "after",
        f"computecache.{expose_if_asked.__name__}()",
    ),
)


class Mismatch(NamedTuple):
    """An anchor that is not as in the supported version, and where to look."""

    anchor: str
    path: str
    line: int
    reason: str


def paths() -> tuple[str, ...]:
    """Every file that an anchor stands in."""
    return tuple(dict.fromkeys([*(edit.path for edit in EDITS), *FINGERPRINTS]))


def check_anchors(sources: Mapping[str, Source]) -> None:
    """Raises InputError for the first anchor that does not match, and says how many others do not."""
    mismatches = [*_edits_that_miss(sources), *_functions_that_differ(sources)]
    if mismatches:
        anchor, path, line, reason = mismatches[0]
        more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
        raise InputError(
            f"anchor {anchor!r} does not match at {path}:{line}: {reason}{more}; "
            f"nothing was changed, restore the file from the tag v{VERSION}"
        )


def _edits_that_miss(sources: Mapping[str, Source]) -> Iterator[Mismatch]:
    for edit in EDITS:
        text = sources[edit.path].text
        times = text.split("\n").count(edit.anchor)
        if times != 1:
            reason = f"{edit.anchor.strip()!r} stands there {times} times, not once"
            yield Mismatch(edit.name, edit.path, _line_like(edit.anchor, text), reason)


def _functions_that_differ(sources: Mapping[str, Source]) -> Iterator[Mismatch]:
    for path, wanted in FINGERPRINTS.items():
        text = sources[path].text
        try:
            found = find(text, wanted)
        except SyntaxError as error:
            yield Mismatch("functions", path, error.lineno or 1, f"no valid Python, {error.msg}")
            continue
        for name, digest in wanted.items():
            if name not in found:
                line = _line_like(f"    def {name.rpartition('.')[2]}(", text)
                yield Mismatch(name, path, line, "it is not defined there once")
            elif found[name].digest != digest:
                yield Mismatch(name, path, found[name].first_line, f"it is not that of vLLM {VERSION}")


def _line_like(wanted: str, text: str) -> int:
    """The line most like the one that is missing; 1 if none is."""
    lines = text.splitlines()
    like = difflib.get_close_matches(wanted, lines, n=1, cutoff=_LOOKS_LIKE)
    return lines.index(like[0]) + 1 if like else 1
