"""keepwarm inside vLLM. Standard library and ``keepwarm.policies`` only: it runs in other people's servers."""
