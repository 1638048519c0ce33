"""Products of block-scaled tiles, where their scales lie (compute-reduce-matrix 12), and products of register level: of
operands in L0A and L0B into an accumulator, with the meaning that products of tiles have, at pointers.

The accumulator is written in whole fractals. What it holds beyond the rows and columns of the product is of no use.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.diagnostics import Rule, family
from ptokit.types.dtypes import DTYPES, DType, hif4
from ptokit.types.enums import Pipe, TileType

from ..checks.compiling import Message
from ..checks.tiles import A5_ONLY, missing
from ..machine import ATOMIC_CONTROL, Machine, TileOperand
from ..meaning.expressions import OWN, ROW, Index
from ..meaning.matrices import Matrix
from ..meaning.words import Contract, Meaning
from ..operands import types_of
from ..site import Site, TileInfo, known
from ..table import TENSOR, Instr, Operand, Role, TextForm, dst, grammar, instruction, listed, scales, src
from .copies import ADDRESS_SHIFT
from .drains import (
    BLOCK,
    HIF8_BIT,
    ROWS,
    TF32_AWAY_BIT,
    TF32_BIT,
    at,
    ceil,
    clause,
    cube,
    element,
    given,
    in_accumulator,
    in_fractals,
    numbers,
)
from .matmul import BIAS, LIMIT, LOCATIONS, PHASE, other_accumulator, row_of_blocks, with_phase
from .matmul_text_rules import MX_SCALE, scaled

# Rules of block-scaled products (compute-reduce-matrix 12).


GROUP = 32
_FURTHER = {
    "a6": (
        *(("hif4", "hif4"), ("e4m3", "hif4"), ("f16", "hif4"), ("bf16", "hif4")),
        *(("e4m3", "e2m1"), ("e2m1", "e4m3"), ("f16", "e2m1"), ("bf16", "e2m1")),
    )
}
"""Left and right element types of scaled products beside those of equal width, by target."""
_rule = family("compute-reduce-matrix 12")
_A5 = ("cpu", "a5")
_FP8, _FP4 = types_of("e4m3 e5m2"), types_of("e2m1 e1m2")
_SCALES = {"lhs_scale": TileType.ScaleLeft, "rhs_scale": TileType.ScaleRight}


@_rule(
    "MXM-A5-01",
    "TMATMUL_MX(TileAcc(f32, 16, 32), TileLeft(e4m3, 16, 64), TileLeftScale({e8m0|u8}, 16, 2), "
    "TileRight(e5m2, 64, 32), TileRightScale(e8m0, 2, 32))",
    targets=_A5,
    evidence="static_assert",
)
def TYPES(o: Site) -> Message:
    """Operands are both fp8 or both fp4, on a6 also others; scales are e8m0, on a6 also u8; the accumulator is f32.

    Decision: An operand of 16 bits has no scales, as the library's tests for a6 have it: what lies there has no effect.
    """
    a, b = o.lhs.dtype, o.rhs.dtype
    further = o.target.of(_FURTHER) or ()
    if not ((a in _FP8 and b in _FP8) or (a in _FP4 and b in _FP4) or (a.name, b.name) in further):
        more = "".join(f", {left} x {right}" for left, right in further)
        return f"{a} x {b}: both are fp8 (e4m3, e5m2) or both fp4 (e2m1, e1m2){more}"
    if o.dst.dtype.name != "f32":
        return f"the accumulator has element type {o.dst.dtype}; it must be f32"
    for name in _SCALES:
        t = o.operands[name]
        kinds = ("e8m0", "u8") if further else ("e8m0",)
        if isinstance(t, TileInfo) and t.dtype.name not in kinds and (further or not o.text):
            return f"{o:{name}} has element type {t.dtype}; scales are {' or '.join(kinds)}"
    return None


INNER = _rule(
    "MXM-A5-02",
    "TMATMUL_MX(TileAcc(f32, 16, 32), TileLeft(e4m3, 16, {64|32}), TileLeftScale(e8m0, 16, 2), "
    "TileRight(e5m2, 64, 32), TileRightScale(e8m0, 2, 32))",
    targets=_A5,
    evidence="static_assert",
)(
    "The left tile has a multiple of 64 columns.",
    "lhs.cols % 64 == 0",
    "the left tile has {lhs.cols} columns; they must be a multiple of 64",
)


@_rule(
    "MXM-A5-03",
    "TMATMUL_MX(TileAcc(f32, 16, 32), TileLeft(e4m3, 16, 64), TileLeftScale(e8m0, 16, 2), "
    "TileRight(e5m2, 64, 32), TileRightScale(e8m0, {2|4}, 32))",
    targets=_A5,
    evidence="static_assert",
)
def LAYOUTS(o: Site) -> Message:
    """Left is Nz, right Zn, the accumulator Nz; scales are Zz and Nn of 32 bytes, one per 32 elements along K.

    Of hif4 there are 4 bytes for each 64 elements: Ea, Eb and two of Ec. A tile may hold those of the valid
    elements alone: the library does not look at its size, and the hardware counts along K.

    Decision: `.pto` text may also write a scaling tile as large as the operand (MXM-AS-01).
    """
    for name, wanted in (("lhs", "Nz"), ("rhs", "Zn"), ("dst", "Nz")):
        t = o.operands[name]
        if isinstance(t, TileInfo) and t.layout_name != wanted:
            return f"{o:{name}} is {t.layout_name}, it must be {wanted}"
    for name, loc in _SCALES.items():
        t = o.operands[name]
        if not isinstance(t, TileInfo) or (o.text and t.loc in (TileType.Scaling, loc)):
            continue  # the assembler's spelling: a scaling tile as large as the operand
        if t.loc is not loc:
            return f"{o:{name}} is a {t.loc.text} tile, it must be {loc.text}"
        left = loc is TileType.ScaleLeft
        if t.layout_name != ("Zz" if left else "Nn") or t.fractal != GROUP:
            return f"{o:{name}} is {t.layout_name}/{t.fractal}, it must be {'Zz' if left else 'Nn'}/{GROUP}"
        of: TileInfo = o.lhs if left else o.rhs
        bytes_each = 2 if of.dtype is hif4 else 1
        lines, inner = (of.rows, of.cols) if left else (of.cols, of.rows)
        have = (t.rows, t.cols) if left else (t.cols, t.rows)
        shape = (lines, inner // GROUP * bytes_each)
        of_valid = (lines, -(-o.lhs.vc // (2 * GROUP)) * 2 * bytes_each) if known(o.lhs.vc) else shape
        if have not in (shape, of_valid):
            shape = shape if left else shape[::-1]
            return f"{o:{name}} is {t.rows}x{t.cols}; the operand takes {shape[0]}x{shape[1]} scales"
    return None


@_rule(
    "MXM-A5-04",
    "TMATMUL_MX(TileAcc(f32, {16, 32|1024, 1024}), TileLeft(e4m3, 16, 64), TileLeftScale(e8m0, 16, 2), "
    "TileRight(e5m2, 64, 32), TileRightScale(e8m0, 2, 32))",
    targets=_A5,
    evidence="static_assert device",
)
def SIZES(o: Site) -> Message:
    """The accumulator fits L0C, M, K and N lie in 1..4095, and the right tile has K valid rows."""
    need, have = o.dst.spec.nbytes, o.target.capacity.get(TileType.Acc, 0)
    if need > have:
        return f"the accumulator has {need} bytes; L0C has {have}"
    for name, size in (("M", o.lhs.vr), ("K", o.lhs.vc), ("N", o.rhs.vc)):
        if size < 1 or size > LIMIT:
            return f"{name} = {size} is outside 1..{LIMIT}"
    if o.rhs.vr < o.lhs.vc:
        return f"the right tile has {o.rhs.vr} valid rows, the left one {o.lhs.vc} valid columns"
    return None


@_rule(
    "MXM-A5-06",
    """
        TMATMUL_MX(TileAcc(f32, 16, 32, addr=0), TileLeft(e4m3, 16, 64, addr=4096), TileLeftScale(e8m0, 16, 2,
            addr={256|0}), TileRight(e5m2, 64, 32, addr=0), TileRightScale(e8m0, 2, 32, addr=0))
    """,
    evidence="device",
)
def ADDRESSES(o: Site) -> Message:
    """Scales lie at a sixteenth of the address of what they scale.

    The instruction has no address of its own for them.
    """
    for name in ("lhs", "rhs"):
        tile, scale = o.operands[name], o.operands[f"{name}_scale"]
        if not isinstance(tile, TileInfo) or not isinstance(scale, TileInfo) or not known(tile.addr, scale.addr):
            continue
        if scale.addr != tile.addr // 16:
            return (
                f"{o:{name}} lies at {tile.addr:#x}, so its scales are read at {tile.addr // 16:#x}, not "
                f"{scale.addr:#x}"
            )
    return None


ONE_ROW = _rule(
    "MXM-A5-08",
    "TGEMV_MX(TileAcc(f32, {1, 32), TileLeft(e4m3, 1, 512, valid_col=64), "
    "TileLeftScale(e8m0, 1, 16|16, 32), TileLeft(e4m3, 16, 64), TileLeftScale(e8m0, 16, 2}), "
    "TileRight(e5m2, 64, 32), TileRightScale(e8m0, 2, 32))",
    targets=_A5,
    evidence="static_assert",
)(
    "The left tile of tgemv.mx is one row of whole fractals of 512 bytes.",
    "lhs.vr == 1",
    "the left tile has {lhs.vr} valid rows; tgemv.mx takes one",
    lambda o: row_of_blocks(o) if not o.text else None,
)

SAME_ACC = _rule(
    "MXM-A5-07",
    "{t = TileAcc(f32, 16, 32); TMATMUL_MX_ACC(t, t|TMATMUL_MX_ACC(TileAcc(f32, 16, 32), "
    "TileAcc(f32, 16, 32)}, TileLeft(e4m3, 16, 64), TileLeftScale(e8m0, 16, 2), TileRight(e5m2, 64, 32), "
    "TileRightScale(e8m0, 2, 32))",
    what="The scaled product accumulates in place: the input accumulator is the result tile.",
    evidence="device",
)(other_accumulator)
ABSENT = _rule(
    "MXM-A3-01",
    "TMATMUL{(TileAcc(f32, 16, 32), Tile(Left, f16, 16, 64, slayout=SLayout.RowMajor), "
    "TileRight(f16, 64, 32))|_MX(TileAcc(f32, 16, 32), Tile(Left, i8, 16, 64, slayout=SLayout.RowMajor), "
    "Tile(Vec, u8, 16, 32), TileRight(i8, 64, 32), Tile(Vec, u8, 2, 32))}",
    what="Block-scaled products exist on a5.",
    decision="The assembler refuses only tgemv.mx; no implementation exists for either.",
    evidence="static_assert",
)(missing)


def rules_of(name: str) -> tuple[Rule, ...]:
    """The rules of one of the products."""
    found = [LOCATIONS, TYPES, INNER, LAYOUTS, SIZES, ADDRESSES, ABSENT]
    if name.startswith("TGEMV"):
        found.append(ONE_ROW)
    if name.endswith("_ACC"):
        found.append(SAME_ACC)
    if name.endswith("_BIAS"):
        found.append(BIAS)
    return tuple(found)


@_rule(
    "MXM-SA-01",
    "TGET_SCALE_ADDR(TileLeftScale(e8m0, 16, 2), {TileLeft|TileAcc}({e4m3|f32}, 16, {64|32}))",
    evidence="static_assert",
)
def MXM_SA_01(o: Site) -> Message:
    """Scales belong to a left or right tile."""
    if o.src.loc not in (TileType.Left, TileType.Right):
        return f"{o:src} is a {o.src.loc.text} tile; scales belong to a left or right tile"
    wanted = _SCALES["lhs_scale" if o.src.loc is TileType.Left else "rhs_scale"]
    if o.dst.loc not in (wanted, TileType.Scaling):
        place = "scaling" if o.text else wanted.text
        return f"{o:dst} is a {o.dst.loc.text} tile; the scales of a {o.src.loc.text} tile lie in {place}"
    return None


ADDRESS_RULES = (
    MXM_SA_01,
    ABSENT,
)


# Products of block-scaled tiles, and where their scales lie (compute-reduce-matrix 12).


_SCALED = (
    src("lhs"),
    scales("lhs_scale", TileType.ScaleLeft),
    src("rhs"),
    scales("rhs_scale", TileType.ScaleRight),
)


def _contraction(start: str = "", at: Index = OWN) -> Contract:
    return Contract("lhs", "rhs", start, at, "lhs_scale", "rhs_scale")


def _product(name: str, text: str, summary: str, meaning: Contract, *operands: Operand) -> Instr:
    return instruction(
        Instr(
            name,
            text,
            summary,
            (dst(), *operands),
            (PHASE,),
            pipe=Pipe.M,
            rules=(*rules_of(name), *scaled(name)),
            meaning=meaning,
            form=TextForm(carried=(TENSOR,)),
            cpp=with_phase(name.removesuffix("_ACC").removesuffix("_BIAS"), (dst(), *operands)),
            source="compute-reduce-matrix 12",
        )
    )


for _name, _text, _what in (("TMATMUL_MX", "tmatmul.mx", "Matrix"), ("TGEMV_MX", "tgemv.mx", "Row by matrix")):
    _summary = f"{_what} product of block-scaled tiles"
    _product(_name, _text, f"{_summary}.", _contraction(), *_SCALED)
    _product(
        f"{_name}_ACC",
        f"{_text}.acc",
        f"{_summary}, added to an accumulator.",
        _contraction("acc"),
        src("acc"),
        *_SCALED,
    )
    _product(
        f"{_name}_BIAS", f"{_text}.bias", f"{_summary}, plus a bias.", _contraction("bias", ROW), *_SCALED, src("bias")
    )


def _scale_address(m: Machine, dst: TileOperand, src: TileOperand) -> None:
    """The scale tile lies at a sixteenth of the operand's address; without addresses it stays where it is."""
    m.bind_scales(dst, src)


