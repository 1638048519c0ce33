"""Instructions that rearrange tiles: padding, sorting, transposing, choosing and generating elements."""
