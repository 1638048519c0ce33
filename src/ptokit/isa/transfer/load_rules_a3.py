"""Rules of TLOAD on a2a3 (load-store 11.3)."""

from __future__ import annotations

from ptokit.diagnostics import Severity
from ptokit.types.enums import TileType

from ..site import Site
from .conv_rules import assumed_conv
from .load_rules import DN, ND, NORMAL, NZ, assumed_strides, pair_text, path
from .transfer_rules import (
    BASE,
    Message,
    broken_block,
    disagrees,
    is_conv,
    mismatch,
    names,
    not_2d,
    other_rule,
    overlapping,
    partial_line,
    rule,
    run_length,
    too_many,
    unaligned_pitch,
)


def _vec(o: Site) -> bool:
    return o.dst.loc is TileType.Vec and not is_conv(o.dst)


def _mat(o: Site) -> bool:
    return o.dst.loc is TileType.Mat and not is_conv(o.dst)


@rule("LOAD-A3-01", "bf16", "e4m3")
def LOAD_A3_01(o: Site) -> Message:
    """Element types of 8 to 64 bits that are integers, f16, bf16 or f32."""
    if is_conv(o.dst) or o.dst.dtype in BASE:
        return None
    return f"the tile has element type {o.dst.dtype}; a2a3 loads {names(BASE)}"


@rule("LOAD-A3-02", "a mat tile", "a right tile")
def LOAD_A3_02(o: Site) -> Message:
    """Loads go to Vec and Mat tiles."""
    if o.dst.loc in (TileType.Vec, TileType.Mat):
        return None
    return f"{o:dst} is a {o.dst.loc.text} tile; loads go to vec and mat tiles"


@rule("LOAD-A3-04", "a u64 ND view to an ND tile", "a u64 NZ view to an Nz tile")
def LOAD_A3_04(o: Site) -> Message:
    """64-bit elements go ND to ND or DN to DN only."""
    if o.dst.dtype.size != 8 or is_conv(o.dst) or o.src.layout is None or path(o) in ("ND", "DN"):
        return None
    return f"{pair_text(o.dst, o.src.layout)} with {o.dst.dtype}; 64-bit elements go ND to ND or DN to DN only"


def _taken(o: Site, *paths: str) -> bool:
    """True if the pair of layouts is one of these (boxes of 512 bytes), or not known yet."""
    return o.src.layout is None or (path(o) in paths and (not o.dst.boxed or o.dst.fractal == 512))


@rule("LOAD-A3-06", "ND to a row-major tile without boxes", "ND to a column-major tile")
def LOAD_A3_06(o: Site) -> Message:
    """Vec tiles take ND to ND, DN to DN, NZ to Nz with 512-byte boxes."""
    if not _vec(o) or _taken(o, *NORMAL):
        return None
    return f"{pair_text(o.dst, o.src.layout)}; vec tiles take ND to ND, DN to DN and NZ to Nz with 512-byte boxes"


@rule("LOAD-A3-07", "ND to Nz", "DN to Nz")
def LOAD_A3_07(o: Site) -> Message:
    """Mat tiles take ND to ND or Nz, DN to DN or Zn, NZ to Nz, all with 512-byte boxes."""
    if not _mat(o) or _taken(o, *NORMAL, "ND->Nz", "DN->Zn"):
        return None
    return (
        f"{pair_text(o.dst, o.src.layout)}; mat tiles take ND to ND or Nz, DN to DN or Zn, and NZ to Nz, "
        "with 512-byte boxes"
    )


@rule("LOAD-A3-09", "valid 8x32 and g = (1, 1, 2, 4, 32)", "valid 7x32 and g = (1, 1, 1, 8, 32)")
def LOAD_A3_09(o: Site) -> Message:
    """Vec ND: Cv = g4, Rv = g0*g1*g2*g3, g3 < 4096."""
    if not _vec(o) or o.src.layout is not ND:
        return None
    return disagrees(o.dst, o.src, ND) or too_many(o.src, 3, 4096)


@rule("LOAD-A3-10", "valid 8x5 and g = (1, 1, 1, 8, 5)", "valid 7x5 and g = (1, 1, 1, 8, 5)")
def LOAD_A3_10(o: Site) -> Message:
    """Vec DN: Rv = g3, Cv = g0*g1*g2*g4, g4 < 4096."""
    if not _vec(o) or o.src.layout is not DN:
        return None
    return disagrees(o.dst, o.src, DN) or too_many(o.src, 4, 4096)


