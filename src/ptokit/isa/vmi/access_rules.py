"""What the assembler's verifiers ask of operations lane by lane and of accesses (PTOAS e32488c9, VMI.cpp)."""

from __future__ import annotations

from ptokit.diagnostics import Rule

from ..checks.compiling import Message
from ..checks.tiles import bound, element, kinds, memory_of
from ..site import Site, VectorInfo
from .rules import (
    CONVERSION,
    DENSE,
    LEGACY,
    VMI_03,
    VMI_06,
    VMI_16,
    Logical,
    elements,
    grouped,
    laid_out,
    masked,
    number_like,
    predicates,
    same_layout,
    same_predicates,
    same_vectors,
    vectors,
    vmi_rule,
    worded,
)

# What the assembler's verifiers ask of operations lane by lane (PTOAS e32488c9, VMI.cpp).


_F2, _F3, _I3 = "f16 f32", "f16 bf16 f32", "i8 i16 i32"
_SIGNED = "si8 si16 si32"
_ANY = "float int"
_PMODE = worded(pmode="merge zero")
_FLOAT_WORDS = "eq ne lt le gt ge oeq one olt ole ogt oge"
_CMP = worded(cmp=_FLOAT_WORDS, pmode="merge zeroing")
_INT_CMP = worded(cmp="eq ne lt le gt ge", pmode="merge zeroing")

VMI_33 = vmi_rule(
    "VMI-33",
    "%r = pto.vmi.vand %a, %b{|, %m} : !pto.vmi.mask<64xpred>, !pto.vmi.mask<64xpred>{|, "
    "!pto.vmi.mask<64xpred>} -> !pto.vmi.mask<64xpred>",
    evidence="ptokit",
)(
    "Logic of predicates has no predicate and no pmode of its own.",
    "not isinstance(result, LanesInfo) if mask",
    "predicates are combined without a mask",
    "o.attrs.get('pmode') is None if isinstance(result, LanesInfo)",
    "predicates are combined without pmode",
)

VMI_34 = vmi_rule(
    "VMI-34",
    "%l, %h = pto.vmi.vmull %a, %b, %m : !pto.vmi.vreg<{64|32}xi32>, !pto.vmi.vreg<{64|32}xi32>, "
    "!pto.vmi.mask<{64|32}xpred> -> !pto.vmi.vreg<{64|32}xi32>, !pto.vmi.vreg<{64|32}xi32>",
    evidence="ptokit",
)(
    "Products with two halves have 64, 128 or 256 lanes.",
    "getattr(a, 'lanes', 64) in (64, 128, 256)",
    "{a.name} has {getattr(a, 'lanes', 64)} lanes",
)


def _compared(data: str) -> tuple[Rule, ...]:
    """A comparison into a predicate, with a seed."""

    def words(o: Site) -> Message:
        float_ = getattr(getattr(o.operands.get(data), "dtype", None), "is_float", True)
        chosen = _CMP if float_ else _INT_CMP
        assert chosen.check is not None
        return chosen.check(o)  # type: ignore[return-value]

    def lanes(o: Site) -> Message:
        found = list(predicates(o, ["seed", "result"]))
        if len(found) == 2 and found[0].lanes != found[1].lanes:
            return f"{found[1].name} has {found[1].lanes} lanes, {found[0].name} {found[0].lanes}"
        return None

    types = elements(data, f"{_I3} {_F3}")
    return (bound(_CMP, words), types, masked(data, "seed"), bound(VMI_06, lanes))


def _lanes(types: str, sources: str = "lhs rhs") -> tuple[Rule, ...]:
    """Sources and result are same_vectors and of one of these types."""
    return (elements(sources.split()[0], types), *same_vectors(f"{sources} result"))


def _chosen(types: str, sources: str = "lhs rhs") -> tuple[Rule, ...]:
    """The same with a predicate."""
    return (*_lanes(types, sources), masked("result"), _PMODE)


def _with_number(types: str) -> tuple[Rule, ...]:
    return (*_chosen(types, "src"), number_like("scalar", "src"))


