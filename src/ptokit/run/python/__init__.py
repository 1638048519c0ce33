"""Plans as Python code: the backend on NumPy."""
