"""A running vLLM server as keepwarm sees it, for whatever measures one.

- ``client``: the few things asked of it; ``stream``: a streamed answer, with the time of its first content
- ``metrics``: what its ``/metrics`` tells
- ``identity``: the machine, the versions and the commit that a measurement comes from
"""
