"""Operations of level 2 behind their names."""
