"""How a server learns what a session does between two requests.

- ``metadata``: from the next request itself, whose last assistant message has the tool calls that just ended
- ``listener``: told to a loopback endpoint of the engine while the tool runs; ``hint`` reads what is told,
  ``wire`` speaks HTTP, ``apply`` tells the table of sessions

Standard library only: this runs inside other people's serving process.
"""
