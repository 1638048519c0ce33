"""What the assembler's verifiers ask of logical vectors and memory (PTOAS e32488c9, VMI.cpp)."""

from __future__ import annotations

from ptokit.diagnostics import Rule

from ..checks.lanes import bound, element, kinds, memory_of
from ..checks.operands import Message
from ..site import Site, VectorInfo
from .rules import DENSE, grouped, laid_out, masked, same_vectors, vectors, vmi_rule, worded


@vmi_rule("VMI-18", "pto.vmi.load of a !pto.ptr<f32, ub>", "pto.vmi.load of a !pto.ptr<f32, gm>")
def VMI_18(o: Site) -> Message:
    """Logical vectors are loaded from the unified buffer and stored to it."""
    for name in ("source", "destination"):
        found = memory_of(o.operands.get(name))
        if found is not None and found.space != "ub":
            return f"{o.operands[name].name} is not in UB"  # type: ignore[union-attr]
    return None


VMI_19 = vmi_rule(
    "VMI-19", "pto.vmi.load of 64xf32 from a !pto.ptr<f32, ub>", "pto.vmi.load of 64xf32 from a !pto.ptr<f16, ub>"
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
    """The vector `name` holds offsets, of which `result` is gathered."""

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
    "pto.vmi.vload with group and a stride; with dist_mode = dintlv and two results",
    "pto.vmi.vload with group and without a stride; with dist_mode = dintlv and one result",
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
