"""What the reference assembler refuses of tmov and tmov.fp (assembly 13.6)."""

from __future__ import annotations

from functools import partial

from ..assembler import assembler_rule
from ..site import Site, TileInfo
from .move_checks import Message
from .move_facts import Acc, Bias, Left, Mat, Right, Scaling, Vec, arrow, dual, optional, pair, relu

_PAIRS = {(Mat, Left), (Mat, Right), (Mat, Bias), (Mat, Scaling), (Vec, Vec), (Acc, Mat), (Acc, Vec)}


def _one_parameter(o: Site) -> Message:
    return "fp and a scalar are both given" if o.fp is not None and o.quant is not None else None


def _shape(o: Site) -> Message:
    if (o.src.loc is Mat or o.target.name == "a2a3") and (o.src.rows, o.src.cols) != (o.dst.rows, o.dst.cols):
        return f"src is {o.src.rows}x{o.src.cols}, dst is {o.dst.rows}x{o.dst.cols}"
    return None


def _pair(o: Site) -> Message:
    if pair(o) in _PAIRS or (o.target.name == "a5" and pair(o) == (Vec, Mat)):
        return None
    return f"the assembler does not move {arrow(o)}"


def _mode(o: Site) -> Message:
    if o.mode is not None and pair(o) != (Acc, Vec):
        return f"accToVecMode with a move {arrow(o)}"
    return None


def _acc_only(o: Site) -> Message:
    if o.src.loc is not Acc and (relu(o) or o.quant is not None):
        return f"{'reluPreMode' if relu(o) else 'a scalar'} with a {o.src.loc.text} source"
    return None


def _fp(o: Site) -> Message:
    fp: TileInfo | None = o.fp
    if fp is None:
        return None
    if fp.loc is not Scaling:
        return f"fp is a {fp.loc.text} tile, not scaling"
    if o.src.dtype.name not in ("f32", "i32", "u32"):
        return f"src has element type {o.src.dtype}, not f32 or a 32-bit integer"
    return f"fp with a {o.src.loc.text} source" if o.src.loc is not Acc else None


def _dual(o: Site) -> Message:
    if dual(o) and (o.fp is not None or o.quant is not None):
        return f"{o.mode.text} together with {'fp' if o.fp is not None else 'a scalar'}"
    return None


def _acc_layout(o: Site) -> Message:
    if o.src.loc is Acc and (optional(o, "fp") is not None or relu(o)) and o.src.layout_name != "Nz":
        return f"src is blayout={o.src.blayout.text}, slayout={o.src.slayout.text}; not col_major, row_major"
    return None


def _fractal(o: Site) -> Message:
    if pair(o) == (Acc, Mat) and o.dst.fractal != 512:
        return f"dst has fractal={o.dst.fractal}, not 512"
    return None


def _fp_form(o: Site) -> Message:
    if o.src.dtype.name not in ("f32", "i32", "u32"):
        return f"src has element type {o.src.dtype}, not f32 or a 32-bit integer"
    if o.fp.loc is not Scaling:
        return f"fp is a {o.fp.loc.text} tile, not scaling"
    if o.src.layout_name != "Nz":
        return f"src is blayout={o.src.blayout.text}, slayout={o.src.slayout.text}; not col_major, row_major"
    return None


def _fp_form_a3(o: Site) -> Message:
    if pair(o) != (Acc, Mat):
        return f"{arrow(o)} is not acc to mat"
    if o.dst.layout_name != "Nz":
        return f"dst is blayout={o.dst.blayout.text}, slayout={o.dst.slayout.text}; not col_major, row_major"
    return _fractal(o)


_rule = partial(assembler_rule, source="assembly 13.6")


ASSEMBLER_RULES = (
    _rule("MO-2", "tmov has fp or a scalar, not both.", _one_parameter, "fp alone", "fp and an i64"),
    _rule("MO-3", "tmov from mat, on a2a3 from anywhere, keeps the shape.", _shape, "32x32 both", "32x32 to 16x32"),
    _rule(
        "MO-4",
        "tmov goes mat to left, right, bias, scaling; vec to vec; acc to mat, vec; on a5 also vec to mat.",
        _pair,
        "acc to vec",
        "left to vec",
    ),
    _rule("MO-5", "accToVecMode goes with acc to vec.", _mode, "acc to vec", "acc to mat"),
    _rule("MO-6", "reluPreMode and a scalar go with an acc source.", _acc_only, "acc to mat", "vec to vec"),
    _rule("MO-7", "fp is a scaling tile, for an acc source of 32-bit elements.", _fp, "fp scaling", "fp vec"),
    _rule("MO-8", "fp and a scalar go with single modes.", _dual, "single_mode_vec0", "dual_mode_split_m"),
    _rule("MO-9", "An acc source with fp or ReLU is col_major, row_major.", _acc_layout, "Nz", "Zz"),
    _rule("MO-10", "acc to mat on a2a3: dst has fractal 512.", _fractal, "512", "1024", targets=("a2a3",)),
)
ASSEMBLER_FP_RULES = (
    _rule("MF-1", "tmov.fp: src of 32-bit elements and Nz, fp a scaling tile.", _fp_form, "fp scaling", "fp vec"),
    _rule("MF-2", "tmov.fp on a2a3: acc to mat, dst Nz with fractal 512.", _fp_form_a3, "Nz", "ND", targets=("a2a3",)),
)
