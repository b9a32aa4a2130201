"""Saved diagnoses, opened once and kept for the next questions.

- ``shelf``: the few used last; what is shown of each is masked unless the server reveals
- ``columns``: its requests as columns, filtered and sorted without making records of them
- ``break_map``, ``call_sites``, ``request``: what the views ask for, made of those
- ``traces``: where the diagnosed trace is now
"""
