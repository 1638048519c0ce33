"""TEXPANDS: a scalar into every element (compute-elementwise 3.4, EW-A3-08)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.enums import Pipe, TileType

from ..checks.operands import Message
from ..meaning.expressions import Scalar
from ..meaning.words import Lane, lane
from ..site import Site
from ..table import dst, scalar
from ..typesets import ASM_INT, FB, I6, I8, INT16_32, types
from .vector_rules import EW_01_MAT, EW_02_64, EW_03, EW_06, EW_07, EW_08, EW_1, EW_A3_07
from .words import vector

rule = family("compute-elementwise 2.2")


def _fill(o: Site) -> Lane:
    return lane(Scalar("scalar", "dst"), whole=o.dst.loc is TileType.Mat)


def _pipe(o: Site) -> Pipe:
    return Pipe.MTE2 if o.dst.loc is TileType.Mat else Pipe.V


def _mat_blocks(o: Site) -> Message:
    """A Mat tile to fill has 1..32767 blocks of 32 bytes."""
    blocks = o.dst.spec.nbytes // 32
    if o.dst.loc is TileType.Mat and not 1 <= blocks <= 32767:
        return f"{o:dst} is {o.dst.spec.nbytes} bytes, {blocks} blocks of 32; a mat fill takes 1..32767"
    return None


EW_A3_08 = rule("EW-A3-08", "a 128x128 f16 mat tile", "a 1024x1024 i8 mat tile on a2a3")(_mat_blocks)


@rule(
    "EW-A5-09",
    "TEXPANDS(Tile(Mat, {f32|i64}, 16, 64), 1099511627776)",
    source="compute-elementwise 2.3",
    evidence="static_assert device",
)
def EW_A5_09(o: Site) -> Message:
    """A Mat tile to fill has 1..32767 blocks of 32 bytes and elements of 1, 2 or 4 bytes."""
    return (
        f"a mat fill has no {o.dst.dtype} form"
        if o.dst.loc is TileType.Mat and o.dst.dtype.size > 4
        else _mat_blocks(o)
    )


TEXPANDS = vector(
    "TEXPANDS",
    "dst = scalar in every valid element; a Mat tile is filled whole",
    (dst(), scalar()),
    types(I6 | FB, I8 | FB, asm=(INT16_32 | FB, ASM_INT | FB)),
    _fill,
    EW_A3_07,
    EW_A3_08,
    EW_A5_09,
    common=(EW_01_MAT, EW_02_64, EW_03, EW_06, EW_07, EW_08, EW_1),
    pipe=_pipe,
)
