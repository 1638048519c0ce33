"""What the assembler's verifiers ask of the cube unit's operations on pointers (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ptokit.diagnostics import ALL_TARGETS, Rule, RuleDecorator, rule

from ..checks.compiling import Message
from ..checks.tiles import assembler_rule, bound, element, kinds, memory_of
from ..operands import Kind, Operand
from ..site import Info, PtrInfo, ScalarInfo, Site, known

# What the numbers of the cube unit's operations on pointers can be, whoever wrote them.


SOURCE = "PTOAS e32488c9, micro-isa 16"
_WORDS = frozenset("value bit first second ctrl xm xt config0 config1 sid l2_cache_ctl l2_cache_ctrl".split())
"""Numbers whose bits are fields of their own, and those that move nothing."""

CUB_15 = rule(
    "CUB-15",
    'mte_l1_ub(castptr(0x0, f32, "l1"), castptr(0x0, f32), {0|-1}, 1, 0, 0)',
    targets=ALL_TARGETS,
    source=SOURCE,
    evidence="device",
)("Sizes, counts, strides and gaps are not negative: the fields of the hardware have no sign.")
CUB_16 = rule(
    "CUB-16",
    'n: i32; create_cbuf_matrix(castptr(0x0, u16, "l1"), n, 1, 1, 0, fill_word_bits={32|64})',
    targets=ALL_TARGETS,
    source=SOURCE,
    evidence="device",
)(
    "A word of a fill has 16 or 32 bits.",
    "o.attrs.get('fill_word_bits', 16) in (16, 32)",
    "fill_word_bits is {o.attrs['fill_word_bits']}",
)


def unsigned(operands: Sequence[Operand]) -> tuple[Rule, ...]:
    """The rule about the numbers among an operation's operands."""
    names = [o.name for o in operands if o.kind is Kind.SCALAR and o.type == "i64" and o.name not in _WORDS]

    def check(o: Site) -> Message:
        for name in names:
            info = o.operands.get(name)
            if isinstance(info, ScalarInfo) and known(info.value) and info.value < 0:
                return f"{o:{name}} is {info.value}"
        return None

    return (bound(CUB_15, check),) if names else ()


# What the assembler's verifiers ask of the cube unit's operations on pointers (PTOAS e32488c9, VPTO.cpp).


VERIFIERS = "PTOAS e32488c9, VPTO.cpp"


def verified(id: str, example: str, **more: Any) -> RuleDecorator:
    """A rule of the assembler's verifiers."""
    return assembler_rule(id, example, source=VERIFIERS, always=True, **more)


def pointer(o: Site, name: str) -> PtrInfo | None:
    """What is known of a pointer operand."""
    info = o.operands.get(name)
    return info if isinstance(info, PtrInfo) else None


# ----------------------------------------------------------------------- memories


@verified(
    "CUB-01",
    "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f16, {mat|ub}>, !pto.ptr<f16, l0a>, "
    "i64, i64, i64, i64, i64, i64",
    covered_by=("PTR-A5-01",),
)
def CUB_01(o: Site) -> Message:
    """A pointer points into the memory that the operation moves from or to."""
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        found = memory_of(info) if operand.space else None
        if info is not None and found is not None and found.space not in ("", operand.space):
            return f"{info.name} lies in {found.space}; {operand.name} is in {operand.space}"
    return None


CUB_03 = verified(
    "CUB-03",
    """
        %n2 = arith.constant {0|-1} : i64
        pto.mte_l1_l0a %s, %d, %n0, %n1, %n2, %n3 : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64, i64, i64
    """,
)("A number that is known fits the field of the hardware.")


def fields(limits: Mapping[str, tuple[int, int | None]]) -> Rule:
    """Least and greatest values of operands, where they are known."""

    def check(o: Site) -> Message:
        for name, (least, greatest) in limits.items():
            info = o.operands.get(name)
            if not isinstance(info, ScalarInfo) or not known(info.value):
                continue
            if info.value < least or (greatest is not None and info.value > greatest):
                return (
                    f"{o:{name}} is {info.value}; it is {least} to {greatest}"
                    if greatest
                    else f"{o:{name}} is {info.value}"
                )
        return None

    return bound(CUB_03, check)