TGET_SCALE_ADDR = instruction(
    Instr(
        "TGET_SCALE_ADDR",
        "tget_scale_addr",
        "Bind a scale tile to the address that belongs to an operand of the scaled product.",
        (dst(), src()),
        pipe=Pipe.S,
        form=TextForm(spellings=("get_scale_addr",)),
        rules=(*ADDRESS_RULES, A5_ONLY, MX_SCALE),
        run=_scale_address,
        footprint=lambda o: iter(()),
        source="compute-reduce-matrix 12",
    )
)


GROUPS = 2  # scales of a row in a piece of 32 bytes
_SCALE = DTYPES["e8m0"]


def _scales(name: str, rows: int, k: int, *, turned: bool) -> Matrix:
    """Scales of an operand: rows, and one for each 32 elements along K."""
    groups = ceil(k, BLOCK)
    return Matrix(
        f"{name} scales",
        _SCALE,
        ceil(rows, ROWS) * ROWS,
        groups,
        GROUPS,
        GROUPS,
        BLOCK,
        ROWS,
        ceil(groups, GROUPS) * BLOCK,
        turned=turned,
        needed=(0, 0),
        scales=ADDRESS_SHIFT,
        pointer=name,
    )


def _mad_product(
    o: Site,
    sizes: Sequence[int],
    start: str,
    types: tuple[DType, DType],
    *,
    vector: bool,
    rounding: str,
    block_scaled: bool,
    finite: bool = False,
) -> Contract:
    """Both operands and the accumulator have as many rows and columns as whole fractals; a vector is one row.

    ``sizes``: rows, columns, and elements along K.
    """
    m, n, k = sizes
    high, wide = (ceil(size, ROWS) * ROWS for size in (m, n))
    left = in_fractals("lhs", types[0], high, k, high, needed=(m, k))
    right = in_fractals("rhs", types[1], wide, k, wide, needed=(n, k), turned=True)
    dst = in_accumulator("dst", o.dst.dtype, 1 if vector else high, wide, high, needed=(m, wide))
    matrices = [Matrix("lhs", types[0], 1, k, 0) if vector else left, right, dst]
    if start == "bias":
        matrices.append(Matrix("bias", o.bias.dtype, 1, n, 0))
    scales = ("lhs scales", "rhs scales") if block_scaled else ("", "")
    if block_scaled:
        row = Matrix("lhs scales", _SCALE, 1, ceil(k, BLOCK), 0, scales=ADDRESS_SHIFT, pointer="lhs")
        matrices += [row if vector else _scales("lhs", m, k, turned=False), _scales("rhs", n, k, turned=True)]
    return Contract(
        "lhs",
        "rhs",
        start,
        left_scale=scales[0],
        right_scale=scales[1],
        rounding=rounding,
        matrices=tuple(matrices),
        finite=finite,
    )


