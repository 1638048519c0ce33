"""The cube unit on pointers: from accumulators to global memory, L1 and the unified buffer, converted on the way.

Sizes, strides and counts are the same for all blocks of a launch that run together. A fractal is 512 bytes: 16 rows of
32 bytes in L1, L0A and L0B. An accumulator has blocks of 16 columns, in rows of 64 bytes.

The bits of the control register that ptokit gives a meaning: 45 reads 8-bit floats as hif8 and 46 and 47 round f32
operands in products with the fields of the hardware; 48 and 50 choose how drains narrow; 6 to 8 and 9 to 10 say type
and operation of atomic stores.

The order is that of the fix-pipe: scale, ReLU, conversion, bound (PTOAS e32488c9, micro-isa 16). The arithmetic of the
scales and conversions is that of tiles (`isa.numerics.quant`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import merged
from ptokit.types.dtypes import DTYPES, HALVES, DType, i64, u64
from ptokit.types.enums import Pipe

from ..checks.tile_types import SLOPES
from ..machine import ATOMIC_CONTROL, OPERATION_SHIFT, OPERATIONS, TYPE_SHIFT, TYPES
from ..meaning.expressions import Const, Element, Expr, Held, Reinterpret, Scalar
from ..meaning.fold import ROUNDING
from ..meaning.matrices import FixPipe, Matrix
from ..meaning.matrix_moves import AtPointers
from ..meaning.words import Keep, Lane, Meaning, Move, Write
from ..site import ScalarInfo, Site, known
from ..table import CALLED, Attr, Instr, Kind, Operand, OperandForm, Role, TextForm, grammar, instruction, listed
from .verifier_rules import DRAINS, RELU_WORDS, VERIFIED, unsigned

# Words to define operations of the cube unit on pointers with (assembly 12; PTOAS e32488c9, micro-isa 16).


BLOCK = 32  # bytes: a row of a fractal
ROWS = 16  # of a fractal
FRACTAL = ROWS * BLOCK  # bytes
ACC_COLS = 16  # columns of a block of an accumulator
ACC_BYTES = 4
SOURCE = "PTOAS e32488c9, micro-isa 16"


def at(name: str, space: str, role: Role = Role.IN) -> Operand:
    """A pointer into one of the buffers: gm, l1, l0a, l0b, l0c, fb, bt, ub; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, type=space, also=(Kind.VIEW,))


def numbers(names: str, *, group: str = "", optional: bool = False, type: str = "i64") -> tuple[Operand, ...]:
    """Sizes, strides and counts."""
    return tuple(
        Operand(n, Role.IN, Kind.SCALAR, optional, type=type, form=OperandForm(group=group), agreed=True)
        for n in names.split()
    )


def bit(name: str) -> Operand:
    """A number of one bit."""
    return Operand(name, Role.IN, Kind.SCALAR, type="i1", agreed=True)


def clause(name: str, mnemonic: str = "", *, key: str = "", words: Iterable[str] = ()) -> Attr:
    """A word of the form that may be missing; ``mnemonic`` names its values, ``key`` stands in the generic form."""
    return Attr(name, str, None, key or name, mnemonic or name, words=tuple(words))


def cube(
    text: str,
    summary: str,
    pipe: Pipe,
    operands: tuple[Operand, ...],
    meaning: Meaning,
    attrs: tuple[Attr, ...] = (),
    **more: Any,
) -> Instr:
    """An operation of the cube unit; operations with words of their own have a `form`."""
    rules = merged((*(VERIFIED.get(text, ()) or DRAINS.get(text, ())), *unsigned(operands)))
    more = {"form": TextForm("micro"), "source": SOURCE, "typed": True, "rules": rules, **more}
    instr = Instr(text, text, summary, operands, attrs, pipe=pipe, meaning=meaning, **more)
    return instruction(instr, AtPointers)


