"""Simulations on demand, each in a process of its own.

- ``recorded``: which trace a diagnosis is of, and whether it can be simulated again
- ``worker``: the process; ``process``: the server's end of it
- ``jobs``: which are asked for, which run, what came of them; ``events``: the same as a stream
"""
