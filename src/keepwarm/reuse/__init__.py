"""When an idle session comes back: tool calls, their durations, and who estimates what is left of one.

Inside a serving process only ``calls``, ``estimators`` and ``model`` are loaded: standard library.
"""
