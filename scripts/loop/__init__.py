"""The whole loop on ``examples/helpdesk``: ``python -m scripts.loop``, or ``make loop``.

- ``shell``: commands, printed as they are run
- ``desk``: the example as a git repository: revisions, recordings, golden outputs
- ``golden``: golden cases of two revisions
- ``rounds``: finding → task → repair → verdict, until the patches are used up; the planted bad fixes beside
- ``chosen``: which requests are replayed
- ``measured``: BEFORE and AFTER on a real server
"""