_WORDS = {"round_even": "CAST_RINT", "round_away": "CAST_ROUND"}


def _mad(start: str, *, block_scaled: bool) -> Meaning:
    def meaning(o: Site) -> Contract | None:
        sizes = given(o, "m n k")
        if sizes is None:
            return None
        return _mad_product(
            o,
            sizes,
            start,
            (element(o.lhs.dtype), element(o.rhs.dtype)),
            vector=sizes[0] == 1 and not o.disable_gemv,
            rounding=_WORDS.get(o.tf32_mode, ""),
            block_scaled=block_scaled,
            finite=o.saturation == "sat",
        )

    return meaning


def _raw(*, has_bias: bool, block_scaled: bool) -> Meaning:
    """The fields of the hardware: sizes, and in the highest bits what the sums start with."""

    def meaning(o: Site) -> Contract | None:
        fields = given(o, "xt")
        if fields is None or o.registers is None:
            return None
        (xt,), ctrl = fields, int(o.registers.get(ATOMIC_CONTROL, 0))
        rounding = ""
        if ctrl >> TF32_BIT & 1:
            rounding = "CAST_ROUND" if ctrl >> TF32_AWAY_BIT & 1 else "CAST_RINT"
        types = o.lhs.dtype, o.rhs.dtype
        if ctrl >> HIF8_BIT & 1 and types[0].size == 1 and types[0].is_float:
            types = (DTYPES["hif8"],) * 2
        m, k, n = xt & 0xFFF, xt >> 12 & 0xFFF, xt >> 24 & 0xFFF
        return _mad_product(
            o,
            (m, n, k),
            "" if xt >> 63 & 1 else "bias" if has_bias and xt >> 62 & 1 else "dst",
            (element(types[0]), element(types[1])),
            vector=m == 1 and not xt >> 61 & 1,
            rounding=rounding,
            block_scaled=block_scaled,
        )

    return meaning


