"""Operations of level 2 after their names."""
