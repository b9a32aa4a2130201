"""Estimators of the time that is left of a tool call, one per file. To add one, copy ``unknown.py``."""
