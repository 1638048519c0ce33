"""TTRANS: transposition of a tile, and reordering of convolution tiles (compute-layout-irregular 1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.conv import ConvSpec
from ptokit.types.enums import Layout

from ..machine import Machine, TileOperand
from ..meaning.expressions import TURNED, Element, Extent
from ..meaning.words import Move, Python, Word
from ..operands import FIRST_SOURCE
from ..scratch import of_turns
from ..site import Site
from ..table import Instr, dst, instruction, src, tmp
from .scratch_text_rules import TRANS_AS_01
from .transpose_rules import RULES


def _meaning(o: Site) -> Word:
    if isinstance(o.src.spec, ConvSpec):
        return Python(_reorder)
    return Move(Element("src", TURNED), Extent("src", "vc"), Extent("src", "vr"))


def _reorder(m: Machine, dst: TileOperand, src: TileOperand, tmp: Any = None) -> None:
    """A convolution tile in another layout: the same elements, zeros where channels or N are padded."""
    d, s = dst.spec, src.spec
    assert isinstance(d, ConvSpec)
    assert isinstance(s, ConvSpec)
    x = src.read(1, int(np.prod(s.dims)))
    x = x.reshape(len(x), *s.dims)
    c0 = d.dims[-1]
    if s.layout in (Layout.NCHW, Layout.GNCHW):
        x = np.moveaxis(_split(x, -3, c0), -3, -1)
    elif s.layout is Layout.NCDHW:  # N C D H W -> D C1 H W N C0
        x = _split(x, -4, c0).transpose(0, 4, 2, 5, 6, 1, 3)
        x = _split(x, -2, d.dims[-2])
    elif d.layout in (Layout.NCHW, Layout.GNCHW):  # C1 and C0 become C again
        x = np.moveaxis(x, -1, -3)
        x = x.reshape(*x.shape[:-4], -1, *x.shape[-2:])[..., : d.dims[-3], :, :]
    else:  # to FRACTAL_Z: N moves behind W and is split
        x = _split(np.moveaxis(x, -5, -2), -2, d.dims[-2])
    count = int(np.prod(d.dims))
    dst.write(np.ascontiguousarray(x).reshape(len(x), 1, count), 1, count)


def _split(x: np.ndarray, axis: int, inner: int) -> np.ndarray:
    """One axis, counted from the end, as two: groups of `inner`, the last one filled with zeros."""
    axis += x.ndim
    missing = -x.shape[axis] % inner
    if missing:
        x = np.pad(x, [(0, missing if k == axis else 0) for k in range(x.ndim)])
    return x.reshape(*x.shape[:axis], -1, inner, *x.shape[axis + 1 :])


TTRANS = instruction(
    Instr(
        "TTRANS",
        "ttrans",
        "dst[c,r] = src[r,c]; of convolution tiles: the elements in the order of dst's layout.",
        (dst(), src(), tmp(optional=True, like=FIRST_SOURCE, needed=of_turns)),
        rules=(*RULES, TRANS_AS_01),
        meaning=_meaning,
        source="compute-layout-irregular 1.1",
    )
)
