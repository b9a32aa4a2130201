"""keepwarm inside vLLM. Standard library and ``keepwarm.policies`` only: it runs in others' servers."""
