"""A fitted predictor on disk: plain JSON, checked to the last number, never executed.

    {"schema": "keepwarm.reuse-model/1",
     "fitted": {"keepwarm", "scikit_learn", "seed", "clusters", "samples", "censored", "sources"},
     "curve": {"times_s", "survival", "end_s", "beyond_s", "samples"},       # of all calls
     "tools": {NAME: {"curve", "min_similarity", "terms", "idf",
                      "clusters": [{"terms", "weights", "curve"}]}}}

Standard library only: it is read in the server.
"""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

from keepwarm.reuse.curves import Curve
from keepwarm.reuse.fields import Fields, ModelError
from keepwarm.reuse.predictor import Cluster, Fitted, ReuseModel, ToolModel

SCHEMA = "keepwarm.reuse-model/1"
MAX_BYTES = 64 * 1024 * 1024
MAX_TOOLS = 10_000
MAX_CLUSTERS = 256  # of one tool
MAX_TERMS = 65_536  # of one tool
MAX_POINTS = 4_096  # of one curve
_MAX_SOURCES = 10_000

__all__ = ["SCHEMA", "ModelError", "ReuseModel", "dumps", "load", "loads"]


def load(path: str | os.PathLike[str]) -> ReuseModel:
    """The model in a file.

    Raises:
        ModelError: it is missing, too large, or anything in it is not as it must be. One line: what, where,
            what to do next. Nothing else is raised.
    """
    advice = "fit one with `keepwarm reuse fit`"
    shown = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"cannot read the model {shown!r}: {reason}; {advice}") from None
    try:
        return loads(content)
    except ModelError as error:
        raise ModelError(f"the model {shown!r} cannot be used: {error}; {advice}") from None


def loads(content: bytes) -> ReuseModel:
    """The model in the bytes of a file. Raises ModelError."""
    if len(content) > MAX_BYTES:
        raise ModelError(f"it is larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(content, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        reason = str(error) or "nested too deep"
        raise ModelError(f"it is no JSON: {reason}") from None
    model = Fields(document, "")
    if model.value("schema") != SCHEMA:
        raise ModelError(f"schema is {_shown(model.value('schema'))}, {SCHEMA!r} is expected")
    tools = model.nested("tools")
    names = tools.names(most=MAX_TOOLS)
    return ReuseModel(
        _fitted(model.nested("fitted")),
        _curve(model.nested("curve")),
        {name: _tool(tools.nested(name)) for name in names},
    )


def dumps(model: ReuseModel) -> bytes:
    """The bytes of a file: the same for the same model, one tool or cluster a line."""
    head = {"schema": SCHEMA, "fitted": model.fitted._asdict(), "curve": _curve_document(model.curve)}
    tools = ",\n".join(f"{_json(name)}: {_tool_text(tool)}" for name, tool in sorted(model.tools.items()))
    lines = [f"{_json(key)}: {_json(value)}" for key, value in head.items()]
    lines.append('"tools": {\n' + tools + "\n}" if tools else '"tools": {}')
    return ("{" + ",\n ".join(lines) + "}\n").encode()


def _fitted(fields: Fields) -> Fitted:
    samples = fields.count("samples", least=1)
    return Fitted(
        keepwarm=fields.text("keepwarm"),
        scikit_learn=fields.text("scikit_learn"),
        seed=fields.count("seed"),
        clusters=fields.count("clusters"),
        samples=samples,
        censored=fields.count("censored", most=samples),
        sources=tuple(fields.texts("sources", most=_MAX_SOURCES)),
    )


def _curve(fields: Fields) -> Curve:
    times_s = fields.numbers("times_s", most=MAX_POINTS)
    survival = fields.numbers("survival", most=MAX_POINTS, length=len(times_s))
    end_s = fields.number("end_s", above=0.0)
    if any(later <= earlier for earlier, later in pairwise(times_s)):
        fields.wrong("times_s", "does not rise")
    if times_s and not 0.0 <= times_s[0] <= times_s[-1] <= end_s:
        fields.wrong("times_s", f"leaves 0 to end_s, {end_s!r}")
    steps = [1.0, *survival]
    if any(not 0.0 <= later < earlier for earlier, later in pairwise(steps)):
        fields.wrong("survival", "does not fall from below 1 to 0 or more")
    return Curve(
        times_s,
        survival,
        end_s=end_s,
        beyond_s=fields.number("beyond_s", above=0.0),
        samples=fields.count("samples", least=1),
    )


def _tool(fields: Fields) -> ToolModel:
    terms = fields.texts("terms", most=MAX_TERMS)
    if len(set(terms)) != len(terms):
        fields.wrong("terms", "names a term twice")
    idf = fields.numbers("idf", most=MAX_TERMS, length=len(terms))
    if any(weight <= 0.0 for weight in idf):
        fields.wrong("idf", "has a weight that is not above 0")
    return ToolModel(
        _curve(fields.nested("curve")),
        terms,
        idf,
        [_cluster(cluster, len(terms)) for cluster in fields.all_nested("clusters", most=MAX_CLUSTERS)],
        min_similarity=fields.number("min_similarity", above=-1.0, most=1.0),
    )


def _cluster(fields: Fields, terms: int) -> Cluster:
    positions = fields.counts("terms", most=MAX_TERMS)
    if any(later <= earlier for earlier, later in pairwise(positions)):
        fields.wrong("terms", "does not rise")
    if positions and positions[-1] >= terms:
        fields.wrong("terms", f"points past the {terms} terms of its tool")
    weights = fields.numbers("weights", most=MAX_TERMS, length=len(positions))
    if any(not 0.0 < weight <= 1.0 for weight in weights):
        fields.wrong("weights", "leaves 0 to 1")
    return Cluster(tuple(positions), tuple(weights), _curve(fields.nested("curve")))


def _tool_text(tool: ToolModel) -> str:
    head = {
        "curve": _curve_document(tool.curve),
        "min_similarity": tool.min_similarity,
        "terms": tool.terms,
        "idf": tool.idf,
    }
    clusters = ",\n".join(
        _json({"terms": cluster.terms, "weights": cluster.weights, "curve": _curve_document(cluster.curve)})
        for cluster in tool.clusters
    )
    return _json(head)[:-1] + ', "clusters": [' + ("\n" + clusters if clusters else "") + "]}"


def _curve_document(curve: Curve) -> dict[str, Any]:
    return {
        "times_s": curve.times_s,
        "survival": curve.survival,
        "end_s": curve.end_s,
        "beyond_s": curve.beyond_s,
        "samples": curve.samples,
    }


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return held


def _shown(value: object) -> str:
    return repr(value)[:80]
