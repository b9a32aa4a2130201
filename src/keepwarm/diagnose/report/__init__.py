"""A diagnosis made readable: terminal, HTML, JSON, Parquet. One module each, all fed by ``mask``."""
