"""A finding becomes a task: redacted, located in the source, scoped, and carried out by an agent."""