def _logic(sources: str) -> tuple[Rule, ...]:
    def alike(o: Site) -> Message:
        found = [i for name in (*sources.split(), "result") if isinstance(i := o.operands.get(name), Logical)]
        other = next((i for i in found if type(i) is not type(found[0])), None)
        if other is None:
            return None
        return f"of {found[0].name} and {other.name}, one is a predicate and one is not"

    together = same_predicates(f"{sources} result")
    return (*_chosen("int", sources), bound(VMI_03, alike), VMI_33, together)


VMI_35 = vmi_rule(
    "VMI-35",
    "%r = pto.vmi.vshls %a, %n, %m : !pto.vmi.vreg<64xi32>, i{16|32}, !pto.vmi.mask<64xpred> -> !pto.vmi.vreg<64xi32>",
    evidence="ptokit",
)(
    "Lanes are shifted by a number of i16.",
    "scalar.type == 'i16' and (not scalar.signed) if isinstance(scalar, ScalarInfo)",
    "{scalar.name} is {scalar.shown}",
)


_BITCAST = (same_layout("source result"), VMI_16)
_CARRY = (elements("lhs", "i32"), *same_vectors("lhs rhs result"))
COMPUTE: dict[str, tuple[Rule, ...]] = {
    **{name: _lanes(_F3) for name in ("addf", "subf", "mulf", "minf", "maxf")},
    **{name: _lanes(_I3) for name in ("addi", "subi", "mini", "maxi", "andi", "ori", "xori", "shli")},
    "divf": _lanes(_F2),
    "muli": _lanes("i16 i32"),
    "shrui": _lanes("ui8 ui16 ui32"),
    "shrsi": _lanes(_SIGNED),
    **{name: _lanes(_F2, "source") for name in ("negf", "absf", "sqrt", "exp", "ln")},
    "negi": _lanes(_I3, "source"),
    "absi": _lanes(_SIGNED, "source"),
    "relu": _lanes("si32 f16 f32", "source"),
    "not": _lanes(_I3, "source"),
    "fma": _lanes(_F3, "lhs rhs acc"),
    "cmpf": (
        worded(predicate=_FLOAT_WORDS),
        elements("lhs", _F3),
        *same_vectors("lhs rhs"),
        masked("lhs", "result"),
    ),
    "cmpi": (
        worded(predicate="eq ne ult ule ugt uge slt sle sgt sge"),
        elements("lhs", _I3),
        *same_vectors("lhs rhs"),
        masked("lhs", "result"),
    ),
    "select": (*same_vectors("true_value false_value result"), masked("result")),
    **LEGACY,
    "bitcast": _BITCAST,
    "vinterpret_cast": _BITCAST,
    **{name: _chosen(f"{_I3} {_F3}") for name in ("vadd", "vsub", "vmin", "vmax")},
    "vmul": _chosen(f"i16 i32 {_F3}"),
    "vdiv": _chosen(_F2),
    "vshl": _chosen("int"),
    "vshr": _chosen("int"),
    **{name: _logic("lhs rhs") for name in ("vand", "vor", "vxor")},
    "vnot": _logic("source"),
    "vneg": _chosen(f"{_I3} {_F2}", "source"),
    "vabs": _chosen(f"{_SIGNED} {_F3}", "source"),
    **{name: _chosen(_F2, "source") for name in ("vsqrt", "vexp", "vln")},
    "vrelu": _chosen("si32 f16 f32", "source"),
    **{name: _with_number(f"{_I3} {_F3}") for name in ("vadds", "vmaxs", "vmins")},
    "vmuls": _with_number(f"i16 i32 {_F2}"),
    "vshls": (*_chosen("int", "src"), VMI_35),
    "vshrs": (*_chosen("int", "src"), VMI_35),
    "vaddc": (*_CARRY, masked("lhs", "mask carry"), same_predicates("mask carry")),
    "vaddcs": (*_CARRY, masked("lhs", "mask carry carry_in"), same_predicates("mask carry carry_in")),
    "vcmp": (*_compared("lhs"), *same_vectors("lhs rhs")),
    "vcmps": (*_compared("src"), number_like("scalar", "src")),
    "vsel": (*same_vectors("true_value false_value result"), masked("result"), _PMODE),
    "vcvt": (*CONVERSION, _PMODE),
    "vexpdif": (
        elements("x", _F2),
        elements("result", "f32"),
        *same_vectors("x max", layouts="any"),
        masked("x"),
        _PMODE,
    ),
    "vaxpy": (*_chosen("float", "x acc"), number_like("alpha", "x")),
    "vlrelu": (*_chosen("float", "x"), number_like("slope", "x")),
    "vprelu": _chosen("float", "x alpha"),
    "vmull": (elements("a", "ui32"), *same_vectors("a b low high"), VMI_34, masked("a"), worded(pmode="zero")),
    "vmula": _chosen(_ANY, "acc lhs rhs"),
}
"""Rules by operation."""


