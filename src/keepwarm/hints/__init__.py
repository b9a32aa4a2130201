"""Telling a server what a session does between two requests, from the application's side.

- ``client``: sends hints to the control endpoint of keepwarm's plugin, in the background
- ``answers``: which hint follows from an answer of the model
- ``openai``: an OpenAI client that does both by itself
"""

from keepwarm.hints.client import HintClient

__all__ = ["HintClient"]
