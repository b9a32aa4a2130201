"""How a server learns what a session does between two requests.

- ``metadata``: from the next request itself, whose last assistant message has the tool calls that just ended;
  ``hook_requests`` in the API server, ``tell`` in the engine when a request arrives
- ``listener``: told to a loopback endpoint of the engine while the tool runs; ``hint`` reads what is told,
  ``wire`` speaks HTTP, ``apply`` tells the table of sessions

Whoever runs the engine calls ``listener.drain(table, now_s)`` at the beginning of a step and again, with
``metadata.tell(table, session, request)`` after it, when a request arrives, before ``table.arrived``: an idle
engine takes no steps, and what a session did is over once its request is there.

Standard library only: this runs inside other people's serving process.
"""
