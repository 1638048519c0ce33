"""Extrema with the lanes that have them, and histograms (PTOAS e32488c9, micro-isa 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES

from ...checks.operands import Message
from ...machine import Machine
from ...site import Site, VregInfo
from ...table import Instr
from ..lanes import Predicate, active
from ..rules import VEC_06
from ..words import mask, micro, number, out_vreg, types, vreg

SOURCE = "PTOAS e32488c9, micro-isa 10"
BINS = 128
"""Of one half of a histogram: as many as a register has 16-bit lanes."""


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
