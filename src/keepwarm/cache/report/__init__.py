"""How a cache simulation is shown."""