def ceil(value: int, unit: int) -> int:
    """`value` divided by the unit, rounded up."""
    return -(-value // unit)


def given(o: Site, names: str) -> list[Any] | None:
    """The numbers of operands, None for absent ones; None for all of them where one is not known yet."""
    infos = [o.operands.get(name) for name in names.split()]
    found = [info.value if isinstance(info, ScalarInfo) else None for info in infos]
    return found if known(*found) else None


def element(dtype: DType) -> DType:
    """The type of single elements: of a pair of 4-bit numbers one of both."""
    return HALVES.get(dtype, dtype)


def in_fractals(name: str, dtype: DType, rows: int, cols: int, pitch: int, **more: Any) -> Matrix:
    """A matrix in columns of fractals, one below the other; ``pitch``: rows of 32 bytes from column to column."""
    return Matrix(name, dtype, rows, cols, BLOCK, dtype.c0, pitch * BLOCK, **more)


def in_accumulator(name: str, dtype: DType, rows: int, cols: int, pitch: int, step: int = 1, **more: Any) -> Matrix:
    """Rows of an accumulator, every `step`-th; ``pitch``: rows from one block of 16 columns to the next."""
    row = ACC_COLS * ACC_BYTES
    return Matrix(name, dtype, rows, cols, step * row, ACC_COLS, pitch * row, **more)


def moved(src: Matrix, dst: Matrix, drain: FixPipe | None = None) -> Move:
    """One matrix becomes another."""
    return Move(Element(src.name), dst.rows, dst.cols, matrices=(src, dst), drain=drain)


# The control register, and registers that copies and drains read (PTOAS e32488c9, lowering of the cube operations).


HIF8_BIT, TF32_BIT, TF32_AWAY_BIT, NOSAT_BIT, KEEP_NAN_BIT = 45, 46, 47, 48, 50


_RESULT = Operand("value", Role.OUT, Kind.SCALAR, type="i64")
_HELD, _GIVEN = Held(ATOMIC_CONTROL, u64), Scalar("value", u64)
_CTRL, _BIT = Scalar("ctrl", i64), Scalar("bit", i64)
_ONE = Const(1, _CTRL) << (_BIT & 63)


def _fields_of(number: Expr, *widths: int) -> tuple[Expr, ...]:
    """Fields of a number, the lowest first."""
    firsts = (sum(widths[:k]) for k in range(len(widths)))
    return tuple((number >> first if first else number) & ((1 << width) - 1) for first, width in zip(firsts, widths))


def _kept(register: str) -> Keep:
    return Keep(register, _GIVEN)


def _two(register: str) -> Keep:
    """A register of 64 bits, given as the lower 40 and the upper 24."""
    ((low,), (high,)) = _fields_of(Scalar("first", u64), 40), _fields_of(Scalar("second", u64), 24)
    return Keep(register, low | high << 40)


def _control(shift: int, width: int, value: Expr) -> Keep:
    """A field of the control register."""
    return Keep(ATOMIC_CONTROL, _HELD & ~(((1 << width) - 1) << shift) & (1 << 64) - 1 | value << shift)


for _text, _what, _names, _value in (
    ("get_ctrl", "Read the control register", "", Reinterpret(_HELD, i64)),
    ("sbitset1", "A number with one more bit set", "ctrl bit", _CTRL | _ONE),
    ("sbitset0", "A number with one bit less", "ctrl bit", _CTRL & ~_ONE),
):
    _word = Lane((Write("value", _value),), lanes=1)
    cube(_text, f"{_what}.", Pipe.S, numbers(_names), _word, produces=(_RESULT,))
for _text, _what, _names, _keep in (
    ("set_ctrl", "Write the control register", "ctrl", Keep(ATOMIC_CONTROL, Scalar("ctrl", u64))),
    ("set_loop3_para", "Counts and strides of the outer loop of later drains", "first second", _two("loop3")),
    ("set_channel_para", "Fields of the channels of later drains", "first second", _two("channel")),
    ("set_mte2_nz_para", "Counts and strides of later copies into fractals", "value", _kept("mte2_nz_para")),
    ("set_pad_val_outtol1", "The value that pads later copies into L1", "value", _kept("pad_val_outtol1")),
    *(
        (f"set_loop{level}_outtol1", f"{what} later copies into L1", "value", Keep(f"loop{level}_outtol1", fields))
        for level, what, fields in (
            ("_size", "Counts of the loops around", _fields_of(_GIVEN, 21, 21)),
            ("1_stride", "Strides of loop 1 around", _fields_of(_GIVEN, 40, 24)),
            ("2_stride", "Strides of loop 2 around", _fields_of(_GIVEN, 40, 24)),
        )
    ),
    ("set_quant_pre", "The scale of later drains", "value", _kept("quant_pre")),
    ("set_relu_alpha", "The slope of later drains", "value", _kept("relu_alpha")),
    ("set_fix_clip_relu", "The bound of later drains", "value", _kept("fix_clip_relu")),
    ("set_fpc", "The place of the tables of later drains", "value", _kept("fpc")),
    # type in the lowest three bits, operation in the next two, as the control register has them
    (
        "set_store_atomic_cfg",
        "How later stores are combined with memory",
        "value",
        _control(TYPE_SHIFT, 5, _GIVEN & 31),
    ),
):
    cube(_text, f"{_what}.", Pipe.S, numbers(_names), _keep)

_NAMES = {DTYPES["f32"]: "f32", DTYPES["i32"]: "s32", DTYPES["i16"]: "s16", DTYPES["i8"]: "s8"}
for _type, _keep in (
    *((op, _control(OPERATION_SHIFT, 2, Const(code, _HELD))) for code, op in enumerate(OPERATIONS)),
    ("none", _control(TYPE_SHIFT, 3, Const(0, _HELD))),
    *((_NAMES.get(dtype, dtype.name), _control(TYPE_SHIFT, 3, Const(code, _HELD))) for code, dtype in TYPES.items()),
):
    cube(f"set_atomic_{_type}", f"How later stores are combined with memory: {_type}.", Pipe.S, (), _keep)


# Rounding of f32 operands of the cube unit (compute-reduce-matrix 11).


rule = family("compute-reduce-matrix 11")

_MODES = ("CAST_ROUND", "CAST_RINT")


MODE_01 = rule("MODE-01", "SETTF32MODE(mode='{CAST_RINT|CAST_FLOOR}')", evidence="static_assert")(
    """
    Operands are rounded with ties away from zero (CAST_ROUND) or to even (CAST_RINT).

    Decision: Both names set the one state of the unit; the target says how many bits it keeps.
    """,
    "mode in _MODES",
    "the mode is {mode}; it is {' or '.join(_MODES)}",
)


def _mode(name: str, summary: str) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (),
            (Attr("enable", bool, True, "enable"), Attr("mode", str, "CAST_ROUND", "mode")),
            pipe=Pipe.S,
            form=grammar(*CALLED),
            rules=(MODE_01,),
            meaning=lambda o: Keep(ROUNDING, o.mode if o.enable else None),
            source="compute-reduce-matrix 11",
            cpp="",
        )
    )


