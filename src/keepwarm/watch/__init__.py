"""Serving as it goes on: what a Prometheus knows of vLLM servers, and a feed of call sites for it.

``servers`` asks a Prometheus, ``conditions`` are the alerts in the words of ``deploy/prometheus``,
``report`` shows both. ``changes`` is the sequential test, ``meters`` count a call site, and ``families``
are its metrics.
"""
