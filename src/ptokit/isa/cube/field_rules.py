"""What the numbers of the cube unit's operations on pointers can be, whoever wrote them."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.diagnostics import ALL_TARGETS, Rule, rule

from ..checks.lanes import bound
from ..checks.operands import Message
from ..operands import Kind, Operand
from ..site import ScalarInfo, Site
from ..unknown import known

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
