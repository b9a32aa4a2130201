"""What is kept on disk: one directory per run, its schema, its manifest."""
