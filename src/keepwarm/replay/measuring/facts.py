"""What the server says of itself, asked before the first request."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import msgspec

from keepwarm.replay.measuring.record import ClientFacts, ServerFacts
from keepwarm.server.client import RequestFailed, VllmClient
from keepwarm.server.identity import device_of_this_machine, measured_by
from keepwarm.server.metrics import Metrics

# Of what vLLM says of its cache: what a comparison must hold equal, and nothing that differs at each start.
_SETTINGS = (
    *("cache_dtype", "enable_prefix_caching", "prefix_caching_hash_algo", "sliding_window"),
    *("kv_offloading_size", "kv_offloading_backend", "mamba_cache_mode", "num_gpu_blocks_override"),
)
_PROBE: dict[str, Any] = {
    "messages": [
        {"role": "system", "content": "Rules of the night desk."},
        {"role": "user", "content": "Who is on call?"},
        {"role": "assistant", "content": "I look it up."},
        {"role": "user", "content": "Please do."},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "look_up",
                "description": "Reads the rota.",
                "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
            },
        }
    ],
}


class Served(NamedTuple):
    """The facts, and the scrape they were read from."""

    facts: ServerFacts
    metrics: Metrics


def ask_server(
    client: VllmClient, model: str | None, *, device: str | None, chat_template: str | None
) -> Served:
    """Model, versions, cache and rendering. Raises ServerError: it does not tell, or does not count hits."""
    served = client.model(model)
    metrics = Metrics.parsed(client.metrics_text(), client.name)
    cache = metrics.cache_config()
    metrics.hit_tokens()  # a server that does not count is refused before anything is sent
    settings = metrics.cache_settings()
    facts = ServerFacts(
        base_url=client.name,
        vllm=client.version(),
        model=served.id,
        model_root=served.root,
        max_model_len=served.max_model_len,
        block_size=cache.block_size,
        capacity_blocks=cache.capacity_blocks,
        cache_settings={name: settings[name] for name in _SETTINGS if name in settings},
        mode=metrics.mode(),
        rule=metrics.rule(),
        rendering_sha256=_rendering(client, served.id, chat_template),
        device_type=client.device_type(),
        device=device or (device_of_this_machine() if client.is_local else None),
    )
    return Served(facts, metrics)


def client_facts() -> ClientFacts:
    """Of this process."""
    return msgspec.convert(measured_by(), ClientFacts, from_attributes=True)


def _rendering(client: VllmClient, model: str, chat_template: str | None) -> str:
    """Digest of the ids of a fixed conversation; of its text alone where the server renders no chat."""
    body = {"model": model, **_PROBE} | ({} if chat_template is None else {"chat_template": chat_template})
    try:
        ids = client.tokenize_body(body)
    except RequestFailed:
        ids = client.tokenize(model, " ".join(message["content"] for message in _PROBE["messages"]))
    return hashlib.sha256(",".join(map(str, ids)).encode()).hexdigest()
