"""How long tool calls ran, from transcripts of agents and from CSV."""
