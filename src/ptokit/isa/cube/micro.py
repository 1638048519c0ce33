"""Operations of the cube unit on pointers: copies between its buffers, products, drains of the accumulator.

They are read, checked for their operands and printed; nothing executes them (assembly 12).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptokit.types.enums import Pipe

from ..table import Attr, Instr, Kind, Operand, Role, instruction


def at(name: str, space: str, role: Role = Role.IN) -> Operand:
    """A pointer into one of the buffers: gm, l1, l0a, l0b, l0c, fb, bt, ub; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, space=space, or_view=True)


def numbers(names: str, *, group: str = "", optional: bool = False) -> tuple[Operand, ...]:
    """Sizes, strides and counts, of type i64."""
    return tuple(Operand(n, Role.IN, Kind.SCALAR, optional, type="i64", group=group) for n in names.split())


def clause(name: str, mnemonic: str = "") -> Attr:
    """A word of the form that may be missing; ``mnemonic`` names its values."""
    return Attr(name, str, None, name, mnemonic or name)


def cube(
    text: str, summary: str, pipe: Pipe, operands: tuple[Operand, ...], attrs: tuple[Attr, ...] = (), **more: Any
) -> Instr:
    """An operation of the cube unit; operations with words of their own name a form in ``syntax``."""
    more.setdefault("syntax", "micro")
    return instruction(
        Instr(text, text, summary, operands, attrs, pipe=pipe, implemented=False, source="assembly 12", **more)
    )


# --------------------------------------------------------------------- copies

_BURST = (*numbers("len_burst"), *numbers("n_burst src_stride dst_stride", group="nburst"))
_LOOPS = Operand("loops", Role.IN, Kind.SCALAR, optional=True, variadic=True, type="i64", group="loop", size=3)
_BLOCKS = "sid n_burst len_burst src_gap dst_gap"

cube(
    "mte_gm_l1",
    "Copy rows of global memory into L1.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *_BURST, _LOOPS),
)
for _space, _what, _pipe, _more in (
    ("ub", "the unified buffer", Pipe.MTE1, (_LOOPS,)),
    ("fb", "the fix-pipe buffer", Pipe.FIX, ()),  # memory-model-and-sync 2
    ("bt", "the bias table", Pipe.MTE1, ()),
):
    cube(
        f"mte_l1_{_space}",
        f"Copy rows of L1 into {_what}.",
        _pipe,
        (at("src", "l1"), at("dst", _space, Role.OUT), *_BURST, *_more),
    )
cube(
    "copy_gm_to_cbuf",
    "Copy blocks of global memory into L1.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *numbers("n_burst len_burst src_stride dst_stride")),
)
cube(
    "copy_ubuf_to_cbuf",
    "Copy blocks of the unified buffer into L1.",
    Pipe.MTE3,
    (at("src", "ub"), at("dst", "l1", Role.OUT), *numbers(_BLOCKS)),
)
cube(
    "copy_cbuf_to_ubuf",
    "Copy blocks of L1 into the unified buffer.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *numbers(_BLOCKS)),
)
_TRANSPOSE = (Attr("transpose", bool, None, "transpose"),)
_STEPS = "m_start k_start m_step k_step src_stride dst_stride"
_MX_STEPS = "x_start y_start x_step y_step src_stride dst_stride"
for _side, _what, _shape in (("a", "left", "m k"), ("b", "right", "k n")):
    _ends = at("src", "l1"), at("dst", f"l0{_side}", Role.OUT)
    for _suffix, _moved, _steps in (("", f"the {_what} operand", _STEPS), ("_mx", f"scales of the {_what}", _MX_STEPS)):
        cube(
            f"mte_l1_l0{_side}{_suffix}",
            f"Copy {_moved} of a product from L1: a shape, and where it begins, or the fields of the hardware.",
            Pipe.MTE1,
            (*_ends, *numbers(f"{_shape} start_row start_col {_steps}", optional=True)),
            _TRANSPOSE,
            forms=(
                f"src dst {_shape}",
                f"src dst {_shape} start_row start_col",
                f"src dst {_steps}",
            ),
        )
    cube(
        f"load_cbuf_to_c{_side}",
        f"Copy fractals of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(_STEPS)),
        _TRANSPOSE,
    )
    cube(
        f"load_cbuf_to_c{_side}_s4",
        f"Copy fractals of 4-bit elements of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(f"{_STEPS} transpose")),
    )
    cube(
        f"load_cbuf_to_c{_side}_mx",
        f"Copy scales of L1 to the {_what} operand.",
        Pipe.MTE1,
        (*_ends, *numbers(_MX_STEPS)),
    )
