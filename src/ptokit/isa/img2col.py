"""TIMG2COL and the registers it reads: patches of a feature map as rows (compute-layout-irregular 1.7)."""

from __future__ import annotations

from ptokit.types.enums import Pipe, SetFmatrixMode

from .table import Attr, Instr, dst, index, instruction, src

_MODE = Attr("fmatrix", SetFmatrixMode, SetFmatrixMode.FMATRIX_A_MANUAL, "fmatrix", "set_fmatrix_mode")

TIMG2COL = instruction(
    Instr(
        "TIMG2COL",
        "timg2col",
        "Rows of dst are the patches of a feature map that the filter meets.",
        (dst(), src(), index("pos_m", optional=True), index("pos_k", optional=True)),
        (_MODE,),
        pipe=Pipe.MTE1,
        implemented=False,
        source="compute-layout-irregular 1.7",
    )
)


def _register(name: str, what: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            f"Set {what} of TIMG2COL from a convolution tile.",
            (src("config"),),
            (_MODE,),
            pipe=Pipe.S,
            implemented=False,
            source="compute-layout-irregular 1.7",
        )
    )


SETFMATRIX = _register("SETFMATRIX", "feature map size and padding")
SET_IMG2COL_RPT = _register("SET_IMG2COL_RPT", "the repetition")
SET_IMG2COL_PADDING = _register("SET_IMG2COL_PADDING", "the padding value")