_FLAGS = (
    clause("unit_flag", key="unit_flag_mode"),
    clause("disable_gemv"),
    clause("tf32_mode"),
    clause("saturation", "saturation_word", key="sat_mode"),
    clause("n_dir"),
)


def _form(bias: bool) -> str:
    """Operands, words, types."""
    names = f"lhs rhs dst {'bias ' if bias else ''}m n k"
    words = (
        "<? unit_flag ~( W(unit_flag) ) ?> <? W(disable_gemv) ?> <? W(saturation) ?> "
        "<? tf32_mode ~( W(tf32_mode) ) ?> <? W(n_dir) ?> {}"
    )
    return f"{listed(names)} {words} : {listed(names, 'T({})')}"


for _mad_name, _mad_what, _from in (
    ("mad", "Product of two matrices", ""),
    ("mad_acc", "Product of two matrices, added to the accumulator", "dst"),
    ("mad_bias", "Product of two matrices, plus a bias", "bias"),
    ("mad_mx", "Product of two block-scaled matrices", ""),
    ("mad_mx_acc", "Product of two block-scaled matrices, added to the accumulator", "dst"),
    ("mad_mx_bias", "Product of two block-scaled matrices, plus a bias", "bias"),
):
    _bias = (at("bias", "bt"),) if _from == "bias" else ()
    _ends = at("lhs", "l0a"), at("rhs", "l0b")
    cube(
        _mad_name,
        f"{_mad_what}.",
        Pipe.M,
        (*_ends, at("dst", "l0c", Role.INOUT if _from == "dst" else Role.OUT), *_bias, *numbers("m n k")),
        _mad(_from, block_scaled="mx" in _mad_name),
        _FLAGS,
        form=grammar(_form(bool(_bias))),
    )
    if _from != "dst":
        cube(
            f"{_mad_name}_raw",
            f"{_mad_what}, with the fields of the hardware.",
            Pipe.M,
            (*_ends, at("dst", "l0c", Role.INOUT), *_bias, *numbers("xt")),
            _raw(has_bias=bool(_bias), block_scaled="mx" in _mad_name),
        )
