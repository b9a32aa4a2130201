"""``Traced`` is a ``str`` in every respect, and what it says of its characters is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jinja2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwarm._errors import TemplateError
from keepwarm.trace.prompt import Origin
from keepwarm.trace.render import load_renderer
from keepwarm.trace.render.json_text import plain_tojson, tojson
from keepwarm.trace.render.runs import Leaf, cut_runs, folded, spans_of, unfolded
from keepwarm.trace.render.traced import Traced, compact, concat, copied, join, replace, runs_of
from keepwarm.trace.render.values import Wrapper
from tests.trace_tokens.contract import chat, check_spans

TEXT = st.text(alphabet="ab \n\tX<é中ﬁß", max_size=12)
CHARS = st.none() | st.text(alphabet="ab \n", max_size=3)
INDEX = st.integers(-14, 14) | st.none()

OPERATIONS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "strip": st.tuples(CHARS),
    "lstrip": st.tuples(CHARS),
    "rstrip": st.tuples(CHARS),
    "split": st.tuples(st.none() | st.sampled_from(["a", " ", "ab"]), st.integers(-1, 3)),
    "rsplit": st.tuples(st.none() | st.sampled_from(["a", " ", "ab"]), st.integers(-1, 3)),
    "splitlines": st.tuples(st.booleans()),
    "partition": st.tuples(st.sampled_from(["a", "ab", "zz"])),
    "rpartition": st.tuples(st.sampled_from(["a", "ab", "zz"])),
    "replace": st.tuples(st.text("ab ", max_size=2), TEXT, st.integers(-1, 3)),
    "removeprefix": st.tuples(TEXT),
    "removesuffix": st.tuples(TEXT),
    "upper": st.just(()),
    "lower": st.just(()),
    "title": st.just(()),
    "capitalize": st.just(()),
    "casefold": st.just(()),
    "swapcase": st.just(()),
    "center": st.tuples(st.integers(0, 20)),
    "ljust": st.tuples(st.integers(0, 20), st.sampled_from([" ", "*"])),
    "rjust": st.tuples(st.integers(0, 20)),
    "zfill": st.tuples(st.integers(0, 20)),
    "expandtabs": st.tuples(st.integers(0, 8)),
    "find": st.tuples(TEXT),
    "count": st.tuples(st.text("ab", min_size=1, max_size=2)),
    "startswith": st.tuples(TEXT),
    "join": st.tuples(st.lists(TEXT, max_size=4)),
    "__mul__": st.tuples(st.integers(-1, 3)),
    "__add__": st.tuples(TEXT),
    "__contains__": st.tuples(TEXT),
    "__eq__": st.tuples(TEXT),
    "__getitem__": st.tuples(st.builds(slice, INDEX, INDEX, st.sampled_from([None, 1, 2, -1]))),
}


def text_of(parts: list[str]) -> str:
    """A traced text of several values, with template text between."""
    leaves = [copied(Leaf(Origin.APP, f"v[{i}]", part)) for i, part in enumerate(parts)]
    return join("|", leaves) if leaves else ""


def flat(value: Any) -> list[Any]:
    return [x for item in value for x in flat(item)] if isinstance(value, list | tuple) else [value]


def check(text: Any) -> None:
    """Lengths add up, and copies are copies."""
    if type(text) is not Traced:
        return
    position = 0
    for run in unfolded(runs_of(text)):
        assert run.length > 0
        if isinstance(run.leaf, Leaf) and run.value_start >= 0 and run.leaf.value is not None:
            copy = run.leaf.value[run.value_start : run.value_start + run.length]
            assert copy == text[position : position + run.length]
        position += run.length
    assert position == len(text)


@given(st.lists(TEXT, min_size=1, max_size=3), st.data())
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_gives_what_text_gives(name: str, parts: list[str], data: st.DataObject) -> None:
    traced = text_of(parts)
    if type(traced) is not Traced:
        return
    arguments = data.draw(OPERATIONS[name])
    plain = str.__str__(traced)
    assert type(plain) is str
    ours = getattr(traced, name)(*arguments)
    assert ours == getattr(plain, name)(*arguments)
    for piece in flat(ours):
        check(piece)


@given(st.lists(TEXT, max_size=4), TEXT)
def test_concatenation_either_way_round(parts: list[str], other: str) -> None:
    traced = text_of(parts)
    for found, plain in ((traced + other, str(traced) + other), (other + traced, other + str(traced))):
        assert found == plain
        check(found)
    assert hash(traced) == hash(str.__str__(traced))
    assert concat([traced, other, traced]) == str(traced) + other + str(traced)


@given(TEXT, st.text("ab", max_size=2), TEXT, st.integers(-1, 3))
def test_replacing_in_plain_text_keeps_the_new_text(text: str, old: str, new: str, count: int) -> None:
    found = replace(text, old, copied(Leaf(Origin.APP, "v", new)), count)
    assert found == text.replace(old, new, count)
    check(found)


@given(st.lists(TEXT, min_size=1, max_size=40), st.integers(0, 200), st.integers(0, 200))
def test_folding_changes_nothing(parts: list[str], start: int, end: int) -> None:
    text = text_of(parts)
    small = compact(text)
    assert spans_of(runs_of(small), 5) == spans_of(runs_of(text), 5)
    assert spans_of(cut_runs(runs_of(small), start, end)) == spans_of(cut_runs(runs_of(text), start, end))
    assert unfolded(folded(runs_of(text))) == list(runs_of(text))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | TEXT | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(
    JSON,
    st.booleans(),
    st.sampled_from([None, 0, 2, "\t"]),
    st.sampled_from([None, (",", ":"), (", ", " : ")]),
    st.booleans(),
)
def test_tojson_prints_what_json_prints(
    value: Any, ascii_only: bool, indent: Any, separators: Any, sort_keys: bool
) -> None:
    expected = json.dumps(
        value, ensure_ascii=ascii_only, indent=indent, separators=separators, sort_keys=sort_keys
    )
    wrap = Wrapper()
    for wrapped in (wrap.tree(value, "v", Origin.APP), wrap.tree(value, "v", Origin.APP, keep_json=True)):
        for _ in range(2):  # the second time from memory
            found = tojson(wrapped, ascii_only, indent, separators, sort_keys)
            assert found == expected == plain_tojson(wrapped, ascii_only, indent, separators, sort_keys)
            check(found)
    if isinstance(value, dict) and value:
        assert all(run.leaf is not None for run in unfolded(runs_of(found)))


EXPRESSIONS = [
    "{{ c }}",
    "{{ c[1:] }}",
    "{{ c | trim }}",
    "{{ c.split('a') | join('+') }}",
    "{{ c ~ d }}",
    "{{ c | replace('a', d) }}",
    "{{ c | upper }}",
    "{{ (c ~ d) | tojson }}",
    "{{ '%s-%s' % (c, d) }}",
    "{{ '{}:{}'.format(d, c) }}",
    "{% if 'a' in c %}{{ d }}{% endif %}",
    "{{ c | indent(1) }}",
    "{% for x in c.splitlines() %}{{ loop.index }}{{ x }}{% endfor %}",
    "{{ c | title }}",
    "{{ c | list | last }}",
    "{{ messages | tojson }}",
    "{{ messages[0] }}",
    "{{ [c, d] | join(c) }}",
    "{{ c | length }}",
    "{{ c | reverse }}",
    "{{ c | e }}",
    "{{ (c | safe) ~ d }}",
    "{{ c | default(d) }}",
    "{{ c | wordwrap(3) }}",
    "{{ c if c < d else d }}",
    "{{ {c: d} | tojson }}",
    "{{ (c * 2)[1:5] }}",
    "{{ c | first }}",
    "{{ c | int }}",
]


@given(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=5), TEXT, TEXT)
def test_templates_print_the_same_with_and_without_traces(expressions: list[str], c: str, d: str) -> None:
    head = "{% set c = messages[0].content %}{% set d = messages[1].content %}"
    renderer = load_renderer(head + "|".join(expressions))
    request = chat({"role": "user", "content": c}, {"role": "assistant", "content": d})
    outcomes = [_outcome(lambda: renderer.render(request).text), _outcome(lambda: renderer.text(request))]
    assert outcomes[0] == outcomes[1]
    if not isinstance(outcomes[0], type):
        check_spans(request, renderer.render(request))


def _outcome(call: Callable[[], str]) -> str | type:
    try:
        return call()
    except (TemplateError, jinja2.TemplateError):
        return TemplateError