@verified(
    "CUB-04",
    "%a = arith.constant {0|1} : i64\n"
    "%s = pto.castptr %a : i64 -> !pto.ptr<f8E4M3FN, l1>\n"
    "pto.mte_l1_l0a_mx %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f8E4M3FN, l1>, !pto.ptr<f8E4M3FN, "
    "l0a>, i64, i64, i64, i64, i64, i64",
)
def CUB_04(o: Site) -> Message:
    """Scales lie at multiples of 32 bytes in L1, and of 16 bytes where they go."""
    for name, unit in (("src", 32), ("dst", 16)):
        info = pointer(o, name)
        if info is not None and known(info.addr) and info.addr % unit:
            return f"{info.name} is at byte {info.addr}, which is not a multiple of {unit}"
    return None


_FP4 = frozenset(("e2m1x2", "e1m2x2"))


@verified(
    "CUB-05",
    "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<{f16|!pto.f4E2M1x2}, l1>, "
    "!pto.ptr<{f16|!pto.f4E2M1x2}, l0a>, i64, i64, i64, i64, i64, i64",
)
def CUB_05(o: Site) -> Message:
    """Pairs of 4-bit floats are loaded as such, from and to elements of one type, and nothing else is."""
    pairs = o.instr.text.endswith("_s4")
    source, destination = pointer(o, "src"), pointer(o, "dst")
    for info in (source, destination):
        if info is not None and (info.dtype.name in _FP4) != pairs:
            return f"{info.name} has elements of {element(info)}"
    if pairs and source is not None and destination is not None and source.dtype is not destination.dtype:
        return f"{source.name} has elements of {element(source)}, {destination.name} of {element(destination)}"
    return None


CUB_06 = verified(
    "CUB-06",
    "%a = pto.castptr %c0_i64 : i64 -> !pto.ptr<ui16, l1>\n"
    "pto.create_cbuf_matrix %a, %n, %c1_i64, %c1_i64, %c0_i64 {fill_word_bits = {16|32} : i64} : "
    "!pto.ptr<ui16, l1>, i32, i64, i64, i64",
)(
    "A word of a fill has 16 or 32 bits, those of an unsigned element where the memory is a matrix.",
    "bits = o.attrs.get('fill_word_bits')",
    "bits in (16, 32)",
    "fill_word_bits is {bits}",
    "pointer(o, 'dst').dtype.kind == 'u' and pointer(o, 'dst').dtype.bits == bits if pointer(o, 'dst') is not "
    "None and dst_addr is None",
    "{pointer(o, 'dst').name} has elements of {element(pointer(o, 'dst'))}; words of {bits} bits fill ui{bits}",
)

CUB_07 = verified(
    "CUB-07",
    "%c1_i64 = arith.constant {0|1} : i64\n"
    "%a = pto.castptr %c0_i64 : i64 -> !pto.ptr<ui16, l1>\n"
    "pto.raw_fill_l1 %a, %c1_i64, %n, %c1_i64, %c1_i64, %c0_i64 {fill_word_bits = 16 : i64} : !pto.ptr<ui16, "
    "l1>, i64, i32, i64, i64, i64",
)(
    "A fill begins at a multiple of 32 bytes.",
    "dst_addr.value >= 0 and dst_addr.value % 32 == 0 if isinstance(dst_addr, ScalarInfo) and known(dst_addr.value)",
    "dst_addr is {dst_addr.value}",
)


# ----------------------------------------------------------------------- products


@verified(
    "CUB-08",
    "pto.mad_mx %l, %r, %d, %n, %n, %n  : !pto.ptr<{e4m3|f16}, l0a>, !pto.ptr<{e4m3|f16}, l0b>, "
    "!pto.ptr<f32, l0c>, i64, i64, i64",
)
def CUB_08(o: Site) -> Message:
    """Both factors are of hif8, or none; a bias has the type of the accumulator; scaled factors are of 8 or 4 bits."""
    left, right, sums, bias = (pointer(o, name) for name in ("lhs", "rhs", "dst", "bias"))
    if left is not None and right is not None and (left.dtype.name == "hif8") != (right.dtype.name == "hif8"):
        return f"{left.name} is of {element(left)}, {right.name} of {element(right)}"
    if bias is not None and sums is not None and element(bias) != element(sums):
        return f"{bias.name} is of {element(bias)}, {sums.name} of {element(sums)}"
    for factor in (left, right) if o.instr.text.startswith("mad_mx") else ():
        if factor is not None and factor.dtype.name not in ("e4m3", "e5m2", *_FP4):
            return f"{factor.name} is of {element(factor)}, which has no scales"
    return None


