"""THISTOGRAM: cumulative counts of the values of one byte (compute-layout-irregular 2.9)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..checks.assembler import A5_ONLY
from ..element_positions import for_all_blocks
from ..machine import Machine, TileOperand
from ..site import Site
from ..table import Access, Attr, Instr, dst, instruction, src
from .gather_text_rules import HIST_AS_01
from .histogram_rules import BINS, RULES, byte_of


def _histogram(
    m: Machine, dst: TileOperand, src: TileOperand, idx: TileOperand, *, is_msb: bool, byte: int | None
) -> None:
    which = byte_of(is_msb, byte)
    x = src.read().view(src.spec.dtype.storage).astype(np.uint32)
    counted = np.ones(x.shape, bool)
    highest = src.spec.dtype.size - 1
    for step, above in enumerate(range(highest, which, -1)):  # only elements whose higher bytes are those of idx
        wanted = idx.read(src.vr, 1) if highest == 1 else idx.read(step + 1, 1)[:, step:, :]
        x, wanted = for_all_blocks(x, wanted)
        counted = counted & ((x >> 8 * above & 0xFF) == wanted)
    row = np.arange(len(counted) * src.vr).reshape(len(counted), src.vr, 1) * BINS
    bins = (np.broadcast_to(x, counted.shape) >> 8 * which & 0xFF) + row
    counts = np.bincount(bins[counted], minlength=len(counted) * src.vr * BINS)
    total = counts.reshape(len(counted), src.vr, BINS).cumsum(axis=2)
    dst.write(total.astype(np.uint32), src.vr, BINS)


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    steps = o.src.dtype.size - 1 - byte_of(o.is_msb, o.byte)
    if steps:
        yield Access("idx", False, o.src.vr if o.src.dtype.size == 2 else steps, 1)
    yield Access("dst", True, o.src.vr, BINS)


THISTOGRAM = instruction(
    Instr(
        "THISTOGRAM",
        "thistogram",
        "dst[r,v] = how many elements of row r have a byte of at most v",
        (dst(), src(), src("idx")),
        (Attr("is_msb", bool, True, "isMSB"), Attr("byte", int, None, "byte")),
        rules=(*RULES, A5_ONLY, HIST_AS_01),
        run=_histogram,
        footprint=_footprint,
        source="compute-layout-irregular 2.9",
    )
)
