"""Recorded requests in, block hashes out; every stage on the way is a value one can print.

- ``open``: a file as a stream of ``records``. ``source`` gives its bytes, ``json_values`` cuts them,
  ``readers`` (one per format) make requests of them
- ``catalog``: all requests of a trace, each distinct message stored once in ``slabs``
- ``render``: a request in its chat template, every character with its JSON path
- ``tokens``: tokenizers, and texts encoded part by part; ``hub`` finds their files
- ``encode``: both together, a request as a ``prompt``; ``hashes``: its blocks
"""