@verified(
    "CUB-09",
    "pto.mad %l, %r, %d, %n, %n, %n tf32_mode(round_even) : "
    "!pto.ptr<{f32|f16}, l0a>, !pto.ptr<{f32|f16}, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64",
)
def CUB_09(o: Site) -> Message:
    """Floats saturate or do not; products of f32 may be made of tf32."""
    given = [info for info in (pointer(o, name) for name in ("lhs", "rhs", "dst")) if info is not None]
    if o.attrs.get("saturation") and not all(info.dtype.is_float for info in given):
        return f"{o.attrs['saturation']} of products of {', '.join(map(element, given))}"
    if not o.attrs.get("tf32_mode"):
        return None
    if o.instr.text.startswith("mad_mx"):
        return "products of scaled factors have no tf32_mode"
    other = [info for info in given if info.dtype.name != "f32"]
    return f"tf32_mode, and {other[0].name} is of {element(other[0])}" if other else None


_START = {"start_row": (0, None), "start_col": (0, None)}
_STEPS = {
    **dict.fromkeys(("m_start", "k_start"), (0, 65535)),
    **dict.fromkeys(("m_step", "k_step"), (1, 255)),
    **dict.fromkeys(("src_stride", "dst_stride"), (1, 65535)),
}
_MX = dict.fromkeys(("x_start", "y_start", "x_step", "y_step", "src_stride", "dst_stride"), (0, None))
_FILL = dict.fromkeys(("repeat_times", "block_num", "dst_gap"), (0, 32767))
_ENDS = (
    CUB_01,
    verified(
        "CUB-02",
        "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f32, l1>, !pto.ptr<{f32|f16}, l0a>, "
        "i64, i64, i64, i64, i64, i64",
    )(
        "Elements that are moved are as wide where they come from as where they go.",
        "pointer(o, 'src').dtype.size == pointer(o, 'dst').dtype.size if pointer(o, 'src') is not None and "
        "pointer(o, 'dst') is not None",
        "{pointer(o, 'src').name} has elements of {element(pointer(o, 'src'))}, {pointer(o, 'dst').name} of "
        "{element(pointer(o, 'dst'))}",
    ),
)

VERIFIED: dict[str, tuple[Rule, ...]] = {
    **{f"mte_l1_l0{side}": (*_ENDS, fields({**_START, **_STEPS})) for side in "ab"},
    **{f"mte_l1_l0{side}_mx": (*_ENDS, fields({**_START, **_MX}), CUB_04) for side in "ab"},
    **{f"load_cbuf_to_c{side}": (*_ENDS, CUB_05, fields(_STEPS)) for side in "ab"},
    **{f"load_cbuf_to_c{side}_s4": (*_ENDS, CUB_05, fields({**_STEPS, "transpose": (0, 1)})) for side in "ab"},
    **{f"load_cbuf_to_c{side}_mx": (*_ENDS, fields(dict.fromkeys(("x_start", "y_start"), (0, None)))) for side in "ab"},
    "raw_fill_l1": (CUB_01, CUB_06, fields(_FILL), CUB_07, CUB_16),
    "create_cbuf_matrix": (CUB_01, CUB_06, fields(_FILL), CUB_16),
    **{
        f"mad{kind}{form}": (CUB_01, CUB_08, CUB_09)
        for kind in ("", "_acc", "_bias", "_mx", "_mx_acc", "_mx_bias")
        for form in ("", "_raw")
    },
}
"""Rules by operation, but for drains (`drain_rules`)."""


# What the assembler's verifiers ask of drains of the accumulator (PTOAS e32488c9, VPTO.cpp).


