"""What the assembler's verifiers ask of drains of the accumulator (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

from ptokit.diagnostics import Rule

from ..checks.lanes import element, kinds
from ..checks.operands import Message
from ..site import Info, PtrInfo, ScalarInfo, Site
from ..unknown import known
from .verifier_rules import CUB_01, pointer, verified

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
    verified("CUB-13", "atomic(type = f32, op = add) of pto.mte_l0c_gm", "atomic(..) of pto.mte_l0c_ub")(
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
