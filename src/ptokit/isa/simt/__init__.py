"""Threads of the SIMT unit: queries, votes, shuffles, arithmetic, memory and launches."""
