"""Between global memory and tiles: loads, stores, prefetches, gathers and scatters."""
