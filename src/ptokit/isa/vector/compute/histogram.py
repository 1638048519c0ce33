"""Extrema with the lanes that have them, and histograms (PTOAS e32488c9, micro-isa 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES

from ...checks.operands import Message
from ...machine import Machine
from ...numerics import arith
from ...site import Site, VregInfo
from ...table import Instr
from ..lanes import Predicate, active, image
from ..rules import VEC_06
from ..words import mask, micro, number, out_mask, out_vreg, types, vreg
from .compute_rules import MASKED, SAME
from .reduce_values import Fold, extreme

SOURCE = "PTOAS e32488c9, micro-isa 10"
BINS = 128
"""Of one half of a histogram: as many as a register has 16-bit lanes."""


def _matching(x: np.ndarray, mask: Predicate, fold: Fold) -> tuple[np.ndarray, np.ndarray]:
    """The extremum of the active lanes in lane 0, and the active lanes that hold it."""
    on = active(mask, x.dtype.itemsize)
    value = extreme(x, mask, fold)
    value.view(f"u{x.dtype.itemsize}")[:, 1:] = 0
    found = (x == value[:, :1]) | ((x != x) & (value[:, :1] != value[:, :1]))
    return value, image(found if on is None else found & on, x.dtype.itemsize)


def _extremum(text: str, fold: Fold, what: str) -> Instr:
    return micro(
        text,
        f"The {what} of the active lanes in lane 0, and a predicate of the lanes that hold it.",
        (vreg(), mask()),
        (out_vreg("value", like="src"), out_mask("found")),
        lambda m, src, mask, **_: _matching(src, mask, fold),
        SAME,
        MASKED,
        types=types("i8 u8 i16 u16 i32 u32 f16 f32"),
        source=SOURCE,
        decision="NaN wins, as in vcmax and vcmin, and lanes with NaN are found then.",
    )


VCBMAX = _extremum("vcbmax", arith.maximum, "maximum")
VCBMIN = _extremum("vcbmin", arith.minimum, "minimum")


def counted(acc: np.ndarray, samples: np.ndarray, on: np.ndarray | None, half: Any, *, cumulative: bool) -> np.ndarray:
    """`acc` plus how often each of 128 values from 128 * half occurs in `samples`, or at most it if `cumulative`.

    All arrays have one row for each block, or one for all of them. Sums wrap at 16 bits.
    """
    blocks = max(len(acc), len(samples), 1 if on is None else len(on), np.size(half))
    samples = np.broadcast_to(samples.view(np.uint8), (blocks, samples.shape[1]))
    places = np.arange(blocks)[:, None] * 256 + samples
    counts = np.bincount(
        places.ravel() if on is None else places[np.broadcast_to(on, samples.shape)], minlength=blocks * 256
    )
    counts = counts.reshape(blocks, 256)
    if cumulative:
        counts = np.cumsum(counts, axis=1)
    first = np.broadcast_to(np.reshape(half, (-1, 1)), (blocks, 1)).astype(np.int64) % 2 * BINS
    chosen = np.take_along_axis(counts, first + np.arange(BINS), axis=1)
    return acc + chosen.astype(acc.dtype)


def _shapes(o: Site) -> Message:
    wanted = {"acc": "u16", "src": "u8", "dst": "u16"}
    for name, kind in wanted.items():
        info = o.operands.get(name)
        if isinstance(info, VregInfo) and info.dtype is not DTYPES[kind]:
            return f"%{info.name} has lanes of {info.dtype.text}; {name} has {DTYPES[kind].text}"
    return None


def _histogram(text: str, what: str, *, cumulative: bool) -> Instr:
    def run(m: Machine, acc: np.ndarray, src: np.ndarray, mask: Predicate, half: Any, **_: Any) -> np.ndarray:
        return counted(acc, src, active(mask, 1), half, cumulative=cumulative)

    return micro(
        text,
        f"dst = acc + how many active samples {what} the value of the lane; bin 1: values from 128.",
        (vreg("acc"), vreg(), mask(optional=False, bits=8), number("bin", "i32")),
        (out_vreg(like="acc"),),
        run,
        replace(VEC_06, check=_shapes),
        types=types("u8 u16"),
        source=SOURCE,
        decision="bin 0 counts values 0..127, bin 1 those from 128; a cumulative count includes all smaller values.",
    )


CHISTV2 = _histogram("chistv2", "have at most", cumulative=True)
DHISTV2 = _histogram("dhistv2", "have", cumulative=False)
