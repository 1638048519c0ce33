"""Generic form (assembly 2)."""
