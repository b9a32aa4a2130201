"""What every reader has to do, whatever its format; a new one is covered once it is registered."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwarm._errors import TraceError
from keepwarm.trace.json_values import RawRecord
from keepwarm.trace.open import open_trace
from keepwarm.trace.readers import FORMATS, READERS
from keepwarm.trace.readers.base import Unusable
from keepwarm.trace.readers.decode import SURE, decode_object, detect
from keepwarm.trace.source import ByteSource
from tests.trace_readers.samples import sample

every_format = pytest.mark.parametrize("name", FORMATS)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def raw_records(path: Path) -> list[RawRecord]:
    source = ByteSource(path)
    try:
        return list(source.records())
    finally:
        source.close()


@every_format
def test_name_and_documentation(name: str) -> None:
    reader = READERS[name]
    assert reader.name == name
    summary, _, body = (reader.__doc__ or "").partition("\n")
    assert summary.strip().endswith(".")
    assert len(body.strip()) > 80, "the docstring is the documentation of the format"


@every_format
def test_claims_its_own_sample_and_nobody_else_does(shared: Path, tmp_path: Path, name: str) -> None:
    records = raw_records(sample(shared, name, tmp_path))
    assert detect(records) == name
    for raw in records:
        if READERS[name].is_text:
            text = (raw.data or b"").decode()
            assert READERS[name].score_text(text) > 0
            continue
        record = decode_object(raw.data)
        own = READERS[name].score(record)
        assert own >= SURE
        assert max(reader.score(record) for other, reader in READERS.items() if other != name) < SURE


@every_format
def test_by_hand_and_by_content_are_the_same(shared: Path, tmp_path: Path, name: str) -> None:
    path = sample(shared, name, tmp_path)
    requests = list(open_trace(path, format=name).requests())
    assert requests == list(open_trace(path).requests())
    assert len({request.id for request in requests}) == len(requests)
    for request in requests:
        assert request.line >= 1
        known = (request.messages, request.prompt_text, request.prompt_token_ids, request.hashed)
        assert any(value for value in known)


@every_format
def test_garbage_is_skipped_or_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(b'[1]\n{}\n{"a":1}\nnull\nnonsense\n{"messages":{}}\n' + bytes(range(1, 256)) + b"\n{")
    trace = open_trace(path, format=name)
    with pytest.raises(TraceError, match="no usable request"):
        list(trace.requests())


@every_format
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_fields_of_any_type_never_crash(shared: Path, tmp_path: Path, name: str, data: st.DataObject) -> None:
    """A value somewhere in a good record is replaced by any JSON value."""
    reader = READERS[name]()
    if reader.is_text:
        return
    records = raw_records(sample(shared, name, tmp_path))
    for raw in records[:4]:
        record = decode_object(raw.data)
        holder: object = record
        while isinstance(holder, dict | list) and holder:
            keys = list(holder) if isinstance(holder, dict) else range(len(holder))
            key = data.draw(st.sampled_from(keys))
            inner = holder[key]  # type: ignore[index,call-overload]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.booleans()):
                holder[key] = data.draw(JSON_VALUES)  # type: ignore[index,call-overload]
                break
            holder = inner
        for other in READERS.values():
            assert 0.0 <= other.score(record) <= 1.0
        with contextlib.suppress(Unusable):
            list(reader.read(record, raw.number))
    list(reader.finish())


@every_format
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_damaged_bytes_never_raise_anything_but_trace_errors(
    shared: Path, tmp_path: Path, name: str, seed: int
) -> None:
    """Flipped bytes, lost ranges, shuffled and repeated lines of a good file."""
    chance = random.Random(seed)
    data = bytearray(sample(shared, name, tmp_path).read_bytes())
    lines = data.splitlines(keepends=True)
    if chance.random() < 0.5:
        chance.shuffle(lines)
        data = bytearray(b"".join(lines + lines[: chance.randrange(3)]))
    for _ in range(chance.randrange(30)):
        data[chance.randrange(len(data))] = chance.choice(
            b'\x00\xff"{}[]\\,:0-n\n' + bytes([chance.randrange(256)])
        )
    if chance.random() < 0.5:
        start = chance.randrange(len(data))
        del data[start : start + chance.randrange(1, 2000)]
    path = tmp_path / "damaged"
    path.write_bytes(data)
    for chosen in ("auto", name):
        with contextlib.suppress(TraceError):
            list(open_trace(path, format=chosen).requests())
