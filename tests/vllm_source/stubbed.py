"""vLLM's own block pool of a source tree, without torch and without the rest of vLLM.

    python -m tests.vllm_source.stubbed TREE (patched|plugin) SEED

prints one JSON document: what the pool did with a stream of requests. ``patched`` takes the tree as it is,
``plugin`` lets ``keepwarm.vllm.plugin`` hook itself in. Settings come from the environment.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import sys
import types
from pathlib import Path
from typing import Any

from keepwarm.vllm.source import test_computecache_safety as suite
from keepwarm.vllm.source.safety_fakes import BLOCK_TOKENS, POOL_BLOCKS, Content, Request

REAL = {
    f"vllm.{name}"
    for name in (
        "_version",
        "utils.math_utils",
        "v1.core.block_pool",
        "v1.core.computecache",
        "v1.core.kv_cache_metrics",
        "v1.core.kv_cache_utils",
        "v1.metrics.prometheus",
    )
}


class Stub(types.ModuleType):
    """A package in which every name is an empty class, but for the modules of ``REAL``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self.__name__}.{name}" in REAL:
            return importlib.import_module(f"{self.__name__}.{name}")
        made = type(name, (), {"__init__": lambda self, *arguments, **options: None})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the files of ``REAL`` in a tree, and a stub for all else of vLLM and torch."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree

    def find_spec(self, fullname: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in {"vllm", "torch"}:
            return None
        file = (self._tree / fullname.replace(".", "/")).with_suffix(".py")
        if fullname in REAL and file.is_file():
            return importlib.util.spec_from_file_location(fullname, file)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return Stub(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """A stub has nothing to run."""


class RealServer(suite.Server):
    """The suite's requests on vLLM's pool."""

    def __init__(self, pool: Any) -> None:
        self.pool = pool

    def find(self, content: Content) -> Any:
        found = self.pool.get_cached_block(b"%d %d" % content, [0])
        return found[0] if found else None

    def cache(self, request: Request, table: list[Any], cached: int, blocks: int) -> None:
        hashes = [b"%d %d" % content for content in request.contents]
        asked = types.SimpleNamespace(block_hashes=hashes, num_prompt_tokens=request.num_prompt_tokens)
        self.pool.cache_full_blocks(asked, table, cached, blocks, BLOCK_TOKENS, 0)

    def order(self) -> list[int]:
        return [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]


def load_vllm(tree: Path) -> Any:
    """vLLM as far as the pool needs it, from ``tree``; once per process. Returns the module of the pool."""
    sys.meta_path.insert(0, Finder(tree))
    import vllm  # type: ignore[import-untyped]
    import vllm.logger  # type: ignore[import-untyped]
    from vllm._version import __version__  # type: ignore[import-untyped]

    vllm.__version__ = __version__
    vllm.logger.init_logger = logging.getLogger
    import vllm.v1.metrics.prometheus  # type: ignore[import-untyped]
    from vllm.v1.core import block_pool  # type: ignore[import-untyped]

    return block_pool


def make_server(block_pool: Any) -> RealServer:
    """A pool as vLLM makes it."""
    pool = block_pool.BlockPool(POOL_BLOCKS, True, BLOCK_TOKENS, medium="GPU")
    return RealServer(pool)


def hot_prefix_kept(server: RealServer) -> int:
    """Blocks of a prefix that was hit once which are left after a flood of one-use prompts."""
    server.serve(prompt=0, blocks=10)
    server.serve(prompt=0, blocks=10)
    for prompt in range(1, 81):
        server.serve(prompt, blocks=20)
    return server.serve(prompt=0, blocks=10)


def main(tree: str, way: str, seed: str) -> None:
    """See the module."""
    block_pool = load_vllm(Path(tree))
    if way == "plugin":
        from keepwarm.vllm.plugin import register

        register()
    hot = make_server(block_pool)
    kept = hot_prefix_kept(hot)
    orders = suite.random_service(make_server(block_pool), int(seed), steps=2_000)
    hooks = getattr(hot.pool, "computecache", None)
    document = {
        "pool": type(hot.pool).__name__,
        "queue": type(hot.pool.free_block_queue).__name__,
        "policy": None if hooks is None else type(hooks).__module__,
        "counters": None if hooks is None else list(hooks._words[: len(hooks._words)]),
        "hot_prefix_kept_blocks": kept,
        "orders": [hashlib.sha256(repr(order).encode()).hexdigest()[:16] for order in orders],
        "heavy": sorted(
            {"torch", "vllm.config"} & {n for n, m in sys.modules.items() if not isinstance(m, Stub)}
        ),
    }
    sys.stdout.write(json.dumps(document))


if __name__ == "__main__":
    main(*sys.argv[1:])
