"""Stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ptokit.diagnostics.rules import need, shared
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Layout, TileType

from ..site import ScalarInfo, Site, Size, ViewInfo, known
from .conv_transfer import assumed_conv
from .rules import Check, Message, disagrees, mismatch, names, not_2d, rule, wrong_dim, wrong_stride
from .store_plain import assumed_plain

# Checks of stores from accumulators: layouts, types, shapes, strides, parameter words (load-store 5, 6).


L = Layout
CAST = frozenset(DTYPES[n] for n in ("i32", "f32", "f16", "bf16"))
NDC_TYPES = CAST | {DTYPES["i8"], DTYPES["u8"]}
BYTES = frozenset(DTYPES[n] for n in ("i8", "u8"))
SIGN_BIT = 1 << 46
Table = Mapping[str, str]

CAST_PAIRS = {"f32": "f32 f16 bf16", "i32": "i32"}
QUANT_A3 = {"f32": "i8 u8", "i32": "i8 u8 f16"}
QUANT_A5 = {"f32": "i8 u8 f16 bf16 hif8 e4m3 f32", "i32": "i8 u8 f16 bf16"}
QUANT_KIRIN9030 = {"f16": "f16 i8 u8 i16", "i32": "f16 i8 u8 i16 i32"}
QUANT = {"a5": QUANT_A5, "kirin9030": QUANT_KIRIN9030}
CASTS = {
    "a2a3": CAST_PAIRS,
    "a5": CAST_PAIRS,
    "kirin9030": {"f16": "f16", "i32": "i32"},
}
"""Where accumulators go without quantisation, by target and element type."""


def drained(*forms: str) -> dict[str, dict[str, dict[str, tuple[DType, ...]]]]:
    """What accumulators become in memory, by target and form (`Instr.drained`)."""
    quantised = {"a2a3": QUANT_A3, **QUANT}
    return {
        target: {
            form: {
                source: tuple(DTYPES[name] for name in names.split())
                for source, names in (casts if form == "cast" else quantised[target]).items()
            }
            for form in forms
        }
        for target, casts in CASTS.items()
    }


def channel_block(dtype: DType, *, split: bool) -> int:
    """C0 of the fix-pipe's NDC1HWC0 stores: 16 for int32, 8 for f32 from f32 (``split``), else 32 bytes of elements."""
    if dtype.name == "i32" or (dtype.name == "f32" and not split):
        return 16
    return dtype.c0


def is_acc(o: Site) -> bool:
    return o.src.loc is TileType.Acc


def quantised(o: Site) -> bool:
    """True for the forms with parameters."""
    return o.has("quant") or o.has("fp")


def only_to(*allowed: Layout) -> Check:
    """A check that accumulators are stored to these layouts."""

    def check(o: Site) -> Message:
        layout = o.dst.layout
        if not is_acc(o) or layout is None or layout in allowed:
            return None
        listed = ", ".join(x.name for x in allowed)
        return f"the view has layout {layout.name}; accumulators are stored to {listed}"

    return check


wrong_source = shared(
    "An accumulator is f32 or i32, on kirin9030 f16 or i32.",
    "src.dtype.name in target.accumulators if is_acc(o)",
    "the accumulator has element type {src.dtype}; it is {' or '.join(target.accumulators)}",
)


cast_type = shared(
    "Without quantisation an accumulator goes to i32, f32, f16 or bf16.",
    need(
        "dst.dtype in CAST if is_acc(o) and not quantised(o)",
        "the view has element type {dst.dtype}; without quantisation it is {names(CAST)}",
        hint="give a quantisation word, or store with TSTORE_FP",
    ),
)


def pair(o: Site, table: Table, what: str) -> Message:
    allowed = table.get(o.src.dtype.name)
    if not is_acc(o) or allowed is None or o.dst.dtype.name in allowed.split():
        return None
    return f"{o.src.dtype} to {o.dst.dtype} {what}; {o.src.dtype} goes to {allowed}"


def cast_pair(o: Site) -> Message:
    """Without quantisation: f32 to f32, f16, bf16; i32 to i32."""
    return None if quantised(o) or o.dst.dtype not in CAST else pair(o, o.target.entry(CASTS), "without quantisation")


def quant_a3(o: Site) -> Message:
    """With quantisation: f32 to i8, u8; i32 to i8, u8, f16."""
    return pair(o, QUANT_A3, "with quantisation") if quantised(o) else None


