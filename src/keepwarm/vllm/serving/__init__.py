"""CacheWise inside vLLM: sessions, the order of the waiting queue, what scheduler and pool share."""
