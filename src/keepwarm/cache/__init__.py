"""The cache model: a readable reference pool, and replays of whole traces through it."""