SETHF32MODE = _mode("SETHF32MODE", "Round f32 operands of the cube unit to 11 bits of mantissa (A2/A3), or stop it.")
SETTF32MODE = _mode("SETTF32MODE", "Round f32 operands of the cube unit to 10 bits of mantissa (A5), or stop it.")


# From accumulators to global memory, L1 and the unified buffer: quantised, rectified, bounded and laid out on the
# way.


_U64, _F32 = DTYPES["u64"], DTYPES["f32"]  # a parameter word, and a slope, in the fix-pipe buffer
MODES = (
    *("no_convert f32_f16 qf322hif8_pre_vec qf322hif8_pre_scalar qf322hif8_pre_hybrid_vec").split(),
    *("qf322hif8_pre_hybrid_scalar deqs32_int_vec deqs32_int_scalar req8_vec req8_scalar deqf16_vec").split(),
    *("deqf16_scalar qf322fp8_pre_vec qf322fp8_pre_scalar qf322f32_pre_vec qf322f32_pre_scalar f32_bf16").split(),
    *("qf162b8_pre_vec qf162b8_pre_scalar qf162s4_pre_vec qf162s4_pre_scalar req4_vec req4_scalar").split(),
    *("qf322b8_pre_vec qf322b8_pre_scalar qf322s4_pre_vec qf322s4_pre_scalar deqs16_vec deqs16_scalar").split(),
    *("qf162s16_pre_vec qf162s16_pre_scalar qf322f16_pre_vec qf322f16_pre_scalar qf322bf16_pre_vec").split(),
    *("qf322bf16_pre_scalar qs322bf16_pre_vec qs322bf16_pre_scalar").split(),
)
"""Words of the text by number, as the fields of the hardware have it."""
RELUS = ("no_relu", "normal_relu", "scalar_relu", "vector_relu")
_ATOMIC_TYPES = {"f32": "f32", "f16": "f16", "bf16": "bf16", "s32": "i32", "s16": "i16", "s8": "i8"}


