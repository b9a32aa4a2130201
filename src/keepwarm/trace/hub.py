"""Folders of tokenizer files: a path, or a Hugging Face name looked up in the local cache first."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

from keepwarm._errors import TokenizerError


def tokenizer_folder(spec: str) -> Path:
    """The folder of a tokenizer on this machine, by path or Hugging Face name. Raises ``TokenizerError``."""
    path = Path(spec)
    if path.is_file() and path.name == "tokenizer.json":
        return path.parent
    if path.is_dir():
        return path
    if path.exists() or spec.count("/") > 1 or spec.startswith((".", "/", "~")):
        raise TokenizerError(f"no tokenizer at {spec!r}: pass a folder that holds tokenizer.json")
    return _from_hub(spec)


_WANTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def _from_hub(name: str) -> Path:
    """The snapshot folder of a Hugging Face name: from the local cache, else fetched."""
    cached = _cached(name)
    if cached is not None:
        return cached
    try:
        hub = importlib.import_module("huggingface_hub")  # comes with tokenizers
        return Path(hub.snapshot_download(name, allow_patterns=list(_WANTED)))
    except Exception as error:  # noqa: BLE001  (network, permission, name: all end in one line)
        why = next(iter(str(error).splitlines()), type(error).__name__)
    raise TokenizerError(
        f"tokenizer {name!r} is not in the local Hugging Face cache and cannot be fetched: {why}; "
        "pass a folder that holds tokenizer.json"
    )


def _cached(name: str) -> Path | None:
    """The newest complete snapshot in the cache, whose layout is documented and stable."""
    cache = os.environ.get("HF_HUB_CACHE")
    home = os.environ.get("HF_HOME") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    try:
        hub = Path(cache or Path(home) / "hub").expanduser()
    except RuntimeError:  # the user has no home
        return None
    folder = hub / ("models--" + name.replace("/", "--"))
    main = folder / "refs" / "main"
    revisions = [main.read_text("utf-8").strip()] if main.is_file() else []
    revisions += sorted(path.name for path in (folder / "snapshots").glob("*"))
    for revision in revisions:
        if (folder / "snapshots" / revision / "tokenizer.json").is_file():
            return folder / "snapshots" / revision
    return None
