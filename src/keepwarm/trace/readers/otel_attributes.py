"""Attributes of OpenTelemetry spans as plain values."""

from __future__ import annotations

from typing import Any

from keepwarm.trace.readers.fields import as_list, as_object
from keepwarm.trace.records import JsonObject


def attributes_of(holder: JsonObject) -> JsonObject:
    """Attributes of a span or event, whether OTLP (a list of typed pairs) or a plain object."""
    given = holder.get("attributes")
    if isinstance(given, dict):
        return given
    return _pairs(given)


def numbered(attributes: JsonObject, prefix: str) -> list[JsonObject]:
    """Attributes such as ``prefix.0.role`` as a list of objects, in the order of their numbers."""
    items: dict[int, JsonObject] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            number, _, name = key[len(start) :].partition(".")
            if number.isascii() and number.isdigit() and len(number) < 7 and name:
                items.setdefault(int(number), {})[name] = value
    return [items[number] for number in sorted(items)]


def _pairs(pairs: Any) -> JsonObject:
    return {
        pair["key"]: _value(pair.get("value"))
        for pair in as_list(pairs)
        if isinstance(pair, dict) and isinstance(pair.get("key"), str)
    }


def _value(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    for key, inner in value.items():
        if key in ("stringValue", "string_value", "boolValue", "bool_value"):
            return inner
        if key in ("intValue", "int_value", "doubleValue", "double_value"):
            return inner  # a 64-bit integer is written as text
        if key in ("arrayValue", "array_value"):
            return [_value(item) for item in as_list(as_object(inner).get("values"))]
        if key in ("kvlistValue", "kvlist_value"):
            return _pairs(as_object(inner).get("values"))
    return None
