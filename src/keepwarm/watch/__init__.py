"""Serving as it goes on: what a Prometheus knows of vLLM servers, and a feed of call sites for it.

``servers`` asks a Prometheus, ``conditions`` are the alerts in the words of ``deploy/prometheus``,
``report`` shows both. ``tail`` reads a recording as it grows, ``sites`` attributes its requests, ``meters``
count a call site, ``changes`` is the sequential test, ``families`` are the metrics; ``follow`` puts these
together and ``exporter`` serves them.
"""
