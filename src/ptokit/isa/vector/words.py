"""Words to define vector instructions with, and the rules that bind most of them (vector-path 8).

An instruction is a value function and a line that names operands and types. The function gets the machine, the
operands in the order of the table (arrays as `ptokit.isa.vector.registers` describes them; None for what is absent),
the attributes by keyword, and ``types``: what is known of every operand and result (`ptokit.isa.site`), by name. It
returns the result, or a tuple of several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import ALL_TARGETS, Rule, define, family
from ptokit.diagnostics.rules import merged
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, PACKED, DType
from ptokit.types.enums import Pipe

from ..checks.compiling import Message
from ..operands import Passing
from ..site import Info, MaskInfo, PtrInfo, Site, VregInfo
from ..table import Attr, Instr, Kind, Meaning, Operand, OperandForm, Role, TextForm, instruction
from .registers import Registers
from .verifier_rules import VERIFIED

# Rules that bind most vector instructions (vector-path 8).


SOURCE = "vector-path 8"
rule = family(SOURCE, targets=ALL_TARGETS)


@rule(
    "PTR-A5-01",
    """
        pto.vecscope {
        %r = pto.vlds %p[%i] : !pto.ptr<f32, {ub|gm}> -> !pto.vreg<64xf32>
        }
    """,
    evidence="ptokit",
)
def PTR_01(o: Site) -> Message:
    """A pointer operand points to the memory the instruction works on: ub for vector and predicate accesses."""
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        if isinstance(info, PtrInfo) and operand.space and info.space != operand.space:
            return f"{info.name} points to {info.space}; {operand.name} is a pointer to {operand.space}"
    return None


define(
    "PTR-A5-02",
    "An access lies inside the unified buffer, or inside the argument it points to.",
    source=SOURCE,
    example="""
        # ptokit run
        p = castptr({0x3DF00|0x3FF20}, f32)
        with vecscope():
            v = vlds(p, 0)
    """,
    evidence="device",
)


def registers(o: Site) -> Iterator[tuple[str, VregInfo]]:
    """Vector registers among operands and results, with their names in the table."""
    for name, info in o.operands.items():
        if isinstance(info, VregInfo):
            yield name, info


@rule(
    "VEC-A5-07",
    "vbitsort(castptr(0x2000, u32), castptr(0x0, {f16|i32}), castptr(0x1000, u32), {3|1})",
    evidence="ptokit",
)
def VEC_07(o: Site) -> Message:
    """The element type is one that the instruction has: of its registers, or of its pointers if it has none."""
    allowed = (A5 if o.extended else o.target).of(o.instr.types)
    pointers = [info for info in o.operands.values() if isinstance(info, PtrInfo)]
    for info in [info for _, info in registers(o)] or pointers:
        if allowed and info.dtype not in allowed:
            listed = ", ".join(sorted(t.name for t in o.target.existing(allowed)))
            return f"{info.name} has elements of {info.dtype}; {o.instr.name} takes {listed}"
    return None


def mask_bits(info: VregInfo) -> int:
    """Granularity of the predicates of a register: its element's width; 32 for 64-bit elements (1.2)."""
    return min(32, info.dtype.bits)


@rule(
    "VEC-A5-05",
    "pto.vecscope {\n"
    '%r = pto.vcmp %a, %b, %m, "lt" : !pto.vreg<128xi16>, !pto.vreg<128xi16>, !pto.mask<b16> -> '
    "!pto.mask<{b16|b32}>\n"
    "}",
    evidence="ptokit",
    on="cpu",
)
def VEC_05(o: Site) -> Message:
    """A predicate has the granularity of the lanes it selects.

    Decision: !pto.mask without a granularity fits everywhere.
    """
    data = next((info for _, info in registers(o)), None)
    return None if data is None else wrong_mask(o, mask_bits(data))


def wrong_mask(o: Site, bits: int) -> Message:
    """A message if the predicate ``mask`` is known not to have this granularity."""
    found: Info | None = o.operands.get("mask")
    if isinstance(found, MaskInfo) and found.bits not in (0, bits):
        message = f"{found.name} is a mask of b{found.bits}; the lanes of {o.instr.name} here are of b{bits}"
        return message, other_mask(bits)
    return None


def other_mask(bits: int) -> str:
    """The hint for a mask that has another granularity than the lanes; none where no instruction makes such a mask."""
    if bits not in (8, 16, 32):
        return ""
    return f"make the mask with an instruction for b{bits}, pto.plt_b{bits} or pto.pset_b{bits}"


@rule("VEC-A5-06", "ub.vabs(castptr(0x0, {f32|f16}), castptr(0x1000, f32), 1, 1, 1, 8, 8)", evidence="ptokit")
def VEC_06(o: Site) -> Message:
    """Operands and results have the types that the instruction takes together."""
    first: VregInfo | None = None
    for _, info in registers(o):
        if first is None:
            first = info
        elif (info.dtype, info.lanes) != (first.dtype, first.lanes):
            return f"{info.name} has {info.lanes} lanes of {info.dtype}, {first.name} {first.lanes} of {first.dtype}"
    return None


VEC_03 = define(
    "VEC-A5-03",
    "The address of a vector access is a multiple of what its distribution mode asks for.",
    source="vector-path 1.4, 8",
    decision="BRC_Bw needs w bytes and E2B_Bw 8 w, as library code uses them; a manual page says 32 for all modes.",
    example="""
        # ptokit run
        p = castptr(0, f32)
        with vecscope():
            v = vlds(p, {8|4})
    """,
    evidence="device",
)
SAME = VEC_06
MASKED = VEC_05
"""Of instructions whose registers all have one type, with a predicate for their lanes."""

