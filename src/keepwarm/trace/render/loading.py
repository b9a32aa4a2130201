"""Finds chat templates: the built-in one, a ``.jinja`` file, or a tokenizer folder's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from keepwarm._errors import TemplateError
from keepwarm.trace.render.renderer import Renderer

BUILTIN_NAME = "built-in ChatML"
BUILTIN_SPECIAL_TOKENS: Mapping[str, str] = {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}


def builtin_renderer() -> Renderer:
    """The ChatML-like template that ships with keepwarm."""
    source = resources.files("keepwarm.trace.render").joinpath("chatml.jinja").read_text("utf-8")
    return Renderer(BUILTIN_NAME, {"default": source}, BUILTIN_SPECIAL_TOKENS)


def load_renderer(path: str | Path, *, special_tokens: Mapping[str, str] | None = None) -> Renderer:
    """The chat template in a file, or of a Hugging Face tokenizer folder.

    ``special_tokens`` are those of the tokenizer that will encode the prompt; a folder brings its
    own. A template of its own file gets an empty ``bos_token`` and ``eos_token`` where the
    tokenizer has none. Raises ``TemplateError``.
    """
    path = Path(path)
    if path.is_dir():
        return _from_folder(path)
    source = _read(path)
    if special_tokens is None:
        special_tokens = BUILTIN_SPECIAL_TOKENS
    if path.suffix == ".json":
        return Renderer(
            path.name, _templates(_parsed(source, path).get("chat_template"), path), special_tokens
        )
    tokens = {"bos_token": "", "eos_token": "", **special_tokens}
    return Renderer(path.name, {"default": source}, tokens)


def special_tokens_of(folder: Path) -> dict[str, str]:
    """The named special tokens of a tokenizer folder, as templates see them. Raises ``TemplateError``."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        file = folder / name
        if file.is_file():
            for key, value in _parsed(_read(file), file).items():
                content = value.get("content") if isinstance(value, dict) else value
                if key.endswith("_token") and isinstance(content, str):
                    found[key] = content
    return found


def _from_folder(folder: Path) -> Renderer:
    templates: dict[str, str] = {}
    for name in ("tokenizer_config.json", "chat_template.json"):
        file = folder / name
        if file.is_file():
            templates.update(_templates(_parsed(_read(file), file).get("chat_template"), file))
    if (folder / "chat_template.jinja").is_file():
        templates["default"] = _read(folder / "chat_template.jinja")
    for file in sorted((folder / "additional_chat_templates").glob("*.jinja")):
        templates[file.stem] = _read(file)
    if not templates:
        raise TemplateError(
            f"no chat template in {str(folder)!r} (looked for chat_template.jinja, chat_template.json and "
            "chat_template in tokenizer_config.json); pass one with --chat-template"
        )
    return Renderer(folder.name, templates, special_tokens_of(folder))


def _templates(value: Any, file: Path) -> dict[str, str]:
    """Named templates from any of the shapes in which they are written."""
    if value is None:
        return {}
    if isinstance(value, str):
        return {"default": value}
    if isinstance(value, dict):
        value = [{"name": name, "template": template} for name, template in value.items()]
    if isinstance(value, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("template"), str)
        for item in value
    ):
        return {item["name"]: item["template"] for item in value}
    raise TemplateError(f"chat_template in {str(file)!r} is neither text nor a list of named templates")


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(
            f"{str(file)!r} is not JSON: {error}; fetch the tokenizer's files again"
        ) from error
    if not isinstance(value, dict):
        raise TemplateError(f"{str(file)!r} holds {type(value).__name__}, not an object")
    return value


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise TemplateError(
            f"cannot read chat template {str(file)!r}: {error.strerror}; pass a .jinja file or a tokenizer folder"
        ) from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"chat template {str(file)!r} is not UTF-8 text: {error.reason}") from error
