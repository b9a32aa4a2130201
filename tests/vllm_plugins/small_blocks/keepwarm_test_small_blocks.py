"""Lets vLLM's CPU attention take KV blocks of 16 tokens: a plugin of vLLM that only the tests install.

A GPU has blocks of 16 by default, and every figure of ours is for that size: 128 blocks of 16 tokens hold
2,032 tokens. vLLM 0.32.0 refuses that on a CPU ("No common block size for 16"), because
``CPUAttentionBackend.get_supported_kernel_block_sizes`` names multiples of 32 alone. The kernel can do it:
``_get_attn_isa`` in the same file, ``v1/attention/backends/cpu_attn.py``, chooses ``vec16`` for what 32 does
not divide. So this only widens the list; sizes that were allowed before take the same path as before.

It is test equipment. keepwarm neither needs it nor brings it, and on any other platform it does nothing.
"""

from __future__ import annotations

_BLOCK_SIZE_TOKENS = 16


def register() -> None:
    """Called by vLLM in each of its processes; a second call changes nothing more."""
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    from vllm.v1.attention.backend import MultipleOf
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend

    def block_sizes(kv_cache_spec: object = None) -> list[int | MultipleOf]:
        return [MultipleOf(_BLOCK_SIZE_TOKENS)]

    CPUAttentionBackend.get_supported_kernel_block_sizes = staticmethod(block_sizes)
