"""Recorded requests in: a reader per format, rendering, tokens with provenance, block hashes."""
