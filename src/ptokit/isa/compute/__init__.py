"""Arithmetic on tiles: elementwise, comparisons, conversions, expansions, reductions, quantisation."""
