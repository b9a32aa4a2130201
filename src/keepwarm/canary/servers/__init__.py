"""How the canary starts a server and starts it again: a local process, docker compose, or a command."""
