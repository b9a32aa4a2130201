"""A loopback proxy in front of an OpenAI-compatible server that writes one JSON line per request."""

from keepwarm.replay.recorder.options import RecorderOptions, Upstream, upstream_of
from keepwarm.replay.recorder.server import Summary, record

__all__ = ["RecorderOptions", "Summary", "Upstream", "record", "upstream_of"]
