"""What a workload is like, in figures, tables and pictures: ``keepwarm sessions describe``."""
