"""Cores that wait for each other: clusters, flags, pipes."""
