"""Sorting and merging of scored records (vector-path 6.9). Records have 8 bytes: the score, then a ui32 index.

Arrays have a leading axis for blocks. Equal scores keep the order of their sources; NaN comes last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RECORD = 8
"""Bytes of a record. A score of f16 fills the low half of its 4 bytes."""

GROUP = 32
"""Scores that vbitsort sorts together."""


def descending(scores: np.ndarray) -> np.ndarray:
    """The stable order of scores from high to low along the last axis."""
    return np.argsort(-scores.astype(np.float32), axis=-1, kind="stable")


def records(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Scores (blocks, n) and ui32 indices as bytes of records (blocks, 8 n)."""
    words = np.zeros((*scores.shape, 2), np.uint32)
    words[..., 0] = scores.view(f"u{scores.dtype.itemsize}")
    words[..., 1] = indices
    return words.reshape(len(scores), -1).view(np.uint8)


def sorted_groups(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Bytes of the records of scores (blocks, 32 r) and indices, every 32 of them sorted."""
    shape = (len(scores), -1, GROUP)
    order = descending(scores.reshape(shape))
    values = np.take_along_axis(scores.reshape(shape), order, axis=2)
    chosen = np.take_along_axis(indices.reshape(shape), order, axis=2)
    return records(values.reshape(len(scores), -1), chosen.reshape(len(scores), -1))


def merge(lists: Sequence[np.ndarray], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Sorted lists, bytes (blocks, 8 n) each, as one; and the list every record came from, (blocks, records)."""
    both = np.concatenate(lists, axis=1).view(np.uint64)
    origin = np.repeat(np.arange(len(lists)), [x.shape[1] // RECORD for x in lists])
    order = descending(both.view(dtype)[:, :: RECORD // dtype.itemsize])
    return np.take_along_axis(both, order, axis=1), origin[order]


def until_exhausted(origin: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """How many records (blocks,) come out until one list that had some has none left."""
    places = np.arange(origin.shape[1])
    last = [np.where(origin == k, places, -1).max(axis=1) + 1 for k, n in enumerate(lengths) if n]
    return np.min(last, axis=0) if last else np.zeros(len(origin), np.int64)
