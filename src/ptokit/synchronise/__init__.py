"""Flags between the pipes of a core: which ones a program needs, where they go, and a proof that they suffice."""