@rule("LOAD-A3-11", "f16 g = (1, 2, 4, 16, 16)", "f16 g = (1, 2, 8, 8, 16)")
def LOAD_A3_11(o: Site) -> Message:
    """NZ: g3 = 16 and g4 = 32 bytes of elements."""
    return broken_block(o.src, o.src.dtype.c0) if path(o) == "NZ" else None


@rule("LOAD-A3-12", "valid 32x64 i8 and g = (1, 2, 2, 16, 32)", "valid 32x96 i8 and g = (1, 2, 2, 16, 32)")
def LOAD_A3_12(o: Site) -> Message:
    """NZ: Rv = g2*g3, Cv = g0*g1*g4, g1 < 4096."""
    return (disagrees(o.dst, o.src, NZ) or too_many(o.src, 1, 4096)) if path(o) == "NZ" else None


def _vector(o: Site) -> bool:
    """A Mat row vector from ND or column vector from DN, which is loaded as one run of blocks."""
    return _mat(o) and (path(o), 1) in (("ND", o.dst.rows), ("DN", o.dst.cols))


@rule("LOAD-A3-13", "u32 g = (1, 1, 1, 7, 8)", "u32 g = (1, 1, 1, 7, 4)")
def LOAD_A3_13(o: Site) -> Message:
    """Mat ND with several rows: rows are multiples of 32 bytes, Cv = g4, Rv = g0*g1*g2*g3, g3 < 4096."""
    if not _mat(o) or path(o) != "ND" or _vector(o):
        return None
    return partial_line(o.src, 4) or disagrees(o.dst, o.src, ND) or too_many(o.src, 3, 4096)


@rule("LOAD-A3-14", "f16 g = (1, 1, 1, 16, 6)", "f16 g = (1, 1, 1, 4, 6)")
def LOAD_A3_14(o: Site) -> Message:
    """Mat DN with several columns: columns are multiples of 32 bytes, Rv = g3, Cv = g0*g1*g2*g4, g4 < 4096."""
    if not _mat(o) or path(o) != "DN" or _vector(o):
        return None
    return partial_line(o.src, 3) or disagrees(o.dst, o.src, DN) or too_many(o.src, 4, 4096)


@rule("LOAD-A3-15", "a 1x8 u32 tile and g = (1, 1, 1, 1, 8)", "a 1x8 u32 tile and g = (2, 1, 1, 1, 8)")
def LOAD_A3_15(o: Site) -> Message:
    """A Mat row vector from ND or column vector from DN: g0 = g1 = g2 = 1, and the shape of the valid region."""
    if not _vector(o):
        return None
    return not_2d(o.src, "a load of a mat vector") or disagrees(o.dst, o.src, o.src.layout)


@rule("LOAD-A3-16", "g = (1, 1, 1, 48, 16)", "g = (1, 1, 3, 16, 16)")
def LOAD_A3_16(o: Site) -> Message:
    """ND to Nz and DN to Zn: g0 = g1 = g2 = 1 and 512-byte boxes."""
    if not _mat(o) or path(o) not in ("ND->Nz", "DN->Zn"):
        return None
    if o.dst.fractal != 512:
        return f"{path(o)} with boxes of {o.dst.fractal} bytes; it makes boxes of 512"
    return not_2d(o.src, path(o))


def out_of_range(what: str, value: object, limit: int) -> Message:
    """A message if a number of the transfer descriptor is known to be outside 1..limit."""
    if value < 1 or value > limit:  # type: ignore[operator]
        return f"{what} of the view is {value}; the transfer takes 1..{limit}"
    return None


@rule("LOAD-A3-17", "t3 = 65535", "t3 = 65971")
def LOAD_A3_17(o: Site) -> Message:
    """ND to Nz: 1..16384 rows of 1..65535 elements, pitch 1..65535, tile of at most 16384 rows."""
    if not _mat(o) or path(o) != "ND->Nz":
        return None
    v = o.src
    if o.dst.rows > 16384:
        return f"the tile has {o.dst.rows} rows; ND->Nz fills at most 16384"
    pitch = out_of_range("stride 3", v.stride[3], 65535) if v.shape[3] > 1 else None
    return out_of_range("dimension 3", v.shape[3], 16384) or out_of_range("dimension 4", v.shape[4], 65535) or pitch


