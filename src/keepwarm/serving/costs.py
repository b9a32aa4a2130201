"""How long a step of a server takes: the roofline of a model on a device, or coefficients fitted to it.

A step computes tokens and reads what it attends to; the slower of the two decides:

    step = overhead + max(token · tokens + pair · pairs, weights + context · context_tokens)

``pairs`` counts, for each computed token, the tokens it attends to; ``context_tokens`` are the tokens whose
KV the step reads, each request's context once. The work is integers, so that equal steps take equal time
however they were counted.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Coefficients(NamedTuple):
    """Seconds per token computed, per pair attended, per pass over the weights, per token of KV read."""

    token_s: float
    pair_s: float
    weights_s: float
    context_s: float
    overhead_s: float

    def step_s(self, tokens: int, pairs: int, context_tokens: int) -> float:
        """Seconds of a step of this work. Called for every step."""
        compute_s = self.token_s * tokens + self.pair_s * pairs
        memory_s = self.weights_s + self.context_s * context_tokens
        slower_s = compute_s if compute_s > memory_s else memory_s  # noqa: FURB136 - for every step
        return self.overhead_s + slower_s

    def prefill_s_per_token(self, step_tokens: int, context_tokens: int) -> float:
        """Seconds per prompt token in a step full of one prompt, ``context_tokens`` into it."""
        pairs = step_tokens * context_tokens + pairs_within(step_tokens)
        return self.step_s(step_tokens, pairs, context_tokens + step_tokens) / step_tokens


def pairs_within(tokens: int) -> int:
    """Pairs among the tokens of one chunk: each attends to itself and to those before it."""
    return tokens * (tokens + 1) // 2


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A dense decoder with grouped attention, as far as its cost goes."""

    name: str
    parameters: float  # that a token passes through
    layers: int
    attention_heads: int
    kv_heads: int
    head_dim: int
    weight_bytes_per_parameter: float
    kv_bytes_per_value: float

    @property
    def kv_bytes_per_token(self) -> float:
        """Keys and values of all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.kv_bytes_per_value


class Device(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What computes, all parts of it together. The shares are what of the peak is reached."""

    name: str
    peak_flops_per_s: float
    compute_share: float  # MFU
    peak_bytes_per_s: float
    bandwidth_share: float
    host_link_bytes_per_s: float | None = None  # to host memory, for a tier there


class Roofline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="roofline"):
    """Costs from first principles: 2 FLOP per parameter and token, 4 per pair, head and its dimension."""

    model: Model
    device: Device
    overhead_s: float

    @property
    def kind(self) -> str:
        """In words."""
        return f"a roofline of {self.model.name} on {self.device.name}"

    @property
    def reload_s_per_token(self) -> float | None:
        """Seconds to bring a token's KV back from host memory; None without a link to it."""
        link = self.device.host_link_bytes_per_s
        return None if link is None else self.model.kv_bytes_per_token / link

    def coefficients(self) -> Coefficients:
        """The two roofs as seconds."""
        model, device = self.model, self.device
        flops_per_s = device.peak_flops_per_s * device.compute_share
        bytes_per_s = device.peak_bytes_per_s * device.bandwidth_share
        pair_flops = 4 * model.layers * model.attention_heads * model.head_dim
        return Coefficients(
            token_s=2 * model.parameters / flops_per_s,
            pair_s=pair_flops / flops_per_s,
            weights_s=model.parameters * model.weight_bytes_per_parameter / bytes_per_s,
            context_s=model.kv_bytes_per_token / bytes_per_s,
            overhead_s=self.overhead_s,
        )


class Fitted(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="fitted"):
    """Costs measured: see ``fit.py``. ``residual_s`` are the root mean squares left over, per request."""

    token_s: float
    pair_s: float
    weights_s: float
    context_s: float
    overhead_s: float
    requests: int
    ttft_residual_s: float
    total_residual_s: float
    kv_bytes_per_token: float | None = None
    host_link_bytes_per_s: float | None = None

    @property
    def kind(self) -> str:
        """In words."""
        return f"a fit to {self.requests} measured requests"

    @property
    def reload_s_per_token(self) -> float | None:
        """Seconds to bring a token's KV back from host memory; None where nobody measured it."""
        if self.kv_bytes_per_token is None or self.host_link_bytes_per_s is None:
            return None
        return self.kv_bytes_per_token / self.host_link_bytes_per_s

    def coefficients(self) -> Coefficients:
        """As they were fitted."""
        return Coefficients(self.token_s, self.pair_s, self.weights_s, self.context_s, self.overhead_s)