def quant_a5(o: Site) -> Message:
    """With quantisation: f32 to i8, u8, f16, bf16, hif8, e4m3, f32; i32 to i8, u8, f16, bf16."""
    return pair(o, o.target.entry(QUANT), "with quantisation") if quantised(o) else None


too_many_columns = shared(
    "An accumulator has 1 to 4095 columns.",
    "1 <= src.cols <= 4095 if is_acc(o)",
    "the accumulator has {src.cols} columns; it is stored with 1 to 4095",
)


too_many_rows = shared(
    "To ND an accumulator has 1 to 8192 rows; else 1 to 65535, and its columns are a multiple of 16.",
    "if is_acc(o) and dst.layout is not None",
    "limit = 8192 if dst.layout is L.ND else 65535",
    "1 <= src.rows <= limit",
    "the accumulator has {src.rows} rows; to {dst.layout.name} it is stored with 1 to {limit}",
    "src.cols % 16 == 0 if dst.layout is not L.ND",
    "the accumulator has {src.cols} columns; to {dst.layout.name} they must be a multiple of 16",
)


valid_columns = shared(
    "1 to 4095 columns of an accumulator are valid.",
    "src.vc <= 4095 if is_acc(o)",
    "{src.vc} valid columns; an accumulator is stored with 1 to 4095",
)


def block_sizes(o: Site) -> tuple[int, ...]:
    """What the last dimension of an NZ or NC1HWC0 view may be (load-store 5)."""
    name = o.dst.dtype.name
    if name == "f32":
        return (16, 8) if o.src.dtype.name == "f32" else (16,)
    return (16,) if name == "i32" else (o.dst.dtype.c0,)


def to_nd(o: Site) -> Message:
    if not is_acc(o) or o.dst.layout is not L.ND:
        return None
    return not_2d(o.dst, "a store from an accumulator") or disagrees(o.src, o.dst, L.ND)


def a3_nd(o: Site) -> Message:
    """From Acc to ND: g0 = g1 = g2 = 1, Cv = g4, Rv = g3, 1 <= Rv <= 8192."""
    wrong = to_nd(o)
    if not wrong and is_acc(o) and o.dst.layout is L.ND and o.src.vr > 8192:
        return f"{o.src.vr} valid rows; to ND an accumulator is stored with 1 to 8192"
    return wrong


def to_nz(o: Site) -> Message:
    """From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4."""
    if not is_acc(o) or o.dst.layout is not L.NZ:
        return None
    return wrong_dim(o.dst, 3, 16) or wrong_dim(o.dst, 4, *block_sizes(o)) or disagrees(o.src, o.dst, L.NZ)


def a3_nz(o: Site) -> Message:
    """From Acc to NZ: g3 = 16; g4 = 16 for i32, 16 or 8 for f32, else 32 bytes; Rv = g2*g3, Cv = g0*g1*g4, Rv <=
    65535, Cv a multiple of 16.
    """
    wrong = to_nz(o)
    if wrong or not is_acc(o) or o.dst.layout is not L.NZ:
        return wrong
    if o.src.vr > 65535:
        return f"{o.src.vr} valid rows; to NZ an accumulator is stored with 1 to 65535"
    if o.src.vc % 16 != 0:
        return f"{o.src.vc} valid columns; to NZ they must be a multiple of 16"
    return None


def nc1hwc0(o: Site) -> Message:
    """From Acc to NC1HWC0: g4 as for NZ; Rv = g0*g2*g3, Cv = g1*g4, Rv <= 65535."""
    if not is_acc(o) or o.dst.layout is not L.NC1HWC0:
        return None
    wrong = wrong_dim(o.dst, 4, *block_sizes(o)) or disagrees(o.src, o.dst, L.NC1HWC0)
    return wrong or many_rows(o)


def ndc1hwc0(o: Site) -> Message:
    """From Acc to NDC1HWC0: f32, i32, f16, bf16, i8, u8; Rv = g0*g3*g4, Cv = g1*g2*C0."""
    if not is_acc(o) or o.dst.layout is not L.NDC1HWC0:
        return None
    if o.dst.dtype not in NDC_TYPES:
        return f"the view has element type {o.dst.dtype}; NDC1HWC0 takes {names(NDC_TYPES)}"
    g, c0 = o.dst.shape, channel_block(o.dst.dtype, split=o.src.dtype.name == "f32")
    return mismatch(o.src, g[0] * g[3] * g[4], g[1] * g[2] * c0, f"the NDC1HWC0 view with C0 = {c0}")