_MULTI = "sid loop1_src_stride l2_cache_ctrl n_value d_value loop4_src_stride"
for _layout in ("nd", "dn"):
    cube(
        f"copy_gm_to_cbuf_multi_{_layout}2nz",
        f"Copy matrices of layout {_layout.upper()} of global memory into the fractals of L1.",
        Pipe.MTE2,
        (
            at("src", "gm"),
            at("dst", "l1", Role.OUT),
            *numbers(_MULTI),
            Operand("smallc0_en", Role.IN, Kind.SCALAR, type="i1"),
        ),
    )
cube(
    "copy_cbuf_to_bt",
    "Copy blocks of L1 into the bias table.",
    Pipe.MTE1,
    (
        at("src", "l1"),
        at("dst", "bt", Role.OUT),
        Operand("convert", Role.IN, Kind.SCALAR, type="i1"),
        *numbers("n_burst len_burst src_gap dst_gap"),
    ),
)
cube(
    "copy_cbuf_to_fbuf",
    "Copy blocks of L1 into the fix-pipe buffer.",
    Pipe.FIX,
    (at("src", "l1"), at("dst", "fb", Role.OUT), *numbers("n_burst len_burst src_gap dst_gap")),
)
for _space, _what, _dst, _fields in (
    ("gm", "global memory", "gm", "xm xt"),
    ("cbuf", "L1", "l1", "config0 config1"),
    ("ub", "the unified buffer", "ub", "config0 config1"),
):
    cube(
        f"copy_matrix_cc_to_{_space}",
        f"Drain the accumulator into {_what}, with the fields of the hardware.",
        Pipe.FIX,
        (at("src", "l0c"), at("dst", _dst, Role.OUT), *numbers(_fields)),
    )
for _name, _fields in (
    ("raw_fill_l1", "dst_addr value repeat_times block_num dst_gap"),
    ("create_cbuf_matrix", "value repeat_times block_num dst_gap"),
):
    cube(
        _name,
        "Fill blocks of L1 with a word.",
        Pipe.MTE2,
        (at("dst", "l1", Role.OUT), *(replace(n, type="") for n in numbers(_fields))),
        (Attr("fill_word_bits", int, None, "fill_word_bits", long=True),),
    )
_FRACTAL = (
    *numbers("shape0 shape1"),
    *numbers("src_stride"),
    *numbers("src_stride2", optional=True),
    *numbers("group0 group1 group2 group3"),
    *numbers("ctrl"),
    Operand("ctrl_flag", Role.IN, Kind.SCALAR, type="i1"),
)
cube(
    "mte_gm_l1_frac",
    "Copy a matrix of global memory into the fractals of L1.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *_FRACTAL),
    (clause("conversion", "frac_conversion"),),
    syntax="mte_gm_l1_frac",
)

# ------------------------------------------------------------------- products

