"""What of vLLM 0.32.0 the policy relies on, by name and digest: anything else is left alone.

A fingerprint is taken of the source text of a function or class, without its indentation. The plugin compares
those of the modules that are loaded, the source installer those of a checkout.
"""

from __future__ import annotations

import ast
import hashlib
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

VERSION = "0.32.0"
BLOCK_POOL = "vllm/v1/core/block_pool.py"
KV_CACHE_UTILS = "vllm/v1/core/kv_cache_utils.py"

# File, then qualified name: first 16 hexadecimal digits of SHA-256 of the source.
FINGERPRINTS: dict[str, dict[str, str]] = {
    BLOCK_POOL: {
        "BlockHashToBlockMap.get_one_block": "cad021f7c60bf96d",
        "BlockPool.__init__": "9ec79e7d23abeca9",
        "BlockPool.cache_full_blocks": "11f966534fe0027e",
        "BlockPool.cache_partial_block": "2a97544945a66d8d",
        "BlockPool._remove_cached_block_hashes": "7e21052d7dfc42a2",
        "BlockPool._insert_block_hash": "4ed5bab922807ac1",
        "BlockPool.move_block_hashes": "58eb1919266fc216",
        "BlockPool.get_new_blocks": "6196b4bacfd1905a",
        "BlockPool._notify_reuse": "13dd1b27dc23673f",
        "BlockPool.unpin_blocks": "740a1d1fa3e82fe9",
        "BlockPool._maybe_evict_cached_block": "fda6fe1e5c7b11a4",
        "BlockPool.touch": "0935a22ce5f4f8d6",
        "BlockPool.free_blocks": "35fb2a59f1a78ffa",
        "BlockPool.evict_blocks": "8f14df7d0782ff12",
        "BlockPool.reset_prefix_cache": "1723c83f3cf0992b",
        "BlockPool.get_num_free_blocks": "ba975ecce5909355",
    },
    KV_CACHE_UTILS: {
        "KVCacheBlock": "158f84e7c0613b60",
        "FreeKVCacheBlockQueue.__init__": "17dac7c34cc70d65",
        "FreeKVCacheBlockQueue.popleft": "e301b6f12714ca9f",
        "FreeKVCacheBlockQueue.popleft_n": "e9f58579da78d48c",
        "FreeKVCacheBlockQueue.remove": "0a41a0104c6228df",
        "FreeKVCacheBlockQueue.append": "b9fbd8707ff1c5ef",
        "FreeKVCacheBlockQueue.prepend_n": "72427a93bc373053",
        "FreeKVCacheBlockQueue.append_n": "89f5f60d1bb1f5d8",
        "FreeKVCacheBlockQueue.get_all_free_blocks": "6a73b94df12502ab",
        "FreeKVCacheBlockQueue.iter_blocks_after": "faaed0bbf16919bb",
    },
}


class Found(NamedTuple):
    """A function or class as a file has it."""

    digest: str
    first_line: int


def find(source: str, names: Iterable[str]) -> dict[str, Found]:
    """Those of ``names`` (``function``, ``Class``, ``Class.method``) that stand exactly once.

    Raises ``SyntaxError`` if ``source`` is no Python.
    """
    lines = source.splitlines()
    wanted = set(names)
    found: dict[str, list[Found]] = {}
    for name, node in _definitions(ast.parse(source)):
        if name in wanted:
            first_line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            text = textwrap.dedent("\n".join(lines[first_line - 1 : node.end_lineno]))
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            found.setdefault(name, []).append(Found(digest, first_line))
    return {name: places[0] for name, places in found.items() if len(places) == 1}


def _definitions(module: ast.Module) -> Iterable[tuple[str, Any]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in module.body:
        if isinstance(node, kinds):
            yield node.name, node
            if isinstance(node, ast.ClassDef):
                yield from (
                    (f"{node.name}.{inner.name}", inner) for inner in node.body if isinstance(inner, kinds)
                )


def differences(
    modules: Mapping[str, ModuleType], fingerprints: Mapping[str, Mapping[str, str]] = FINGERPRINTS
) -> list[str]:
    """Which functions of the loaded modules, given by the file they stand for, are not those of 0.32.0.

    Also one that somebody else has replaced. Raises ``OSError`` if a source cannot be read.
    """
    wrong = []
    for file, expected in fingerprints.items():
        module = modules[file]
        found = find(Path(str(module.__file__)).read_text(encoding="utf-8"), expected)
        for name, digest in expected.items():
            place = found.get(name)
            if place is None or place.digest != digest or not _is_loaded_from(module, name, place):
                wrong.append(f"{file}: {name}")
    return wrong


def _is_loaded_from(module: ModuleType, name: str, place: Found) -> bool:
    target: Any = module
    for part in name.split("."):
        target = vars(target).get(part)
    code = getattr(getattr(target, "fget", target), "__code__", None)
    if code is None:  # a class: its methods are listed by themselves
        return getattr(target, "__module__", None) == module.__name__
    return bool(code.co_filename == module.__file__ and code.co_firstlineno == place.first_line)