# What the assembler's verifiers ask of logical vectors and memory (PTOAS e32488c9, VMI.cpp).


@vmi_rule("VMI-18", "%r = pto.vmi.load %p[%i] : !pto.ptr<f32, {ub|gm}> -> !pto.vmi.vreg<64xf32>", evidence="ptokit")
def VMI_18(o: Site) -> Message:
    """Logical vectors are loaded from the unified buffer and stored to it."""
    for name in ("source", "destination"):
        found = memory_of(o.operands.get(name))
        if found is not None and found.space != "ub":
            return f"{o.operands[name].name} is not in UB"  # type: ignore[union-attr]
    return None


VMI_19 = vmi_rule(
    "VMI-19", "%r = pto.vmi.load %p[%i] : !pto.ptr<f{32|16}, ub> -> !pto.vmi.vreg<64xf32>", evidence="ptokit"
)("Memory has the element type of the vectors, but where a mode widens, or bytes are packed for groups.")


def _memory(data: str, *, packs: bool = False) -> Rule:
    listed = data.split()

    def check(o: Site) -> Message:
        if o.attrs.get("dist_mode") == "unpack":
            return None
        name = "source" if o.has_operand("source") else "destination"
        found = memory_of(o.operands.get(name))
        if found is None:
            return None
        for vector in vectors(o, listed):
            if found.element == element(vector) or (packs and _packed(o, found.element, vector)):
                continue
            return f"{vector.name} has elements of {element(vector)}, the memory of {found.element}"
        return None

    return bound(VMI_19, check)


def _packed(o: Site, memory: str, vector: VectorInfo) -> bool:
    """Bytes of groups are stored from lanes of 32 bits."""
    has_groups = "group" in o.attrs or "num_groups" in o.attrs
    return has_groups and vector.dtype.is_integer and vector.dtype.bits == 32 and memory in ("i8", "ui8", "si8")


def access(data: str, *, packs: bool = False, anywhere: bool = False) -> tuple[Rule, ...]:
    """Memory for the vectors `data`. ``anywhere``: the verifier does not ask where it is."""
    return (_memory(data, packs=packs), *([] if anywhere else [VMI_18]))


VMI_20 = vmi_rule(
    "VMI-20",
    "pto.vmi.vscatter %v, %p, %o, %m : !pto.vmi.vreg<64xf32>, !pto.ptr<f32, ub>, "
    "!pto.vmi.vreg<{64xi16|64xi8}>, !pto.vmi.mask<64xpred>",
    evidence="ptokit",
)("Offsets are integers of 16 or 32 bits without a sign; those of 16 bits gather elements of ui16.")


def offsets(name: str, result: str = "") -> Rule:
    """The vector `name` holds the offsets from which `result` is gathered."""

    def check(o: Site) -> Message:
        for index in vectors(o, [name]):
            if kinds(index).isdisjoint(("ui16", "ui32")):
                return f"{index.name} has elements of {element(index)}"
            for vector in vectors(o, [result]):
                if index.dtype.bits == 16 and element(vector) != "ui16":
                    return f"{index.name} has elements of {element(index)}, {vector.name} of {element(vector)}"
        return None

    return bound(VMI_20, check)


