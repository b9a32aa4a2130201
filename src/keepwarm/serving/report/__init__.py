"""A grid of simulated runs, for people and for programs."""
