"""Finds a tokenizer by what the user typed."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from keepwarm._errors import TemplateError, TokenizerError
from keepwarm.trace.render.loading import special_tokens_of
from keepwarm.trace.tokens.base import Tokenizer
from keepwarm.trace.tokens.builtin import builtin_tokenizer
from keepwarm.trace.tokens.hugging_face import HuggingFaceTokenizer


def load_tokenizer(spec: str | None) -> Tokenizer:
    """The tokenizer that ``spec`` names: a folder, a Hugging Face name, a server; None is the built-in one.

    A name is looked up in the local Hugging Face cache first and fetched only if it is not there.
    Raises ``TokenizerError``.
    """
    if spec is None:
        return builtin_tokenizer()
    if spec.startswith(("http://", "https://")):
        from keepwarm.trace.tokens.server import ServerTokenizer

        return ServerTokenizer(spec)
    return from_folder(tokenizer_folder(spec), name=spec)


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


def from_folder(folder: Path, *, name: str) -> Tokenizer:
    """The tokenizer of a folder with ``tokenizer.json``. Raises ``TokenizerError``."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise TokenizerError(f"no tokenizer.json in {str(folder)!r}; pass the folder of a fast tokenizer")
    try:
        model = tokenizers.Tokenizer.from_file(str(file))
        tokens = special_tokens_of(folder)
    except TemplateError as error:
        raise TokenizerError(str(error)) from error
    except Exception as error:
        raise TokenizerError(f"cannot load {str(file)!r}: {error}; fetch the tokenizer's files again") from error
    note = f"tokens of {name}; exact if that is the tokenizer of the served model"
    return HuggingFaceTokenizer(model, name=name, exact=True, note=note, special_tokens=tokens)


_WANTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def _from_hub(name: str) -> Path:
    """The snapshot folder of a Hugging Face name: the local cache, else fetched where the hub's client is installed."""
    cached = _cached(name)
    if cached is not None:
        return cached
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, allow_patterns=list(_WANTED)))
    except ImportError:
        why = "the huggingface_hub package is not installed"
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
    raise TokenizerError(
        f"tokenizer {name!r} is not in the local Hugging Face cache and cannot be fetched: {why}; "
        "pass a folder that holds tokenizer.json"
    )


def _cached(name: str) -> Path | None:
    """The newest complete snapshot in the cache, whose layout is documented and stable."""
    import os

    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "huggingface"
    )
    cache = Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))
    folder = cache / ("models--" + name.replace("/", "--"))
    main = folder / "refs" / "main"
    revisions = [main.read_text("utf-8").strip()] if main.is_file() else []
    revisions += sorted(path.name for path in (folder / "snapshots").glob("*"))
    for revision in revisions:
        if (folder / "snapshots" / revision / "tokenizer.json").is_file():
            return folder / "snapshots" / revision
    return None
