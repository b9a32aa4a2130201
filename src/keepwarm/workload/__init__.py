"""Sessions as a workload: what a coding agent asks, and what it does in between."""