_FLAGS = (
    clause("unit_flag"),
    clause("disable_gemv"),
    clause("tf32_mode"),
    clause("saturation", "saturation_word"),
    clause("n_dir"),
)
for _name, _what, _bias in (
    ("mad", "Product of two matrices", False),
    ("mad_acc", "Product of two matrices, added to the accumulator", False),
    ("mad_bias", "Product of two matrices, plus a bias", True),
    ("mad_mx", "Product of two block-scaled matrices", False),
    ("mad_mx_acc", "Product of two block-scaled matrices, added to the accumulator", False),
    ("mad_mx_bias", "Product of two block-scaled matrices, plus a bias", True),
):
    cube(
        _name,
        f"{_what}.",
        Pipe.M,
        (
            at("lhs", "l0a"),
            at("rhs", "l0b"),
            at("dst", "l0c", Role.INOUT if _name.endswith("acc") else Role.OUT),
            *((at("bias", "bt"),) if _bias else ()),
            *numbers("m n k"),
        ),
        _FLAGS,
        syntax="mad_bias" if _bias else "mad",
    )
    if not _name.endswith("acc"):
        cube(
            f"{_name}_raw",
            f"{_what}, with the fields of the hardware.",
            Pipe.M,
            (
                at("lhs", "l0a"),
                at("rhs", "l0b"),
                at("dst", "l0c", Role.INOUT),
                *((at("bias", "bt"),) if _bias else ()),
                *numbers("xt"),
            ),
        )

# --------------------------------------------------------------------- drains

_DRAIN = (
    Operand("quant", Role.IN, Kind.SCALAR, optional=True, or_ptr=True, group="pre_quant"),
    Operand("relu", Role.IN, Kind.SCALAR, optional=True, or_ptr=True, group="pre_relu"),
    Operand("clip", Role.IN, Kind.SCALAR, optional=True, group="pre_relu"),
    *numbers("layout_stride", group="layout", optional=True),
    *numbers("loop_count loop_src loop_dst", group="loop3", optional=True),
)
_DRAIN_WORDS = (
    clause("unit_flag", "drain_unit_flag"),
    clause("quant_mode", "pre_quant_mode"),
    clause("relu_mode", "pre_relu_mode"),
    clause("conversion", "drain_conversion"),
    clause("saturation", "saturation_word"),
    clause("nan", "saturation_nan"),
    clause("atomic_element", "atomic_element"),
    clause("atomic_op", "atomic_op"),
)
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
        (*((clause("dst_mode"),) if _space == "ub" else ()), *_DRAIN_WORDS),
        syntax=f"mte_l0c_{_space}",
    )

# -------------------------------------------------------------------- control

_CONTROL = Operand("ctrl", Role.IN, Kind.SCALAR, type="i64")
_RESULT = Operand("value", Role.OUT, Kind.SCALAR, type="i64")
cube("get_ctrl", "Read the control register.", Pipe.S, (), results=1, produces=(_RESULT,))
cube("set_ctrl", "Write the control register.", Pipe.S, (_CONTROL,))
for _bit, _what in ((1, "with one more bit set"), (0, "with one bit less")):
    cube(
        f"sbitset{_bit}",
        f"A number {_what}.",
        Pipe.S,
        (_CONTROL, *numbers("bit")),
        results=1,
        produces=(_RESULT,),
    )
for _text, _what, _fields in (
    ("set_loop3_para", "Counts and strides of the outer loop of later drains", "first second"),
    ("set_channel_para", "Fields of the channels of later drains", "first second"),
    ("set_mte2_nz_para", "Counts and strides of later copies into fractals", "value"),
    ("set_pad_val_outtol1", "The value that pads later copies into L1", "value"),
    ("set_loop_size_outtol1", "Counts of the loops around later copies into L1", "value"),
    ("set_loop1_stride_outtol1", "Strides of loop 1 around later copies into L1", "value"),
    ("set_loop2_stride_outtol1", "Strides of loop 2 around later copies into L1", "value"),
    ("set_quant_pre", "The scale of later drains", "value"),
    ("set_relu_alpha", "The slope of later drains", "value"),
    ("set_fix_clip_relu", "The bound of later drains", "value"),
    ("set_fpc", "The place of the tables of later drains", "value"),
    ("set_store_atomic_cfg", "How later stores are combined with memory", "value"),
):
    cube(_text, f"{_what}.", Pipe.S, numbers(_fields))
for _type in ("add", "max", "min", "none", "f32", "f16", "bf16", "s32", "s16", "s8"):
    cube(f"set_atomic_{_type}", f"How later stores are combined with memory: {_type}.", Pipe.S, ())
