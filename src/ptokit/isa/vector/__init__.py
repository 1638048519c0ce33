"""Instructions on vector registers, predicates and pointers (vector-path)."""
