"""Whether a repair changed what it should and nothing else: one check per file, and a verdict."""
