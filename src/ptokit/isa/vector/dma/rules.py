"""Rules of DMA copies (vector-path 8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ptokit.diagnostics import ALL_TARGETS, Rule, define, family

from ...checks.compiling import Message
from ...site import UNKNOWN, PtrInfo, ScalarInfo, Site, Size, known
from ..words import SOURCE

rule = family(SOURCE, targets=ALL_TARGETS)

BLOCK = 32
FIELDS = {"count": 16, "ub stride": 21, "gm stride": 40, "loops": 21, "padding": 8, "gap": 16}
"""Width of the fields of a copy in bits."""


def value(o: Site, name: str) -> Size:
    """A scalar operand: its number, 0 if absent, `UNKNOWN` if only the run knows."""
    info = o.operands.get(name)
    found = info.value if isinstance(info, ScalarInfo) else 0
    return found if isinstance(found, int) else UNKNOWN


def _ub_pointers(o: Site) -> list[tuple[str, PtrInfo]]:
    found = [(n, i) for n, i in o.operands.items() if isinstance(i, PtrInfo)]
    return [(n, i) for n, i in found if i.space == "ub"]


@rule("DMA-A5-01", "p: Ptr[f32]; copy_ubuf_to_gm(castptr({0x20|0x10}, f32), p, 0, 1, 32, 0, 32, 32)", evidence="device")
def DMA_01(o: Site) -> Message:
    """A DMA copy starts at a multiple of 32 bytes of the unified buffer."""
    for name, info in _ub_pointers(o):
        if info.addr % BLOCK > 0:  # type: ignore[operator]
            return f"{o:{name}} is at byte {info.addr:#x} of UB, which is not a multiple of {BLOCK}"
    return None


def _ub_stride_of(side: str) -> Callable[[Site], Message]:
    def check(o: Site) -> Message:
        stride = value(o, side)
        if value(o, "n_burst") > 1 and stride % BLOCK > 0:  # type: ignore[operator]
            return f"{side} = {stride} bytes is not a multiple of {BLOCK}"
        return None

    return check


DMA_02 = define(
    "DMA-A5-02",
    "Rows of a DMA copy start at multiples of 32 bytes of the unified buffer.",
    source=SOURCE,
    decision="Strides of loops count when a copy uses them, not when they are set.",
    example="p: Ptr[f32]; copy_ubuf_to_gm(castptr(0x0, f32), p, 0, 2, 64, 0, 64, {64|100})",
    evidence="device",
)
DMA_03 = define(
    "DMA-A5-03",
    "The numbers of a copy fit their fields: 16 bits for rows and bytes of a row, 21 for strides in UB and loop "
    "counts, 40 for strides in global memory, 8 for padding, 16 for gaps.",
    source=SOURCE,
    example="set_loop1_stride_outtoub({1000, 320|0, 2097152})",
    evidence="device",
)


def _fields(widths: dict[str, int]) -> Rule:
    def check(o: Site) -> Message:
        for name, bits in widths.items():
            number = value(o, name)
            if number < 0 or number >= 1 << bits:
                return f"{o:{name}} = {number} does not fit {bits} bits"
        return None

    return replace(DMA_03, check=check)


def _packed(bits: tuple[tuple[str, int], tuple[str, int]]) -> Callable[[Site], Message]:
    """Two numbers, or both packed in the first."""
    widths = dict(bits)
    both = _fields(widths).check
    assert both is not None

    def check(o: Site) -> Any:
        if o.has(bits[1][0]):
            return both(o)
        number, total = value(o, bits[0][0]), sum(widths.values())
        if number < 0 or number >= 1 << total:
            return f"the packed word {number} has more than {total} bits"
        return None

    return check


COUNTS = replace(DMA_03, check=_packed((("loop1", FIELDS["loops"]), ("loop2", FIELDS["loops"]))))


def strides(*, into_ub: bool) -> Rule:
    """DMA-A5-03 for a register of loop strides."""
    widths = (40, 21) if into_ub else (21, 40)
    return replace(DMA_03, check=_packed((("src_stride", widths[0]), ("dst_stride", widths[1]))))


def unpacked(word: Any) -> tuple[Any, Any]:
    """The counts of the inner and the outer loop in the one operand that holds both (3.2)."""
    low = (1 << FIELDS["loops"]) - 1
    return word & low, word >> FIELDS["loops"] & low


def loop_counts(o: Site) -> tuple[Size, Size]:
    """Inner and outer loop as set_loop_size_* sets them."""
    first, second = value(o, "loop1"), value(o, "loop2")
    if o.has("loop2"):
        return first, second
    return unpacked(first) if isinstance(first, int) else (UNKNOWN, UNKNOWN)


@rule("DMA-A5-05", "set_loop_size_ubtoout({1|0}, 1)", evidence="document")
def DMA_05(o: Site) -> Message:
    """A copy moves something: rows, bytes of a row and loop counts are not 0."""
    counts = [(name, value(o, name)) for name in ("n_burst", "len_burst") if o.has_operand(name)]
    if o.has_operand("loop1"):
        counts += zip(("loop1", "loop2"), loop_counts(o))
    for name, number in counts:
        if number == 0:
            return f"{o:{name}} is 0: nothing is moved"
    return None


@rule(
    "DMA-A5-07",
    "copy_ubuf_to_ubuf(castptr(0x0, f32), castptr({0x40|0x20}, f32), 0, 1, 64, 64, 64)",
    targets=("a2a3", "a5"),
    evidence="device",
)
def DMA_07(o: Site) -> Message:
    """Source and destination of a copy within the unified buffer do not overlap.

    Decision: An error on devices, whose order is undefined; the cpu target copies through a temporary.
    """
    src, dst = o.operands.get("src"), o.operands.get("dst")
    if not isinstance(src, PtrInfo) or not isinstance(dst, PtrInfo) or not known(src.addr, dst.addr):
        return None
    reach_src, reach_dst = _reach(o, "src"), _reach(o, "dst")
    if src.addr < dst.addr + reach_dst and dst.addr < src.addr + reach_src:  # type: ignore[operator]
        return f"source bytes [{src.addr:#x}, {src.addr + reach_src:#x}) and destination from {dst.addr:#x} overlap"
    return None


def _reach(o: Site, side: str) -> Size:
    """Bytes from the start of the first row to the end of the last."""
    rows, length, gap = value(o, "n_burst"), value(o, "len_burst"), o.operands.get(f"{side}_gap")
    if rows <= 0:
        return 0
    if gap is not None:
        return ((rows - 1) * (length + value(o, f"{side}_gap")) + length) * BLOCK
    return (rows - 1) * value(o, f"{side}_stride") + length


@rule(
    "DMA-A5-08",
    """
        func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
          %c0 = arith.constant 0 : i64
          %c2 = arith.constant 2 : i64
          %c64 = arith.constant 64 : i64
          %c128 = arith.constant {64|128} : i64
          %on = arith.constant true
          %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
          pto.copy_gm_to_ubuf %x, %u, %c0, %c2, %c64, %c0, %c0, %on, %c0, %c64, %c128
          return
        }
    """,
    source="vector-path 3.3, 8",
    evidence="document",
)
def DMA_08(o: Site) -> Message:
    """Padding is counted where rows are padded, and fills at most 32 bytes more than it counts.

    Decision: The rest of a row up to the next one is padded; a text of the manual stops at the next 32 bytes.
    """
    left, right = value(o, "left_padding"), value(o, "right_padding")
    padded = value(o, "data_select_bit") if o.has_operand("data_select_bit") else int(o.has("pad_value"))
    if padded == 0 and (left > 0 or right > 0):
        return "padding is counted, but nothing is padded: the bytes are undefined"
    dst = o.operands.get("dst")
    if padded == 1 and isinstance(dst, PtrInfo):
        data = (left + right) * dst.dtype.size + value(o, "len_burst")
        tail = value(o, "dst_stride") - data
        if tail > BLOCK:
            return f"{tail} bytes of each row are padded beyond the counted padding: devices may differ"
    return None


@rule(
    "DMA-A5-10",
    "copy_ubuf_to_ubuf(castptr(0x0, f32), castptr({0x40|0x200}, f32), 0, 1, {64|40}, 64, 64)",
    evidence="device",
)
def DMA_10(o: Site) -> Message:
    """A copy within the unified buffer moves blocks of 32 bytes: length and strides are multiples of 32."""
    for name in ("len_burst", "src_stride", "dst_stride"):
        number = value(o, name)
        if number % BLOCK > 0 and (name == "len_burst" or value(o, "n_burst") > 1):  # type: ignore[operator]
            return f"{o:{name}} = {number} bytes is not a multiple of {BLOCK}"
    return None


_ROWS = {"n_burst": FIELDS["count"], "len_burst": FIELDS["count"]}
_GM, _UB, _PADDING, _GAP = (FIELDS[name] for name in ("gm stride", "ub stride", "padding", "gap"))
_SHAPE = (
    DMA_01,
    rule(
        "DMA-A5-04", "p: Ptr[f32]; copy_ubuf_to_gm(castptr(0x0, f32), p, 0, 2, 64, 0, {64|32}, 64)", evidence="device"
    )(
        "Rows do not overlap where they are written: the destination stride is at least the length of a row.",
        "value(o, 'dst_stride') >= value(o, 'len_burst') if value(o, 'n_burst') > 1 and value(o, 'len_burst') > 0",
        "rows of {value(o, 'len_burst')} bytes are {value(o, 'dst_stride')} bytes apart: "
        "each overwrites the one before",
    ),
    rule(
        "DMA-A5-04-LINT",
        """
            func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
              %c0 = arith.constant 0 : i64
              %c2 = arith.constant 2 : i64
              %c64 = arith.constant 64 : i64
              %c32 = arith.constant {64|32} : i64
              %off = arith.constant false
              %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
              pto.copy_gm_to_ubuf %x, %u, %c0, %c2, %c64, %c0, %c0, %off, %c0, %c32, %c64
              return
            }
        """,
        evidence="document",
    )(
        """The source stride is at least the length of a row.

        The manual states it; rows that overlap where they are read do no harm.
        """,
        "value(o, 'src_stride') >= value(o, 'len_burst') if value(o, 'n_burst') > 1 and value(o, 'len_burst') > 0",
        "rows of {value(o, 'len_burst')} bytes are read {value(o, 'src_stride')} bytes apart",
    ),
    DMA_05,
)
GM_TO_UB: tuple[Rule, ...] = (
    *_SHAPE,
    replace(DMA_02, check=_ub_stride_of("dst_stride")),
    _fields({**_ROWS, "src_stride": _GM, "dst_stride": _UB, "left_padding": _PADDING, "right_padding": _PADDING}),
    rule(
        "DMA-A5-06",
        """
            %u = pto.castptr %c0 : i64 -> !pto.ptr<f32, ub>
            {%v = |}pto.{castptr %c32 : i64 -> !pto.ptr<f32, ub>
            pto.copy_ubuf_to_ubuf|copy_ubuf_to_gm} %u, %{v|y}, %c0, %c1, %c64{, %c64, %c64|}
        """,
        evidence="ptokit",
        on="cpu",
    )(
        "A copy has its operands in the order of one of its forms, and whole groups: loop(count, source stride, "
        "destination stride), pad(value) or pad(value, left, right).",
        "(left_padding is not None) == (right_padding is not None)",
        "left and right padding are given together",
    ),
    DMA_08,
    rule(
        "DMA-A5-09",
        """
            func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
              %c0 = arith.constant 0 : i64
              %c2 = arith.constant 2 : i64
              %c240 = arith.constant 240 : i64
              %c8 = arith.constant 8 : i64
              %c256 = arith.constant 256 : i64
              %on = arith.constant true
              %u = pto.castptr %c0 : i64 -> !pto.ptr<{f16|f32}, ub>
              pto.copy_gm_to_ubuf %x, %u, %c0, %c2, %c240, %c0, %c8, %on, %c0, %c240, %c256
              return
            }
        """,
        evidence="device",
    )(
        """A padded row fits the destination row.

        Decision: Rows that leave the buffer are PTR-A5-02.
        """,
        "right = value(o, 'right_padding')",
        "needed = (value(o, 'left_padding') + right) * dst.dtype.size + value(o, 'len_burst')",
        "needed <= value(o, 'dst_stride') if isinstance(dst, PtrInfo) and value(o, 'n_burst') > 1 and (value(o, "
        "'left_padding') > 0 or right > 0)",
        "a padded row has {needed} bytes, but rows are {value(o, 'dst_stride')} bytes apart",
    ),
)
UB_TO_GM: tuple[Rule, ...] = (
    *_SHAPE,
    replace(DMA_02, check=_ub_stride_of("src_stride")),
    _fields({**_ROWS, "src_stride": _UB, "dst_stride": _GM}),
)
UB_TO_UB: tuple[Rule, ...] = (
    *_SHAPE,
    DMA_10,
    _fields({**_ROWS, "src_stride": _UB, "dst_stride": _UB}),
    DMA_07,
)
BLOCKS: tuple[Rule, ...] = (DMA_01, DMA_05, _fields({**_ROWS, "src_gap": _GAP, "dst_gap": _GAP}), DMA_07)
