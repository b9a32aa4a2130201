"""How much memory a GPU has to give: what its driver says, a little under the size on the box.

The figures are the total memory that PyTorch, and so vLLM, sees, collected from published out-of-memory
reports. Drivers differ by up to 1.3%; what recent ones say is kept. Where it matters, give the server's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from keepwarm._errors import InputError

GPU_MEMORY_GIB: Mapping[str, float] = {
    "T4": 14.56,
    "V100-16": 15.77,
    "V100-32": 31.73,
    "A10": 22.06,
    "A10G": 22.06,
    "L4": 22.03,
    "RTX 3090": 23.56,
    "RTX 4090": 23.52,
    "RTX 5090": 31.36,
    "RTX A6000": 47.40,
    "RTX 6000 Ada": 47.37,
    "RTX PRO 6000": 94.97,
    "L40": 44.40,
    "L40S": 44.40,
    "A100-40": 39.39,
    "A100-80": 79.14,
    "H100": 79.18,
    "H200": 139.80,
    "B200": 178.35,
    "MI300X": 191.98,
}
_NOISE = re.compile(r"nvidia|amd|tesla|geforce|instinct|sxm\d?|pcie|hbm\d?e?|gi?b\b|[^a-z0-9]")
_AMBIGUOUS = {"a100": "A100-40 or A100-80", "v100": "V100-16 or V100-32"}


def gpu_memory_gib(name: str) -> float:
    """Memory of the GPU called ``name``, in GiB; case, hyphens, spaces and the maker's name do not matter.

    Raises:
        InputError: the name is not known, or is that of two sizes.
    """
    key = _key(name)
    found = {_key(known): size for known, size in GPU_MEMORY_GIB.items()}.get(key)
    if found is not None:
        return found
    if key in _AMBIGUOUS:
        raise InputError(f"GPU {name!r} comes in two sizes; give {_AMBIGUOUS[key]}, or --gpu-memory-gib")
    raise InputError(
        f"GPU {name!r} is not known; give its memory with --gpu-memory-gib, or one of "
        f"{', '.join(GPU_MEMORY_GIB)}"
    )


def _key(name: str) -> str:
    key = _NOISE.sub("", name.lower())
    return {"h10080": "h100", "h200141": "h200", "t416": "t4", "l424": "l4"}.get(key, key)