def many_rows(o: Site) -> Message:
    if o.src.vr > 65535:
        return f"{o.src.vr} valid rows; an accumulator is stored with at most 65535"
    return None


def images(o: Site) -> Message:
    """From Acc: NHWC Rv = g1*g2*g3, Cv = g4; NCHW Rv = g1*g3*g4, Cv = g2; NCDHW Rv = g0*g3*g4 (or with the depth,
    g0*g2*g3*g4), Cv = g1.
    """
    g, layout = o.dst.shape, o.dst.layout
    shapes: dict[Layout, tuple[Size, Size]] = {
        L.NHWC: (g[1] * g[2] * g[3], g[4]),
        L.NCHW: (g[1] * g[3] * g[4], g[2]),
        L.NCDHW: (g[0] * g[3] * g[4], g[1]),
    }
    if not is_acc(o) or layout not in shapes:
        return None
    rows, cols = shapes[layout]
    if layout is L.NCDHW and o.src.vr == rows * g[2]:
        rows = rows * g[2]
    return mismatch(o.src, rows, cols, f"the {layout.name} view")


def several_images(view: ViewInfo, *dims: int) -> Message:
    for d in dims:
        if view.shape[d] > 1:
            return f"dimension {d} of the view is {view.shape[d]}; accumulators are stored to one image at a time"
    return None


def a3_single(o: Site) -> Message:
    """From Acc to NC1HWC0 and NDC1HWC0: g0 = 1."""
    return several_images(o.dst, 0) if is_acc(o) and o.dst.layout in (L.NC1HWC0, L.NDC1HWC0) else None


def contiguous_rows(o: Site) -> Message:
    """From Acc to NHWC, NCHW and NCDHW: one image (g0 = 1, NCHW also g1 = 1), whose rows lie together."""
    v, g, t = o.dst, o.dst.shape, o.dst.stride
    if not is_acc(o):
        return None
    match v.layout:
        case L.NHWC:
            return several_images(v, 0) or wrong_stride(v, {4: 1, 2: g[3] * t[3], 1: g[2] * g[3] * t[3]}, "NHWC")
        case L.NCHW:
            return several_images(v, 0, 1) or wrong_stride(v, {4: 1, 3: g[4]}, "NCHW")
        case L.NCDHW:
            return several_images(v, 0) or wrong_stride(v, {4: 1, 3: g[4], 2: g[3] * g[4]}, "NCDHW")
    return None


def unpacked(o: Site) -> Message:
    """Strides of accumulator stores: rows contiguous, blocks packed (load-store 5)."""
    v, g, t = o.dst, o.dst.shape, o.dst.stride
    if not is_acc(o):
        return None
    match v.layout:
        case L.ND:
            return wrong_stride(v, {4: 1}, "a store to ND")
        case L.NZ:
            block = g[2] * g[3] * g[4]
            packed = {4: 1, 3: g[4], 2: 16 * g[4], 1: block, 0: g[1] * block}
            return wrong_stride(v, packed, "a store from an accumulator to NZ")
        case L.NC1HWC0:
            return wrong_stride(v, {4: 1, 3: g[4], 2: g[3] * g[4]}, "a store to NC1HWC0")
        case L.NDC1HWC0:
            c0 = channel_block(v.dtype, split=o.src.dtype.name == "f32")
            return wrong_stride(v, {4: c0, 3: g[4] * c0, 1: g[2] * t[2]}, "a store to NDC1HWC0")
    return None


def a3_assumed(o: Site) -> Message:
    """Strides that the transfer takes for granted hold: plain stores as TLOAD; Acc to ND t4 = 1, to other layouts
    packed.
    """
    return assumed_plain(o) or assumed_conv(o) or unpacked(o)


def a5_assumed(o: Site) -> Message:
    """From Acc to ND: g0 = g1 = g2 = 1, Rv = g3, Cv = g4, t4 = 1; to NZ packed strides; from Vec the strides that
    TLOAD takes for granted.
    """
    return assumed_plain(o) or to_nd(o) or unpacked(o)


fp_tile = shared(
    "The parameters of TSTORE_FP are u64 words in a Scaling tile, one per valid column.",
    "fp.loc is Scaling",
    "the parameters are in a {fp.loc.text} tile; the fix-pipe reads scaling tiles",
    "text and fp.dtype.name == 'i64' if fp.dtype.name != 'u64'",
    "the parameters have element type {fp.dtype}; they are u64 words",
    "fp.vc >= src.vc",
    "{fp.vc} parameter words for {src.vc} valid columns; every column needs one",
)