@rule("LOAD-A3-18", "t4 = 65535", "t4 = 68401")
def LOAD_A3_18(o: Site) -> Message:
    """DN to Zn: 1..16384 columns of 1..65535 elements, pitch 1..65535, tile of at most 16384 columns."""
    if not _mat(o) or path(o) != "DN->Zn":
        return None
    v = o.src
    if o.dst.cols > 16384:
        return f"the tile has {o.dst.cols} columns; DN->Zn fills at most 16384"
    pitch = out_of_range("stride 4", v.stride[4], 65535) if v.shape[4] > 1 else None
    return out_of_range("dimension 4", v.shape[4], 16384) or out_of_range("dimension 3", v.shape[3], 65535) or pitch


@rule("LOAD-A3-21", "16384x16 u8", "16512x32 u8", severity=Severity.WARNING)
def LOAD_A3_21(o: Site) -> Message:
    """A Mat tile to load has at most 16384 rows."""
    if _mat(o) and o.dst.rows > 16384:
        return f"the tile has {o.dst.rows} rows; the manual has at most 16384 for a mat tile to load"
    return None


@rule("LOAD-A3-D2", "bf16 mat rows of 48, pitch 64", "bf16 mat rows of 48, pitch 62")
def LOAD_A3_D2(o: Site) -> Message:
    """Gaps between runs are not negative; Mat: every pitch is a multiple of 32 bytes and the gap fits 16 bits of
    blocks; Vec: it fits 32 bits. ND to Nz and DN to Zn take any pitch.

    Decision: The outer strides of Vec loads are plain offsets and free; those of Mat loads count in blocks.
    """
    kind, view = path(o), o.src
    if kind not in NORMAL or _vector(o):
        return None
    negative = overlapping(view, view.layout, inner_only=_vec(o))
    if negative or _mat(o):
        return negative or unaligned_pitch(view, view.layout)
    length, dims = run_length(view, view.layout)
    gap = (view.stride[dims[-1]] - length) * view.dtype.size
    if view.shape[dims[-1]] > 1 and gap >= 1 << 32:
        return f"stride {dims[-1]} of the view leaves a gap of {gap} bytes, which does not fit 32 bits"
    return None


@rule("LOAD-A3-D3", "valid 15x16 and g = (1, 1, 1, 15, 16)", "valid 15x16 and g = (1, 1, 1, 32, 16)")
def LOAD_A3_D3(o: Site) -> Message:
    """ND to Nz and DN to Zn move g3 x g4 elements: the valid region has that shape."""
    if not _mat(o) or path(o) not in ("ND->Nz", "DN->Zn"):
        return None
    g = o.src.shape
    return mismatch(o.dst, g[3], g[4], "what the engine moves, g3 x g4,")


@rule("LOAD-A3-08", "4095x32 u8", "4664x32 u8")
def LOAD_A3_08(o: Site) -> Message:
    """A Vec tile loaded from ND has fewer than 4096 rows."""
    return (
        f"the tile has {o.dst.rows} rows; a vec tile to load from ND has fewer than 4096"
        if _vec(o) and o.src.layout is ND and o.dst.rows >= 4096
        else None
    )


@rule("LOAD-A3-D1", "ND t = (256, 256, 256, 64, 1)", "ND t = (256, 256, 256, 64, 4)")
def LOAD_A3_D1(o: Site) -> Message:
    """Strides that the transfer takes for granted hold: ND t4 = 1; DN t3 = 1; NZ t4 = 1, t3 = C0, t2 = 16*C0.

    The device never reads them and would load other elements.
    """
    return assumed_strides(o) or assumed_conv(o)


A3 = (
    LOAD_A3_01,
    LOAD_A3_02,
    LOAD_A3_04,
    LOAD_A3_06,
    LOAD_A3_07,
    LOAD_A3_08,
    LOAD_A3_09,
    LOAD_A3_10,
    LOAD_A3_11,
    LOAD_A3_12,
    LOAD_A3_13,
    LOAD_A3_14,
    LOAD_A3_15,
    LOAD_A3_16,
    LOAD_A3_17,
    LOAD_A3_18,
    LOAD_A3_21,
    LOAD_A3_D1,
    LOAD_A3_D2,
    LOAD_A3_D3,
)

for _id, _what, _where in (
    ("LOAD-A3-03", "Tile and view have elements of one size.", "LS-COM-04"),
    ("LOAD-A3-05", "All dimensions of the view and the valid region are positive.", "LS-COM-03"),
):
    other_rule(_id, _what, accepted=f"see {_where}", rejected=f"see {_where}", why=f"Reported as {_where}.")
