"""The prompts of the desk, one module for each of its four call sites."""
