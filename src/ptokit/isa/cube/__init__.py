"""The cube unit: products of tiles, and its operations on pointers."""
