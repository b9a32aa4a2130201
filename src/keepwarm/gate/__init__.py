"""A gate for CI: whether a trace lost hits, or gained findings, since a baseline was kept."""
