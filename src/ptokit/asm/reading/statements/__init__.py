"""Statements of level 1 and of the sync form (assembly 5)."""
