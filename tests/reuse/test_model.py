from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm.reuse import model as models
from keepwarm.reuse.calls import ToolCall
from keepwarm.reuse.model import ModelError, ReuseModel, dumps, load, loads
from keepwarm.reuse.predictor import Cluster, Fitted, ToolModel
from tests.reuse.samples import curves


def small(**fields: Any) -> dict[str, Any]:
    """A document with one of everything."""
    curve = {"times_s": [1.0, 2.0], "survival": [0.5, 0.25], "end_s": 2.0, "beyond_s": 4.0, "samples": 3}
    cluster = {"terms": [0, 1], "weights": [0.8, 0.6], "curve": curve}
    tool = {
        "curve": curve,
        "min_similarity": 0.05,
        "terms": ["ls", "^ ls"],
        "idf": [1.5, 2.5],
        "clusters": [cluster],
    }
    fitted = {
        "keepwarm": "1",
        "scikit_learn": "1",
        "seed": 0,
        "clusters": 5,
        "samples": 3,
        "censored": 1,
        "sources": ["a.csv"],
    }
    document = {
        "schema": models.SCHEMA,
        "fitted": fitted,
        "curve": curve,
        "tools": {"bash": tool},
    }
    return copy.deepcopy(document | fields)  # no two curves are one object


def refused(document: object) -> str:
    with pytest.raises(ModelError) as caught:
        loads(json.dumps(document).encode())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(path: tuple[Any, ...], value: object) -> Any:
    document = small()
    if not path:
        return value
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return document


PLACES = list(places(small()))


@pytest.mark.parametrize("path", PLACES, ids=str)
@pytest.mark.parametrize("value", [None, True, [[]], {"a": 1}, "\n", -5, 1e300], ids=repr)
def test_a_wrong_value_anywhere_is_one_line(path: tuple[Any, ...], value: object) -> None:
    document = changed(path, value)
    is_text = isinstance(value, str) and (
        path[-1:] in (("keepwarm",), ("scikit_learn",)) or path[-2:-1] in (("terms",), ("sources",))
    )
    if is_text and (not isinstance(path[-1], int) or "clusters" not in path):
        loads(json.dumps(document).encode())
    else:
        refused(document)


@pytest.mark.parametrize("path", [path for path in PLACES if path and isinstance(path[-1], str)], ids=str)
def test_a_missing_field_is_named(path: tuple[Any, ...]) -> None:
    document = small()
    inner: Any = document
    for key in path[:-1]:
        inner = inner[key]
    del inner[path[-1]]
    if path == ("tools", "bash"):
        assert loads(json.dumps(document).encode()).tools == {}
    else:
        assert f"{path[-1]} is missing" in refused(document)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema",), "keepwarm.reuse-model/2", "'keepwarm.reuse-model/1' is expected"),
        (("fitted", "censored"), 4, "from 0 to 3"),
        (("curve", "times_s"), [1.0, 1.0], "curve.times_s does not rise"),
        (("curve", "times_s"), [1.0, 3.0], "leaves 0 to end_s"),
        (("curve", "times_s"), [-1.0, 2.0], "leaves 0 to end_s"),
        (("curve", "survival"), [0.5], "has 1 entries, 2 are expected"),
        (("curve", "survival"), [0.5, 0.5], "does not fall"),
        (("curve", "survival"), [1.0, 0.5], "does not fall"),
        (("curve", "survival"), [0.5, -0.1], "does not fall"),
        (("curve", "beyond_s"), 0, "beyond_s is no number above 0"),
        (("tools", "bash", "idf"), [1.0, 0.0], "not above 0"),
        (("tools", "bash", "terms"), ["ls", "ls"], "names a term twice"),
        (("tools", "bash", "min_similarity"), 1.5, "up to 1"),
        (("tools", "bash", "clusters", 0, "terms"), [1, 0], "does not rise"),
        (("tools", "bash", "clusters", 0, "terms"), [0, 2], "points past the 2 terms"),
        (("tools", "bash", "clusters", 0, "weights"), [0.5, 1.5], "leaves 0 to 1"),
        (("tools", "bash", "terms"), ["x" * 2_000, "y"], "at most 1000 characters"),
        (("curve", "times_s"), [0.0] * (models.MAX_POINTS + 1), "more than 4096"),
        (("tools", "bash", "clusters"), [{}] * (models.MAX_CLUSTERS + 1), "more than 256"),
        (("tools",), {str(n): {} for n in range(models.MAX_TOOLS + 1)}, "more than 10000"),
    ],
)
def test_what_is_wrong_is_said(path: tuple[Any, ...], value: object, said: str) -> None:
    assert said in refused(changed(path, value))


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"nonsense", b"\xff\xfe", b"[]", b'"text"', b"[" * 100_000, b"1" * 10_000, b'{"a": NaN}'),
        *(b'{"schema": 1, "schema": 1}', json.dumps(small()).encode()[:-5], b"\x80\x04\x95pickle"),
    ],
)
def test_what_is_no_model_is_one_line(content: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        loads(content)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(content: bytes) -> None:
    with pytest.raises(ModelError):
        loads(content)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path, tmp_path / ("x" * 300)):
        with pytest.raises(ModelError, match=r"cannot read the model .*keepwarm reuse fit") as caught:
            load(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelError):
        load("a\0b")


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(dumps(loads(json.dumps(small()).encode()))[:-20])
    with pytest.raises(ModelError, match=r"model\.json' cannot be used: it is no JSON"):
        load(path)


def test_too_large_a_file_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(json.dumps(small()).encode())
    monkeypatch.setattr(models, "MAX_BYTES", 100)
    with pytest.raises(ModelError, match="larger than 100 bytes"):
        load(path)


@st.composite
def reuse_models(draw: st.DrawFn) -> ReuseModel:
    terms = draw(st.lists(st.text(max_size=8), min_size=2, max_size=5, unique=True))
    cluster = Cluster((0, len(terms) - 1), (0.6, 0.8), draw(curves()))
    tool = ToolModel(draw(curves()), terms, [1.5] * len(terms), [cluster], min_similarity=0.05)
    names = draw(st.lists(st.text(max_size=8), max_size=3, unique=True))
    fitted = Fitted("0", draw(st.text(max_size=5)), 1, 2, 30, 3, ("a.csv",))
    return ReuseModel(fitted, draw(curves()), dict.fromkeys(names, tool))


@given(reuse_models(), st.text(max_size=20), st.floats(0.0, 100.0))
def test_a_model_survives_its_file(model: ReuseModel, arguments: str, elapsed_s: float) -> None:
    content = dumps(model)
    again = loads(content)
    assert dumps(again) == content
    assert again.fitted == model.fitted
    for tool in (*model.tools, "another"):
        call = ToolCall(tool, arguments)
        assert again.remaining_s(call, elapsed_s) == model.remaining_s(call, elapsed_s)
