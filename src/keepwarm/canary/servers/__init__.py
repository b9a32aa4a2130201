"""How the canary starts a server and starts it again.

- ``base``: what an adapter can do
- ``local``: a vLLM process of this machine
- ``compose``: one service of a docker compose project
- ``command``: the user's own commands

They share ``process`` (a process group that is ended whole), ``health`` and ``logs`` (without secrets).
"""