def wrong_words(o: Site) -> Message:
    """Bit 46 of every parameter word says whether an 8-bit destination is signed, and the parameters of TSTORE_FP
    start at a multiple of 128 bytes. With the word 0 every result is 0, of either sign.
    """
    if not is_acc(o):
        return None
    if o.has("fp") and o.fp.addr % 128 != 0:
        return f"the parameters are at address {o.fp.addr:#x}; the fix-pipe finds them at multiples of 128 bytes"
    if o.dst.dtype not in BYTES:
        return None
    signed = o.dst.dtype.name == "i8"
    advice = f"{'set' if signed else 'clear'} bit 46 for a destination of {o.dst.dtype}"
    scalar = o.operands.get("quant")
    word = scalar.value if isinstance(scalar, ScalarInfo) else None
    if isinstance(word, int) and word and bool(word & SIGN_BIT) != signed:
        return f"quantisation word {word & (1 << 64) - 1:#x} has the wrong sign bit", advice
    if o.has("fp") and o.fp.data is not None and o.fp.dtype.size == 8 and known(o.src.vc):
        words = o.fp.data.read(1, min(o.src.vc, o.fp.cols)).view(np.uint64)
        of_sign = ((words & np.uint64(SIGN_BIT)) != 0) != signed
        wrong = np.flatnonzero((of_sign & (words != 0)).any(axis=(0, 1)))
        if wrong.size:
            c = int(wrong[0])
            return f"the parameter word of column {c}, {int(words[0, 0, c]):#x}, has the wrong sign bit", advice
    return None


# Rules of stores from accumulators on a2a3 and a5: the fix-pipe (load-store 11.6, 11.7).


A3 = (
    rule(
        "STORE-A3-10",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (1, 1, 1, 32, 32){|, (1024, 1024, 1024, 1, 32), "
        "layout=Layout.DN}), TileAcc(f32, 32, 32){, 70369801142272|})",
        what="Accumulators are stored to ND, NZ, NC1HWC0 and NDC1HWC0.",
        evidence="static_assert",
    )(only_to(Layout.ND, Layout.NZ, Layout.NC1HWC0, Layout.NDC1HWC0)),
    rule(
        "STORE-A3-11",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|f16}, 32, 32){, 70369801142272|})",
        evidence="static_assert",
    )(wrong_source),
    rule(
        "STORE-A3-12",
        "x: Ptr[u8]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(cast_type),
    rule(
        "STORE-A3-13",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|i32}, 32, 32){, 70369801142272|})",
        evidence="document ptokit",
    )(cast_pair),
    rule(
        "STORE-A3-14",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 70369801142272)",
        evidence="static_assert",
    )(quant_a3),
    rule(
        "STORE-A3-15",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 2032)), TileAcc(f32, 16, {2032|4096}{|, valid_col=2032}))",
        evidence="static_assert",
    )(too_many_columns),
    rule(
        "STORE-A3-16",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16)), TileAcc(f32, {2048|8208}, 16, valid_row=16))",
        evidence="static_assert",
    )(too_many_rows),
    rule(
        "STORE-A3-17",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, {2032|4096})), TileAcc(f32, 16, {2032|4096}))",
        evidence="device",
    )(valid_columns),
    rule(
        "STORE-A3-18",
        "x: Ptr[{i8|f16}]; TSTORE(GlobalTensor(x, ({32|2, 16}, 32)), TileAcc(f32, 32, 32){, 70369801142272|})",
        evidence="device assertion",
    )(a3_nd),
    rule(
        "STORE-A3-19",
        "x: Ptr[bf16]; TSTORE(GlobalTensor(x, (1, {3|6}, 1, 16, {16|8}), layout=Layout.NZ), TileAcc(f32, 16, 48))",
        evidence="static_assert device",
    )(a3_nz),
    rule(
        "STORE-A3-20",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, {2|4}, 4, 8, {16|8}), layout=Layout.NC1HWC0), TileAcc(f32, 32, 32))",
        evidence="static_assert device",
    )(nc1hwc0),
    rule(
        "STORE-A3-21",
        """
            x: Ptr[i32]
            TSTORE(GlobalTensor(x, (1, 1, {2|4}, 4, 8), (1024, 1024, {512|256}, 128, 16), layout=Layout.NDC1HWC0),
                TileAcc(i32, 32, 32))
        """,
        evidence="static_assert device",
    )(ndc1hwc0),
    rule(
        "STORE-A3-24",
        "x: Ptr[i8]; TSTORE_FP(GlobalTensor(x, (32, 32)), TileAcc(i32, 32, 32), Tile(Scaling, {u64|i64}, 1, 32))",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
        evidence="device",
    )(fp_tile),
    rule(
        "STORE-A3-D1",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16){|, (64, 4)}), Tile(Vec, f32, 16, 16))",
        evidence="device",
    )(a3_assumed),
    rule(
        "STORE-A3-D2",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, ({1|2}, 2, {4|2}, 8, 16), layout=Layout.NC1HWC0), TileAcc(f32, 32, 32))",
        why="The device puts C1 outside N.",
        evidence="device",
    )(a3_single),
    rule(
        "STORE-A3-D3",
        "x: Ptr[{i8|u8}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 70369801142272)",
        evidence="device",
    )(wrong_words),
)


