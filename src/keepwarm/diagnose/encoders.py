"""What a diagnosis says about its tokens."""

from __future__ import annotations

from keepwarm.diagnose.traffic import Traffic
from keepwarm.trace.encode import drops_tools, hashes_info, recorded_ids_info, without_tools
from keepwarm.trace.open import Trace
from keepwarm.trace.records import EncodingInfo


def encoding_info(trace: Trace, traffic: Traffic) -> EncodingInfo:
    """What to tell the reader about the tokens of a diagnosis."""
    if not trace.prompt_texts_known:
        return hashes_info()
    info = traffic.encoder.info
    if all(row.prompt_token_ids is not None for row in traffic.catalog.rows):
        return recorded_ids_info(info)
    rows = (row for row in traffic.catalog.rows if row.tools and row.prompt_text is None)
    first = next((row for row in rows if row.prompt_token_ids is None), None)
    if first is not None and drops_tools(traffic.prompt(first.index).rendered):
        return without_tools(info)
    return info
