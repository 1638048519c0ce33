"""Operations on vector registers (vector-path 6)."""