COMMON: tuple[Rule, ...] = (PTR_01, VEC_07)
"""Of every instruction on registers and pointers."""


# Words to define vector instructions with: operands, results, and the instruction itself.


Types = dict[str, frozenset[DType]]

_DEVICE_ONLY = frozenset(DTYPES[n] for n in ("e4m3", "e5m2", "hif8"))


def types(names: str) -> Types:
    """Element types by target, from their names with blanks between; 8-bit floats exist on a5 only (1.6)."""
    wanted = frozenset(DTYPES[name] for name in names.split())
    return {"cpu": wanted - _DEVICE_ONLY, "a2a3": wanted - _DEVICE_ONLY, "a5": wanted}


ANY = types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 e4m3 e5m2 hif8")
"""Every element that single numbers of a vector register can have."""

_WHOLE = frozenset((*PACKED.values(), DTYPES["e8m0"]))
REGISTERS = TextForm("micro", misfits={"": "VEC-A5-06"})
MOVED: Types = {**ANY, "a5": ANY["a5"] | _WHOLE}
"""The same for operations that only move lanes, which may hold packed pairs too."""


def vreg(name: str = "src", *, optional: bool = False) -> Operand:
    """A vector register that is read."""
    return Operand(name, Role.IN, Kind.VREG, optional)


def mask(name: str = "mask", *, optional: bool = True, bits: int = 0) -> Operand:
    """A predicate. Where it is optional, a missing one lets all lanes through."""
    return Operand(name, Role.IN, Kind.MASK, optional, type=f"b{bits}" if bits else "")


def align(name: str = "align") -> Operand:
    """The state of an unaligned stream."""
    return Operand(name, Role.IN, Kind.ALIGN)


def ub(name: str = "src", role: Role = Role.IN) -> Operand:
    """A pointer to the unified buffer; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, type="ub", also=(Kind.VIEW,))


def gm(name: str = "src", role: Role = Role.IN) -> Operand:
    """A pointer to global memory; in lowered texts a memref."""
    return Operand(name, role, Kind.PTR, type="gm", also=(Kind.VIEW,))


def at(name: str = "offset", *, listed: bool = False, type: str = "index", optional: bool = True) -> Operand:
    """The offset in brackets after the pointer before it, in elements of the pointer's type."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, type=type, form=OperandForm(offset=True, listed=listed))


def number(name: str, type: str = "", *, optional: bool = False, group: str = "") -> Operand:
    """A scalar; without a type it is of the register's element type."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, type=type, form=OperandForm(group=group))


def out_vreg(name: str = "dst", like: str = "") -> Operand:
    """A vector register as result; where its type is not written it is that of operand `like`."""
    return Operand(name, Role.OUT, Kind.VREG, like=like)


def out_mask(name: str = "dst", bits: int = 0, like: str = "") -> Operand:
    """A predicate as result."""
    return Operand(name, Role.OUT, Kind.MASK, type=f"b{bits}" if bits else "", like=like)


def out_align(name: str = "next", *, stores: bool = False) -> Operand:
    """The state of an unaligned stream as result; that of stores is handed on exactly once."""
    return Operand(name, Role.OUT, Kind.ALIGN, passing=Passing.ONCE if stores else Passing.PLAIN)


def out_ptr(name: str = "end", like: str = "src", *, optional: bool = False) -> Operand:
    """A pointer as result, perhaps one that the text may leave out."""
    return Operand(name, Role.OUT, Kind.PTR, optional, type="ub", like=like)


def out_number(name: str, type: str) -> Operand:
    """A scalar as result."""
    return Operand(name, Role.OUT, Kind.SCALAR, type=type)


def token(
    name: str,
    default: str | None = None,
    *,
    before: str = "",
    words: Iterable[str] = (),
    does: Mapping[str, str] | None = None,
    key: str = "",
    optional: bool = False,
) -> Attr:
    """A string among the operands, such as ``"DINTLV_B32"``; ``before``: the operand it precedes.

    ``key``: of the generic form, where that is not the name. One without a default is required, unless ``optional``.
    ``words``: what it can be; ``does``: that, with what each does.
    """
    required = default is None and not optional
    found = tuple(does or words)
    means = tuple(does.values()) if does else ()
    return Attr(name, str, default, key or name, token=True, before=before, words=found, means=means, required=required)


def word(
    name: str, default: str | None = None, words: Iterable[str] = (), *, does: Mapping[str, str] | None = None
) -> Attr:
    """A string in the dictionary, such as ``{dist = "NORM"}``; ``words``, ``does``: as for `token`."""
    return replace(token(name, default, words=words, does=does), token=False, required=False)


def micro(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    produces: tuple[Operand, ...],
    run: Callable[..., Any] | None,
    *bound: Rule,
    meaning: Meaning | None = None,
    form: TextForm = REGISTERS,
    attrs: tuple[Attr, ...] = (),
    types: Types = ANY,
    pipe: Pipe = Pipe.V,
    source: str = "",
    **more: Any,
) -> Instr:
    """An instruction on registers and pointers; its name is its text name. It has a function or a meaning."""
    kinds = {operand.kind for operand in (*operands, *produces)}
    common = COMMON if Kind.PTR in kinds else COMMON[1:]
    if Kind.PTR in kinds and types is ANY:
        types = MOVED
    if Kind.VREG not in kinds:
        common, types = common[:-1], {} if types is ANY else types
    instr = Instr(
        text,
        text,
        summary,
        operands,
        attrs,
        pipe=pipe,
        rules=merged((*common, *bound, *VERIFIED.get(text, ()))),
        meaning=meaning,
        run=run,
        form=form,
        produces=produces,
        typed=True,
        types=types,
        source=source if " " in source else f"vector-path {source}",
        **more,
    )
    return instruction(instr, Registers)
