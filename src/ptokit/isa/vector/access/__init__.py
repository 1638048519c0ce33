"""Loads and stores of vector registers and predicates (vector-path 4, 5)."""
