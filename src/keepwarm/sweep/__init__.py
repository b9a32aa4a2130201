"""Sweeps: a grid of simulations whose finished cells are kept, on this machine or on a Ray cluster."""
