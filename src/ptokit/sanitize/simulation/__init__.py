"""Cores, pipes and queues as one deterministic simulation: what is ordered before what."""
