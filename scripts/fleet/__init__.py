"""vLLM servers on this machine's CPUs behind the real vllm-router: for `make fleet`, tests and a bench.

- ``router``: vllm-router as a process of this machine
- ``local``: the servers, the router before them, and one of them stopped and started again
- ``metrics``: what servers and router count
- ``sessions``: scripted sessions through the router, each answer with the replica that gave it
- ``drill``: a replica is killed under load, and what was lost
"""
