"""A grid of simulated fleets, for people and for programs."""