_FLOATS = ("f16", "bf16", "f32")
_KINDS = {"i16": {"si16", "n16"}, "i4": {"si4", "n4"}, "fp8": {"e4m3", "e5m2", "hif8", "hif8x2"}}
"""What destinations count as, where that is not the word itself."""

_MODES = {
    "f32_f16": ("f32", "f16"),
    "f32_bf16": ("f32", "bf16"),
    "qf322hif8": ("f32", "fp8"),
    "qf322fp8": ("f32", "fp8"),
    "qf322f32": ("f32", "f32"),
    "qf322f16": ("f32", "f16"),
    "qf322bf16": ("f32", "bf16"),
    "qf162b8": ("f32", "i8"),
    "qf162s4": ("f32", "i4"),
    "qf322b8": ("f32", "i8"),
    "qf322s4": ("f32", "i4"),
    "deqs32_int": ("n32", "i32"),
    "req8": ("n32", "i8"),
    "deqf16": ("n32", "f16"),
    "deqs16": ("n32", "i16"),
    "qf162s16": ("n32", "i16"),
    "qs322bf16": ("n32", "bf16"),
}
"""Elements of the accumulator and of what is made of them, by the word of the mode without its ending.

No elements go with req4.
"""

RELU_WORDS = ("no_relu", "normal_relu", "scalar_relu", "vector_relu", "pwl")


def _parameter(info: Info | None, vector: bool, what: str) -> Message:
    """A message if a parameter is not a float, or a pointer to floats of the fix-pipe buffer."""
    if vector:
        fits = isinstance(info, PtrInfo) and info.space == "fb" and info.dtype.name in _FLOATS
        return None if fits else f"{what} takes a pointer to f16, bf16 or f32 in fb"
    fits = isinstance(info, ScalarInfo) and info.type in _FLOATS
    return None if fits else f"{what} takes an f16, bf16 or f32"


@verified(
    "CUB-10",
    "pto.mte_l0c_l1 %s, %d, %m, %n, %n, %n, pre_quant(%q, mode = f32_bf16) : "
    "!pto.ptr<f32, l0c>, !pto.ptr<{bf16|f16}, l1>, i64, i64, i64, i64, f32",
)
def CUB_10(o: Site) -> Message:
    """A quantisation has a parameter of its kind, and is one from elements of the accumulator to those it stores."""
    mode, source, destination = o.attrs.get("quant_mode"), pointer(o, "src"), pointer(o, "dst")
    if not mode or mode == "no_convert":
        return None
    wrong = _parameter(o.operands.get("quant"), mode.endswith("_vec"), f"mode {mode}")
    if wrong is not None:
        return wrong
    stem = mode.removesuffix("_vec").removesuffix("_scalar").removesuffix("_hybrid").removesuffix("_pre")
    wanted = _MODES.get(stem)
    if source is None or destination is None:
        return None
    if wanted is None or wanted[0] not in kinds(source):
        return f"mode {mode} does not start from {element(source)}"
    if kinds(destination).isdisjoint(_KINDS.get(wanted[1], {wanted[1]})):
        return f"mode {mode} does not give {element(destination)}"
    return None


_CLIPPED = {"f16": {"f16"}, "u8": {"ui16", "i16"}}
_SIGNED = {"i4", "i8", "i16", "si4", "si8", "si16"}


@verified(
    "CUB-11",
    "pto.mte_l0c_l1 %s, %d, %m, %n, %n, %n, pre_relu(mode = {no_relu|pwl}) : "
    "!pto.ptr<f32, l0c>, !pto.ptr<f16, l1>, i64, i64, i64, i64",
)
def CUB_11(o: Site) -> Message:
    """ReLU has the parameter of its mode, and a bound of the kind of the elements that it bounds."""
    mode, parameter, clip = o.attrs.get("relu_mode"), o.operands.get("relu"), o.operands.get("clip")
    destination = pointer(o, "dst")
    if mode == "pwl":
        return "there is no mode pwl here"
    if mode in ("scalar_relu", "vector_relu"):
        wrong = _parameter(parameter, mode == "vector_relu", f"mode {mode}")
        if wrong is not None:
            return wrong
    elif mode and parameter is not None:
        return f"mode {mode} takes no parameter"
    if not isinstance(clip, ScalarInfo) or destination is None:
        return None
    name = destination.dtype.name
    fits = _CLIPPED.get(name) or (_SIGNED if name in ("int4", "i8", "i16") else None)
    if fits is None:
        return f"elements of {element(destination)} are not clipped"
    return None if clip.shown in fits else f"clip is {clip.shown}, for elements of {element(destination)}"


