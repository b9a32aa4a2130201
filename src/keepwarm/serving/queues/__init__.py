"""Orders in which waiting requests are admitted. To add one, copy ``fcfs.py``."""
