"""Evidence as it is asked for.

- ``verdicts``: a verdict with the changed outputs and the approvals beside it
- ``approving``: a person's word, written there: the one thing that is ever written in the served folder
- ``measured``: runs and comparisons with their rows; ``records``: tasks, canaries, tunings
"""
