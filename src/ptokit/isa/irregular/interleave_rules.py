"""Rules of TINTERLEAVE, TDEINTERLEAVE and TPACK (compute-layout-irregular 1.8, 1.9)."""

from __future__ import annotations

from ptokit.diagnostics import family

from ..checks.operands import Message
from ..checks.tiles import differ, missing, not_of, not_plain, overlapping, valid_differs
from ..site import Site
from ..typesets import BF16, I6, F
from ..unknown import known

_rule = family("compute-layout-irregular 1.8")
_pack = family("compute-layout-irregular 1.9")
_TILES = ("dst0", "dst1", "src0", "src1")


@_rule(
    "INTLV-03",
    "TDEINTERLEAVE(Tile(Vec, f32, 16, {32|64}), Tile(Vec, f32, 16, 32), src0=Tile(Vec, f32, 16, 64))",
    evidence="device assertion",
)
def INTLV_03(o: Site) -> Message:
    """Of one source, each destination is valid in half of its columns.

    Decision: The manual also asks for equal valid regions, which contradicts this.
    """
    if o.has("src1"):
        return None
    if known(o.src0.vc) and o.src0.vc % 2:
        return f"{o:src0} has {o.src0.vc} valid columns; they must be even"
    for name in ("dst0", "dst1"):
        d = o.operands[name]
        if d.vr != o.src0.vr or 2 * d.vc != o.src0.vc:  # type: ignore[union-attr]
            return f"{o:{name}} is valid in {d.vr}x{d.vc}, {o:src0} in {o.src0.vr}x{o.src0.vc}; it takes half of it"  # type: ignore[union-attr]
    return None


RULES = (
    _rule(
        "INTLV-01",
        "TINTERLEAVE(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64), "
        "Tile(Vec, f32, 16, 64))",
        evidence="static_assert",
    )(
        "All tiles are row-major Vec tiles of one type: 8-, 16-, 32-bit integers, f16, bf16, f32.",
        not_plain,
        lambda o: differ(o, *_TILES),
        lambda o: not_of(o, I6 | F | BF16, *_TILES),
    ),
    _rule(
        "INTLV-02",
        "TINTERLEAVE(Tile(Vec, f32, 16, 64{|, valid_col=62}), Tile(Vec, f32, 16, 64), "
        "Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64))",
        evidence="device assertion",
        on="cpu",
    )(
        "Sources and destinations have equal valid regions with an even number of columns.",
        lambda o: valid_differs(o, *_TILES) if o.has("src1") else None,
        "src0.vc % 2 == 0 if src1 and known(src0.vc)",
        "{src0.vc} valid columns are no pairs",
    ),
    _rule("INTLV-04", "four tiles", "dst0 at the address of src0", what="No two tiles overlap.")(overlapping),
    _rule(
        "INTLV-NPU",
        "t = Tile(Vec, f32, 16, 64); {TADD(t, t, t)|TINTERLEAVE(Tile(Vec, f32, 16, 64), "
        "Tile(Vec, f32, 16, 64), t, Tile(Vec, f32, 16, 64))}",
        what="A2/A3 have no interleaving.",
        targets=("a2a3",),
        evidence="static_assert",
    )(missing),
)
DE_RULES = (
    *RULES,
    INTLV_03,
)


PACK_RULES = (
    _pack(
        "PACK-01",
        "{TMOV|TPACK}(Tile(Vec, u16, 16, 64), Tile(Vec, {u16|u32}, 16, 64))",
        what="TPACK exists on a5.",
        targets=("a2a3",),
        evidence="static_assert",
    )(missing),
    _pack(
        "PACK-02",
        "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, i32, 16, 64{|, ColMajor}))",
        what="Both tiles are row-major Vec tiles.",
        evidence="static_assert",
    )(not_plain),
    _pack("PACK-03", "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, i32, 16, 64{|, valid_col=60}))", evidence="device")(
        "Both tiles have one valid region.",
        lambda o: valid_differs(o, "dst", "src"),
    ),
    _pack("PACK-04", "TPACK(Tile(Vec, i16, 16, 64), Tile(Vec, {i32|i16}, 16, 64))", evidence="static_assert")(
        """Elements of 4 bytes become 2 or 1, of 2 bytes 1.

        Decision: Float sources are packed by their bits, too.
        """,
        "(src.dtype.size, dst.dtype.size) in ((4, 2), (4, 1), (2, 1))",
        "{src.dtype} does not become {dst.dtype}",
    ),
    _pack("PACK-05", "TPACK(Tile(Vec, {i16|int4}, 16, 64), Tile(Vec, i32, 16, 64))", evidence="ptokit")(
        "dst has elements of whole bytes.",
        "dst.dtype.bits >= 8",
        "no public source says how {src.dtype} become {dst.dtype}",
    ),
)