_PLAIN_ONLY = ("quant", "relu", "clip", "loop_count", "layout_stride")


@verified(
    "CUB-14",
    "%m = arith.constant {30|15} : i64\n"
    "pto.mte_l0c_ub %s, %d, %m, %n, %n, %n, dst_mode(split_m) : "
    "!pto.ptr<f32, l0c>, !pto.ptr<f32, ub>, i64, i64, i64, i64",
)
def CUB_14(o: Site) -> Message:
    """A drain to two cores halves even rows, or columns by 32, and does nothing else; one core is 0 or 1."""
    mode, core = o.attrs.get("dst_mode"), o.operands.get("sub_core")
    if mode is None:
        if isinstance(core, ScalarInfo) and known(core.value) and core.value not in (0, 1):
            return f"core {core.value}"
        return None
    if core is not None:
        return f"{mode} goes to both cores"
    also = [name for name in _PLAIN_ONLY if o.has(name)]
    if (
        also
        or o.attrs.get("quant_mode")
        or o.attrs.get("relu_mode")
        or o.attrs.get("conversion") not in (None, "nz2nd")
    ):
        return f"{mode} goes with no quantisation, ReLU, layout or loop"
    name, unit = ("m", 2) if mode == "split_m" else ("n", 32)
    info = o.operands.get(name)
    if isinstance(info, ScalarInfo) and known(info.value) and info.value % unit:
        return f"{o:{name}} is {info.value}, which is not a multiple of {unit}"
    return None


_DRAIN: tuple[Rule, ...] = (
    CUB_01,
    CUB_10,
    CUB_11,
    verified(
        "CUB-12",
        "pto.mte_l0c_l1 %s, %d, %m, %n, %n, %n, nz2nz : !pto.ptr<f32, l0c>, !pto.ptr<{f32|f16}, l1>, i64, i64, "
        "i64, i64",
    )(
        "A layout has the stride and the loop that belong to it; a unit flag wants the stride of nz2dn to be 1.",
        "layout = o.attrs.get('conversion')",
        "layout_stride is not None if layout == 'nz2dn'",
        "nz2dn has a stride",
        "layout != 'nz2nd' if layout_stride",
        "nz2nd has no stride",
        "layout in ('nz2nd', 'nz2dn') if loop_count",
        "loop3 belongs to nz2nd and nz2dn",
        "pointer(o, 'dst').dtype.name == 'f32' if layout == 'nz2nz' and pointer(o, 'dst') is not None",
        "nz2nz stores f32, not {element(pointer(o, 'dst'))}",
        "isinstance(layout_stride, ScalarInfo) and known(layout_stride.value) and (layout_stride.value == 1) if "
        "layout == 'nz2dn' and o.attrs.get('unit_flag')",
        "a unit flag with nz2dn wants a stride that is known to be 1",
    ),
    verified(
        "CUB-13",
        "%m = arith.constant 16 : i64\n"
        "pto.mte_l0c_{gm|l1} %s, %d, %m, %m, %m, %m{, %m, %m|}, atomic(type = f32, op = add) : "
        "!pto.ptr<f32, l0c>, !pto.ptr<f32, {gm|l1}>, i64, i64, i64, i64{, i64, i64|}",
    )(
        "Drains into global memory combine with what is there, others do not.",
        "instr.text == 'mte_l0c_gm' if o.attrs.get('atomic_op') is not None",
        "it does not store to global memory",
    ),
)
DRAINS: dict[str, tuple[Rule, ...]] = {
    "mte_l0c_gm": _DRAIN,
    "mte_l0c_l1": _DRAIN,
    "mte_l0c_ub": (*_DRAIN, CUB_14),
}
"""Rules by operation."""
