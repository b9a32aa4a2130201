"""A Hugging Face ``config.json`` as fields: read once, asked for by name, errors that name file and field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from keepwarm._errors import InputError

_INNER = (
    "text_config",
    "language_config",
    "llm_config",
    "thinker_config",
)  # where a multimodal model's text is


class ConfigFields(NamedTuple):
    """``root`` is the file's object, ``text`` its part about the language model, if only ``root`` itself."""

    path: Path
    root: Mapping[str, object]
    text: Mapping[str, object]

    def get(self, *names: str) -> object:
        """The first value that is not null under one of ``names``, the language model's own first."""
        for part in (self.text, self.root):
            for name in names:
                if part.get(name) is not None:
                    return part[name]
        return None

    def integer(self, *names: str) -> int | None:
        """A positive whole number under one of ``names``, None if there is none; zero counts as none.

        Raises:
            InputError: the value is not a whole number, or negative.
        """
        value = self.get(*names)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InputError(
                f"{str(self.path)!r}: {self.name_of(*names)!r} is {value!r}; give a positive whole number"
            )
        return value or None

    def required_integer(self, *names: str) -> int:
        """Like ``integer``, but one of ``names`` must be there.

        Raises:
            InputError: none is.
        """
        value = self.integer(*names)
        if value is None:
            raise InputError(
                f"{str(self.path)!r}: no field {names[0]!r}, which the size of its KV cache depends on; "
                "add it as the model's own configuration class has it"
            )
        return value

    def strings(self, name: str) -> Sequence[str]:
        """The strings of a list under ``name``; empty if there is no list."""
        value = self.get(name)
        return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []

    def model_types(self) -> tuple[str, ...]:
        """``model_type`` of the language model and of the whole, as far as given."""
        both = (self.text.get("model_type"), self.root.get("model_type"))
        return tuple(dict.fromkeys(kind for kind in both if isinstance(kind, str)))

    def name_of(self, *names: str) -> str:
        """Which of ``names`` answered ``get``."""
        return next(name for part in (self.text, self.root) for name in names if part.get(name) is not None)


def read_fields(path: Path) -> ConfigFields:
    """Read ``path``, a ``config.json`` or the folder that holds one.

    Raises:
        InputError: it cannot be read, or is not the configuration of a model.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        root = msgspec.json.decode(file.read_bytes())
    except OSError as error:
        raise InputError(
            f"model configuration {str(file)!r} cannot be read ({error.strerror}); give a model's "
            "config.json or the folder that holds it"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(
            f"model configuration {str(file)!r} is not JSON ({error}); give a model's config.json"
        ) from error
    except RecursionError:
        raise InputError(
            f"model configuration {str(file)!r} nests too deep; give a model's config.json"
        ) from None
    if not isinstance(root, dict) or not ({"model_type", "architectures"} & root.keys()):
        raise InputError(
            f"{str(file)!r} is not the configuration of a model: it has neither 'model_type' nor "
            "'architectures'; give a model's config.json"
        )
    return ConfigFields(file, root, _text_part(root))


def _text_part(root: Mapping[str, object]) -> Mapping[str, object]:
    part: Mapping[str, object] | None = root
    while part is not None:
        found = part
        part = next((inner for name in _INNER if isinstance(inner := found.get(name), dict)), None)
    return found