A5 = (
    rule(
        "STORE-A5-08",
        "x: Ptr[{u8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|f16}, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(wrong_source),
    rule(
        "STORE-A5-09",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (32, 32){|, (1, 32), layout=Layout.DN}), TileAcc(f32, 32, 32))",
        what="Accumulators are stored to ND, NZ, NHWC, NCHW and NCDHW.",
        evidence="static_assert",
    )(only_to(Layout.ND, Layout.NZ, Layout.NHWC, Layout.NCHW, Layout.NCDHW)),
    rule(
        "STORE-A5-10",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 4080)), TileAcc(f32, 16, {4080|4096}, valid_col=4080))",
        evidence="static_assert",
    )(
        "An accumulator has 1 to 4095 columns; to ND at most 8192 rows, else at most 65535 and columns in 16s.",
        lambda o: too_many_columns(o),
        lambda o: too_many_rows(o),
    ),
    rule(
        "STORE-A5-11",
        "x: Ptr[u8]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32){, 1056964608|})",
        evidence="static_assert",
    )(cast_type),
    rule(
        "STORE-A5-12",
        "x: Ptr[{u8|f16}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc({f32|i32}, 32, 32){, 1056964608|})",
        evidence="document ptokit",
    )(cast_pair),
    rule(
        "STORE-A5-13",
        "x: Ptr[{u8|e5m2}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), {1056964608|70369801142272})",
        evidence="static_assert",
    )(quant_a5),
    rule(
        "STORE-A5-14",
        "x: Ptr[{f16]; TSTORE(GlobalTensor(x, (1, 1, 1, 16, 32)), Tile(Vec, f16, 16|i32]; "
        "TSTORE(GlobalTensor(x, (1, 4, 2, 16, 8), layout=Layout.NZ), TileAcc(i32, 32}, 32))",
        evidence="static_assert device",
    )(to_nz),
    rule(
        "STORE-A5-15",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, 1, {1, 4, 32)), Tile(Vec, f16, 4|16, 4, 8), "
        "layout=Layout.NCHW), TileAcc(f32, 32}, 32))",
        decision="The header leaves the depth of NCDHW out and stores the first plane; whole volumes are taken too.",
        evidence="device assertion",
    )(images),
    rule(
        "STORE-A5-21",
        "x: Ptr[i8]; TSTORE_FP(GlobalTensor(x, (32, 32)), TileAcc(i32, 32, 32), Tile(Scaling, {u64|i64}, 1, 32))",
        decision="In `.pto` text i64 is taken too: its integers have no sign.",
        evidence="device",
    )(fp_tile),
    rule(
        "STORE-A5-D1",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({4|16}, 16{|), (64, 4})), Tile(Vec, f32, {4|16}, 16))",
        decision="NZ strides are required to be packed as on a2a3: the device computes the pitch from the shape.",
        evidence="device",
    )(a5_assumed),
    rule(
        "STORE-A5-D2",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (1, {1, 1, 4, 32)), Tile(Vec, f16, 4|2, 32, 4, 4), "
        "layout=Layout.NCHW), TileAcc(f32, 32}, 32))",
        evidence="device",
    )(contiguous_rows),
    rule(
        "STORE-A5-D3",
        "x: Ptr[{u8|i8}]; TSTORE(GlobalTensor(x, (32, 32)), TileAcc(f32, 32, 32), 1056964608)",
        evidence="device",
    )(wrong_words),
)
