"""What is kept on disk: folders of measured rows that show it when something in them was changed.

- ``manifest``: every file by SHA-256, chained; ``folder``: written whole, read only if untouched
- ``verify``: every mismatch by name
- ``tables``: rows as Parquet; ``page``: one HTML file that a person reads
- ``redact``: what may leave the machine; ``export``: a redacted copy as folder or zip
"""
