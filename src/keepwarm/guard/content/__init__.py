"""Whether the text of prompts is all there, in pieces that may be moved but not changed.

- ``pieces``: a message cut into lines and sentences
- ``stability``: which pieces every request of a call site has
- ``messages``: which message of BEFORE is which of AFTER
- ``moves``: what may stand elsewhere, and what must keep its order
- ``declared``: what the task says is new or gone
- ``differences``: all of it for one request
"""