VMI_21 = vmi_rule(
    "VMI-21",
    "%r = pto.vmi.vload %p[%i]{, %s|} {group = 8} : !pto.ptr<f32, ub>{, index|} -> !pto.vmi.vreg<64xf32>",
    evidence="ptokit",
)("A load or store has one mode, and the operands and results of that mode.")


def _modes(second: str, *, stores: bool) -> Rule:
    def check(o: Site) -> Message:
        group, mode = o.attrs.get("group"), o.attrs.get("dist_mode")
        stride, blocks = o.has("stride"), o.has("block_stride")
        both = o.operands.get(second) is not None
        if group is not None and mode is not None and (stores or mode != "brc"):
            return f"group and dist_mode {mode} exclude each other"
        if (group is not None) != stride:
            return "group takes a stride" if group is not None else "a stride belongs to group"
        if blocks != o.has("repeat_stride"):
            return "block_stride and repeat_stride belong together"
        if blocks and mode is not None:
            return f"block_stride and dist_mode {mode} exclude each other"
        if stores and group is not None and o.has("mask"):
            return "group takes no mask"
        if both != (mode == "dintlv"):
            return "two vectors belong to dist_mode dintlv"
        return None

    return bound(VMI_21, check)


_PMODES = "merge zero"
_MASKED = {"result": masked("result"), "value": masked("value")}

MEMORY: dict[str, tuple[Rule, ...]] = {
    "load": access("result"),
    "deinterleave_load": (*same_vectors("low high"), *access("low"), laid_out("low high", "contiguous")),
    "group_load": (*access("result"), grouped("result")),
    "group_slot_load": (*access("result"), grouped("", "result")),
    "group_broadcast_load": (
        *access("result"),
        grouped("result"),
        laid_out("result", DENSE),
    ),
    "stride_load": (*access("result"), _MASKED["result"]),
    "masked_load": (*access("result"), *same_vectors("result passthru"), _MASKED["result"]),
    "expand_load": (*access("result"), *same_vectors("result passthru"), _MASKED["result"]),
    "gather": (
        *access("result"),
        offsets("indices", "result"),
        *same_vectors("indices passthru result", elements=False),
        _MASKED["result"],
    ),
    "store": access("value"),
    "interleave_store": (*same_vectors("low high"), *access("low"), laid_out("low high", "contiguous")),
    "group_store": (*access("value", packs=True), grouped("value")),
    "masked_store": (*access("value"), _MASKED["value"]),
    "compress_store": (*access("value"), _MASKED["value"]),
    "stride_store": (*access("value"), _MASKED["value"]),
    "scatter": (*access("value"), offsets("indices"), *same_vectors("value indices", elements=False), _MASKED["value"]),
    "vload": (
        *access("result second", anywhere=True),
        grouped("result", key="group"),
        _modes("second", stores=False),
        worded(dist_mode="continuous unpack dintlv brc", pmode=_PMODES),
    ),
    "vstore": (
        *access("value", packs=True, anywhere=True),
        *same_vectors("value second"),
        masked("value"),
        grouped("value", key="group"),
        _modes("second", stores=True),
        worded(dist_mode="continuous dintlv", pmode="zero"),
    ),
    "vsstb": (*access("value"), _MASKED["value"], worded(pmode="zero")),
    "vgather": (
        *access("result"),
        offsets("offsets", "result"),
        *same_vectors("offsets result", elements=False),
        _MASKED["result"],
        worded(pmode=_PMODES),
    ),
    "vgatherb": (*access("result"), offsets("offsets"), _MASKED["result"], worded(pmode=_PMODES)),
    "vscatter": (
        *access("value"),
        offsets("offsets"),
        *same_vectors("value offsets", elements=False),
        _MASKED["value"],
        worded(pmode=_PMODES),
    ),
}
"""Rules by operation."""
