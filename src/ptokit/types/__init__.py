"""Element types, tiles, layouts, global tensors and the types of SSA values."""
