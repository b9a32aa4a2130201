"""Finds chat templates: the built-in one, a ``.jinja`` file, or a tokenizer folder's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from keepwarm._errors import TemplateError, TokenizerError
from keepwarm.trace.hub import tokenizer_folder
from keepwarm.trace.render.renderer import Renderer

_TEMPLATE_SUFFIXES = (".jinja", ".jinja2", ".j2", ".json", ".txt")

BUILTIN_NAME = "built-in ChatML"
BUILTIN_SPECIAL_TOKENS: Mapping[str, str] = {"bos_token": "<|begin|>", "eos_token": "<|im_end|>"}


def builtin_renderer() -> Renderer:
    """The ChatML-like template that ships with keepwarm."""
    source = resources.files("keepwarm.trace.render").joinpath("chatml.jinja").read_text("utf-8")
    return Renderer(BUILTIN_NAME, {"default": source}, BUILTIN_SPECIAL_TOKENS, is_builtin=True)


def load_renderer(source: str | Path, *, special_tokens: Mapping[str, str] | None = None) -> Renderer:
    """The chat template in a file, of a Hugging Face tokenizer (folder or name), or given as text.

    ``special_tokens`` are those of the tokenizer that will encode the prompt; a folder brings its
    own. A template of its own file gets an empty ``bos_token`` and ``eos_token`` where the
    tokenizer has none. Raises ``TemplateError``.
    """
    text = str(source)
    if "{{" in text or "{%" in text:
        return _from_text("template given as text", text, special_tokens)
    path = Path(text)
    # A name may hold a dot (``Llama-3.1-8B``), so a suffix alone makes no file of it.
    is_name = not path.exists() and path.suffix not in _TEMPLATE_SUFFIXES
    if is_name or path.name == "tokenizer.json":
        try:
            folder = tokenizer_folder(text)
        except TokenizerError as error:
            raise TemplateError(str(error)) from error
        return _from_folder(folder, text if is_name else folder.name)
    if path.is_dir():
        return _from_folder(path, path.name)
    if path.suffix == ".json":
        templates = _templates(_parsed(_read(path), path).get("chat_template"), path)
        if not templates:
            raise TemplateError(f"no chat_template in {text!r}; pass a .jinja file or a tokenizer folder")
        return Renderer(path.name, templates, _given(special_tokens))
    return _from_text(path.name, _read(path), special_tokens)


def _from_text(name: str, source: str, special_tokens: Mapping[str, str] | None) -> Renderer:
    tokens = {"bos_token": "", "eos_token": "", **_given(special_tokens)}
    return Renderer(name, {"default": source}, tokens)


def _given(special_tokens: Mapping[str, str] | None) -> Mapping[str, str]:
    return BUILTIN_SPECIAL_TOKENS if special_tokens is None else special_tokens


def special_tokens_of(folder: Path) -> dict[str, str]:
    """The named special tokens of a tokenizer folder, as templates see them. Raises ``TemplateError``."""
    found: dict[str, str] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        file = folder / name
        if file.is_file():
            config = _parsed(_read(file), file)
            extra = config.get("extra_special_tokens")
            for key, value in {**(extra if isinstance(extra, dict) else {}), **config}.items():
                content = value.get("content") if isinstance(value, dict) else value
                if key.endswith("_token") and isinstance(content, str):
                    found[key] = content
    return found


def _from_folder(folder: Path, name: str) -> Renderer:
    templates: dict[str, str] = {}
    for file in (folder / "tokenizer_config.json", folder / "chat_template.json"):
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
    return Renderer(name, templates, special_tokens_of(folder))


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
    raise TemplateError(
        f"chat_template in {str(file)!r} is neither text nor a list of named templates; "
        "pass a .jinja file with --chat-template"
    )


def _parsed(text: str, file: Path) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TemplateError(
            f"{str(file)!r} is not JSON: {error}; fetch the tokenizer's files again"
        ) from error
    if not isinstance(value, dict):
        raise TemplateError(
            f"{str(file)!r} holds {type(value).__name__}, not an object; fetch the tokenizer's files again"
        )
    return value


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except OSError as error:
        raise TemplateError(
            f"cannot read chat template {str(file)!r}: {error.strerror}; "
            "pass a .jinja file or a tokenizer folder"
        ) from error
    except UnicodeDecodeError as error:
        raise TemplateError(
            f"chat template {str(file)!r} is not UTF-8 text: {error.reason}; save it as UTF-8"
        ) from error
