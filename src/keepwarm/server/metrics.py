"""What a vLLM server's ``/metrics`` tells: its limits, its hit counters, and the plugin's own figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from keepwarm._errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.samples import Sample

# vLLM's v1/metrics/loggers.py: hits in the pool of blocks, and those in a store behind a KV connector.
_HITS = ("vllm:prefix_cache_hits_total", "vllm:external_prefix_cache_hits_total")
_CONFIG = "vllm:cache_config_info"
_MODE = "computecache_effective_mode"
_PLUGIN = "computecache_"
_RULE = "computecache_effective_rule"
_LEFT_OUT = ("_bucket", "_created")
NO_PLUGIN = "stock"


class CacheConfig(NamedTuple):
    """The pool of blocks. ``capacity_blocks`` are usable: the null block is not among them."""

    block_size: int
    capacity_blocks: int


class Metrics(NamedTuple):
    """One scrape."""

    server: str
    samples: Sequence[Sample]

    @classmethod
    def parsed(cls, text: str, server: str) -> Metrics:
        """Reads the Prometheus text format. Raises ServerError: it is none."""
        from prometheus_client.parser import text_string_to_metric_families

        try:
            families = list(text_string_to_metric_families(text))
        except ValueError as error:
            raise ServerError(
                f"{server}/metrics answered with something that is no Prometheus text; is this vLLM?"
            ) from error
        return cls(server, [sample for family in families for sample in family.samples])

    def cache_config(self) -> CacheConfig:
        """The one engine's pool. Raises ServerError: it is not told, or there are several engines."""
        found = [sample.labels for sample in self.samples if sample.name == _CONFIG]
        if not found:
            raise ServerError(
                f"{self.server}/metrics has no {_CONFIG}; is this vLLM, started without --disable-log-stats?"
            )
        if len(found) > 1:
            raise ServerError(
                f"{self.server} runs {len(found)} engines, each with a cache of its own; "
                "use a server with one (--data-parallel-size 1)"
            )
        labels = found[0]
        block_size, blocks = labels.get("block_size", ""), labels.get("num_gpu_blocks", "")
        if not (block_size.isdecimal() and blocks.isdecimal() and int(block_size) > 0 and int(blocks) > 1):
            raise ServerError(
                f"{self.server}/metrics: {_CONFIG} has block_size {block_size!r} and num_gpu_blocks "
                f"{blocks!r}, which is no pool of blocks; wait until the server is ready"
            )
        return CacheConfig(int(block_size), int(blocks) - 1)

    def hit_tokens(self) -> int:
        """Prompt tokens served from the cache since the server started. Raises ServerError: not counted."""
        values = [sample.value for sample in self.samples if sample.name in _HITS]
        if not values:
            raise ServerError(
                f"{self.server}/metrics has no {_HITS[0]}; start vLLM with --enable-prefix-caching "
                "and without --disable-log-stats"
            )
        return int(sum(values))

    def cache_settings(self) -> dict[str, str]:
        """Everything that the one engine says of its cache, by vLLM's names; empty if it says nothing."""
        return next((dict(s.labels) for s in self.samples if s.name == _CONFIG), {})

    def total(self, name: str) -> int | None:
        """The sum of a counter over its labels, None where there is none of that name."""
        values = [sample.value for sample in self.samples if sample.name == name]
        return int(sum(values)) if values else None

    def mode(self) -> str:
        """The plugin's effective mode, ``stock`` where it is not there, ``mixed`` for several at once."""
        return self._effective(_MODE, "mode") or NO_PLUGIN

    def rule(self) -> str | None:
        """The plugin's effective rule, None where it is not there, ``mixed`` for several at once."""
        return self._effective(_RULE, "rule")

    def _effective(self, name: str, label: str) -> str | None:
        found = {s.labels.get(label, "") for s in self.samples if s.name == name and s.value > 0}
        return found.pop() if len(found) == 1 else ("mixed" if found else None)

    def plugin(self) -> dict[str, float]:
        """The plugin's figures by name and labels, as they are written there, in order of name."""
        return {
            _key(sample): sample.value
            for sample in sorted(self.samples, key=_key)
            if sample.name.startswith(_PLUGIN) and not sample.name.endswith(_LEFT_OUT)
        }


def _key(sample: Sample) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in sorted(sample.labels.items()))
    return f"{sample.name}{{{labels}}}" if labels else sample.name