def _drained(
    o: Site,
    sizes: Sequence[int],
    layout: str,
    fix: FixPipe,
    *,
    step: int = 1,
    split: bool = False,
    loop: Sequence[int] = (1, 0, 0),
) -> Move:
    """A drain of m rows and n columns. Strides of the source count rows of 16 elements, of the destination elements.

    ``step``: of nz2dn, from a row of the source to the next one; ``split``: of nz2nz, blocks of 8 columns; ``loop``:
    count, and strides of source and destination.
    """
    m, n, src_stride, dst_stride = sizes
    count, src_step, dst_step = loop
    dtype = o.dst.dtype
    size = dtype.size
    wide = 8 if split else max(ACC_COLS, BLOCK // size)
    along, block = {"nz2nd": (dst_stride * size, 0), "nz2dn": (size, 1), "nz2nz": (wide * size, wide)}[layout]
    row = ACC_COLS * ACC_BYTES
    step = step if layout == "nz2dn" else 1
    cols = ceil(n, ACC_COLS) * ACC_COLS
    src = in_accumulator("src", o.src.dtype, count * m, cols, src_stride, step, band=m, band_step=src_step * row)
    dst = Matrix("dst", dtype, count * m, n, along, block, dst_stride * size, m, dst_step * size)
    return moved(src, dst, fix)


def _table(name: str, dtype: DType, n: int, **place: Any) -> Matrix:
    """Parameters of `n` columns."""
    return Matrix(name, dtype, 1, n, 0, **place)


# ------------------------------------------------------------------- clauses


def _clauses(o: Site) -> Move | None:
    """A drain with what the clauses say; other numbers mean nothing here."""
    found = given(o, "m n src_stride dst_stride quant relu clip layout_stride loop_count loop_src loop_dst sub_core")
    if found is None:
        return None
    (*sizes, quant, relu, clip, stride, count, src_step, dst_step, core), n = found, found[1]
    mode, rectify = o.quant_mode or "no_convert", o.relu_mode or "no_relu"
    word = quant if isinstance(quant, int) else int(np.float32(quant or 0).view(np.uint32))
    kind = o.attrs.get("atomic_element")
    fix = FixPipe(
        mode,
        _table("quant", _U64, n) if mode.endswith("_vec") else word,
        rectify,
        _table("relu", _F32, n) if rectify == "vector_relu" else relu,
        clip,
        o.saturation,
        o.nan is not None,
        None if kind is None else (o.atomic_op or "add", DTYPES[_ATOMIC_TYPES[kind]]),
        o.attrs.get("dst_mode") or "",
        core or 0,
    )
    layout = o.conversion or "nz2nd"
    loop = (1, 0, 0) if count is None else (count, src_step, dst_step)
    step = 1 if stride is None else stride
    return _drained(o, sizes, layout, fix, step=step, split=bool(stride), loop=loop)


# -------------------------------------------------------------------- fields


def _fields(o: Site) -> Move | None:
    """A drain from the fields of the hardware and the registers it reads."""
    found = given(o, " ".join(operand.name for operand in o.instr.operands[2:]))
    if found is None or o.registers is None:
        return None
    (xm, xt), held = found, o.registers.get
    ctrl, fpc, loop3 = int(held(ATOMIC_CONTROL, 0)), held("fpc", 0), held("loop3", 1)
    mode = MODES[min(xt >> 34 & 31 | (xt >> 29 & 1) << 5, len(MODES) - 1)]
    relu = RELUS[min(xt >> 39 & 7, len(RELUS) - 1)]
    layout = "nz2nd" if xt >> 43 & 1 else "nz2dn" if xt >> 62 & 1 else "nz2nz"
    bound = held("fix_clip_relu", 0) & 0xFFFF
    clip = np.uint16(bound).view(np.float16 if o.dst.dtype.is_float else np.int16)
    alpha = float(np.uint32(held("relu_alpha", 0) & 0xFFFFFFFF).view(np.float32))
    n = xm >> 4 & 0xFFF
    words = _table("words", _U64, n, space="fb", address=(fpc >> 8 & 0xFF) << 7)
    slopes = _table("slopes", _F32, n, space="fb", address=SLOPES + ((fpc & 0xFF) << 6))
    to_ub = o.instr.operands[1].space == "ub"
    fix = FixPipe(
        mode,
        words if mode.endswith("_vec") else held("quant_pre", 0),
        relu,
        slopes if relu == "vector_relu" else alpha,
        float(clip) if xt >> 30 & 3 else None,
        "nosat" if ctrl >> NOSAT_BIT & 1 else "sat" if ctrl >> KEEP_NAN_BIT & 1 else None,
        bool(ctrl >> KEEP_NAN_BIT & 1),
        halves=("", "split_m", "split_n", "")[xt >> 16 & 3] if to_ub else "",
        sub=xt >> 18 & 1 if to_ub else 0,
    )
    sizes = (xm >> 16 & 0xFFFF, n, xt & 0xFFFF, xm >> 32 & 0xFFFFFFFF)
    step = max(1, held("channel", 1 << 48) >> 48 & 0xFFFF)
    loop = (loop3 & 0xFFFF, loop3 >> 16 & 0xFFFF, loop3 >> 32) if layout != "nz2nz" else (1, 0, 0)
    return _drained(o, sizes, layout, fix, step=step, split=bool(xt >> 42 & 1), loop=loop)


_DRAIN = (
    Operand(
        "quant", Role.IN, Kind.SCALAR, optional=True, also=(Kind.PTR,), form=OperandForm(group="pre_quant"), agreed=True
    ),
    Operand(
        "relu", Role.IN, Kind.SCALAR, optional=True, also=(Kind.PTR,), form=OperandForm(group="pre_relu"), agreed=True
    ),
    Operand("clip", Role.IN, Kind.SCALAR, optional=True, form=OperandForm(group="pre_relu"), agreed=True),
    *numbers("layout_stride", group="layout", optional=True),
    *numbers("loop_count loop_src loop_dst", group="loop3", optional=True),
)
_WORDS = (
    clause("unit_flag", "drain_unit_flag"),
    clause("quant_mode", "pre_quant_mode", key="pre_quant_mode", words=MODES),
    clause("relu_mode", "pre_relu_mode", key="pre_relu_mode", words=RELU_WORDS),
    clause("conversion", "drain_conversion", key="mode"),
    clause("saturation", "saturation_word", key="sat_mode"),
    clause("nan", "saturation_nan"),
    clause("atomic_element", "atomic_element", key="atomic_type", words=("f32", "f16", "bf16", "s32", "s16", "s8")),
    clause("atomic_op", "atomic_op"),
)


def _form(sizes: str, *, cores: bool) -> str:
    """Operands, clauses, types. ``cores``: it says to which vector core it goes."""
    core = ("<? , dst_mode ~( <? %sub_core ?> <? W(dst_mode) ?> ) ?>", "<? , T(sub_core) ?>") if cores else ("", "")
    clauses = (
        "<? , unit_flag ~( W(unit_flag) ) ?> <? , pre_quant ~( %quant , mode = W(quant_mode) ) ?> "
        "<? , pre_relu ~( <? %relu , ?> mode = W(relu_mode) <? , clip = %clip ?> ) ?> "
        "<? , W(conversion) <? ~( %layout_stride ) ?> ?> <? , loop3 ~( %loop_count , %loop_src , %loop_dst ) ?> "
        "<? , W(saturation) <? ~( W(nan) ) ?> ?> <? , atomic ~( type = W(atomic_element) , op = W(atomic_op) ) ?> {}"
    )
    types = (
        "<? , T(quant) ?> <? , T(relu) ?> <? , T(clip) ?> <? , T(layout_stride) ?> "
        "<? , T(loop_count) , T(loop_src) , T(loop_dst) ?>"
    )
    names = f"src dst {sizes}"
    return f"{listed(names)} {core[0]} {clauses} : {listed(names, 'T({})')} {core[1]} {types}"


for _space, _what, _sizes in (
    ("gm", "global memory", "m n src_stride dst_stride sid l2_cache_ctl"),
    ("ub", "the unified buffer", "m n src_stride dst_stride"),
    ("l1", "L1", "m n src_stride dst_stride"),
):
    cube(
        f"mte_l0c_{_space}",
        f"Drain the accumulator into {_what}.",
        Pipe.FIX,
        (
            at("src", "l0c"),
            at("dst", _space, Role.OUT),
            *numbers(_sizes),
            *(numbers("sub_core", optional=True) if _space == "ub" else ()),
            *_DRAIN,
        ),
        _clauses,
        (*((clause("dst_mode"),) if _space == "ub" else ()), *_WORDS),
        form=grammar(_form(_sizes, cores=_space == "ub")),
        decision="Without a layout, rows are stored one after the other (nz2nd), as the assembler does it.",
    )
for _space, _what, _dst, _names in (
    ("gm", "global memory", "gm", "xm xt"),
    ("cbuf", "L1", "l1", "config0 config1"),
    ("ub", "the unified buffer", "ub", "config0 config1"),
):
    cube(
        f"copy_matrix_cc_to_{_space}",
        f"Drain the accumulator into {_what}, with the fields of the hardware.",
        Pipe.FIX,
        (at("src", "l0c"), at("dst", _dst, Role.OUT), *numbers(_names)),
        _fields,
        decision="Fields are numbered as the assembler numbers the words of the text.",
    )
