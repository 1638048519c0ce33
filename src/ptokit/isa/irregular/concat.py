"""TCONCAT: rows of two tiles side by side (compute-layout-irregular 1.5)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..element_positions import for_all_blocks
from ..machine import Machine, TileOperand
from ..site import Site
from ..table import Access, Instr, Operand, Role, TextForm, dst, instruction, src
from .concat_rules import RULES
from .irregular_text_rules import CC_1, CC_2


def _concat(
    m: Machine,
    dst: TileOperand,
    a: TileOperand,
    b: TileOperand,
    didx: TileOperand | None = None,
    idx0: TileOperand | None = None,
    idx1: TileOperand | None = None,
) -> None:
    if idx0 is None or idx1 is None:
        rows = dst.vr  # the devices copy them whatever is valid in the sources
        dst.write(np.concatenate(for_all_blocks(a.read(rows, a.vc), b.read(rows, b.vc)), axis=2), rows, a.vc + b.vc)
        return
    size = idx0.spec.dtype.size
    want0, want1 = (i.read(dst.vr, 1).astype(np.int64) // size for i in (idx0, idx1))  # (blocks, rows, 1)
    n0 = np.clip(want0, 0, dst.vc)
    n1 = np.clip(want1, 0, dst.vc - n0)
    x, y = a.read(dst.vr, a.spec.cols), b.read(dst.vr, b.spec.cols)
    col = np.arange(dst.vc).reshape(1, 1, -1)
    first = np.take_along_axis(*for_all_blocks(x, np.minimum(col, x.shape[2] - 1) + 0 * n0), axis=2)
    second = np.take_along_axis(*for_all_blocks(y, np.clip(col - n0, 0, y.shape[2] - 1)), axis=2)
    old = dst.read(dst.vr, dst.vc)
    result = np.where(col < n0, first, np.where(col < n0 + n1, second, old))
    dst.write(result, dst.vr, dst.vc)
    if didx is not None:
        count = want0 + want1 if not m.target.is_device else np.minimum(want0 + want1, dst.vc)
        didx.write((count * size).astype(didx.spec.dtype.value), dst.vr, 1)


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src0", False, o.dst.vr, o.src0.vc)
    yield Access("src1", False, o.dst.vr, o.src1.vc)
    for name in ("idx0", "idx1"):
        if o.has(name):
            yield Access(name, False, o.dst.vr, 1)
    by_index = o.has("idx0")
    yield Access("dst", True, o.dst.vr, o.dst.vc if by_index else o.src0.vc + o.src1.vc, kept=by_index)
    if o.has("didx"):
        yield Access("didx", True, o.dst.vr, 1)


def _concat_by_index(
    m: Machine, dst: TileOperand, a: TileOperand, b: TileOperand, idx0: TileOperand, idx1: TileOperand
) -> None:
    _concat(m, dst, a, b, None, idx0, idx1)


TCONCATIDX = instruction(
    Instr(
        "TCONCATIDX",
        "tconcatidx",
        "As TCONCAT with index tiles, which say how many bytes of each row are taken.",
        (dst(), src("src0"), src("src1"), src("idx0"), src("idx1")),
        cpp="TCONCAT",
        rules=(*RULES, CC_2),
        run=_concat_by_index,
        footprint=_footprint,
        source="PTOAS 2026-08 PTOOps.td; compute-layout-irregular 1.5",
    )
)
TCONCAT = instruction(
    Instr(
        "TCONCAT",
        "tconcat",
        "Each row of dst is the row of src0 followed by that of src1; index tiles say how much of them.",
        (
            dst(),
            src("src0"),
            src("src1"),
            Operand("didx", Role.OUT, optional=True),
            src("idx0", optional=True),
            src("idx1", optional=True),
        ),
        form=TextForm(choices=("dst src0 src1", "dst src0 src1 idx0 idx1", "dst src0 src1 didx idx0 idx1")),
        rules=(*RULES, CC_1),
        run=_concat,
        footprint=_footprint,
        source="compute-layout-irregular 1.5",
    )
)
