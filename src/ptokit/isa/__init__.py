"""The instruction table, one module per family."""
