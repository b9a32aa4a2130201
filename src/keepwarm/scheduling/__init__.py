"""In which order waiting requests are admitted, one order per file, and what is known of sessions.

Standard library only: the same classes run in the serving model and inside vLLM. To add an order, copy
``fcfs.py`` and register it in ``orders.py``; the conformance suite does the rest.
"""
