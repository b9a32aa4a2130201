"""Benches: one module each with a ``run()``, listed by ``python -m bench``."""
