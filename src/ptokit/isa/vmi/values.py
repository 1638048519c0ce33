"""What operations on logical vectors do that is no expression of lanes.

A vector is an array (blocks or 1, lanes) of its element's dtype, or of codes where NumPy has none; a predicate is a
bool array of that shape. Neither is ever modified.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def histogram(acc: Array, samples: Array, on: Array, cumulative: bool) -> Array:
    """`acc` plus how often each value occurs in active lanes, or at most it."""
    blocks = max(len(acc), len(samples), len(on))
    samples = np.broadcast_to(samples.view(np.uint8), (blocks, samples.shape[1]))
    places = np.arange(blocks)[:, None] * 256 + samples
    counts = np.bincount(places[np.broadcast_to(on, samples.shape)], minlength=blocks * 256).reshape(blocks, 256)
    if cumulative:
        counts = np.cumsum(counts, axis=1)
    return (acc + counts[:, : acc.shape[1]]).astype(acc.dtype)
