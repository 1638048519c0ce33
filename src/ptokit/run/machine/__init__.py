"""The machine that steps of a plan are carried out on: blocks of a chunk at a time, on NumPy arrays."""
