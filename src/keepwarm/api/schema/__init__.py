"""What the API answers beyond the documents on disk; OpenAPI and the types of ``web/`` are made from it."""
