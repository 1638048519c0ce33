"""Which pairs of layouts TLOAD takes, and its rules on cpu and a2a3 (load-store 3, 11)."""

from __future__ import annotations

from ptokit.diagnostics.rules import Doubt, need
from ptokit.types.enums import Layout, TileType

from ..meaning.moves import by_lines
from ..site import Site, TileInfo, product
from .conv_transfer import assumed_conv
from .rules import (
    BASE,  # noqa: F401
    EXTENDED_TYPES,
    MX,  # noqa: F401
    PLAIN,
    Message,
    broken_block,
    differs_by_blocks,
    differs_by_lines,
    disagrees,
    extent,
    is_conv,
    mismatch,
    names,  # noqa: F401
    not_2d,
    nz_strides,
    other_rule,
    overlapping,
    partial_line,
    rule,
    run_length,
    too_many,
    unaligned_pitch,
    wrong_stride,
)

# Which pairs of layouts TLOAD takes, and its rules on cpu (load-store 3, 11.2).


ND, DN, NZ = PLAIN
NORMAL = ("ND", "DN", "NZ")  # pairs of equal layouts


def path(o: Site) -> str:
    """How the transfer engine takes the pair of layouts: ``ND``, ``DN``, ``NZ``, ``ND->Nz``, ``DN->Nz``, ``DN->Zn``.

    An empty string for convolution tiles, unknown layouts and pairs that no engine takes.
    """
    tile, layout = o.dst, o.src.layout
    if is_conv(tile) or layout not in PLAIN:
        return ""
    name = tile.layout_name
    if layout is NZ:
        return "NZ" if name == "Nz" else ""
    if name == layout.name:
        return name
    return f"{layout.name}->{name}" if (layout.name, name) in (("ND", "Nz"), ("DN", "Nz"), ("DN", "Zn")) else ""


def pair_text(tile: TileInfo, layout: Layout | None) -> str:
    """The pair of layouts for messages."""
    boxes = f" ({tile.fractal}-byte boxes)" if tile.boxed else ""
    return f"{layout.name if layout is not None else '?'} view to {tile.layout_name}{boxes} {tile.loc.text} tile"


def assumed_strides(o: Site) -> Message:
    """Strides that the path of a Vec or Mat load takes for granted (load-store 3.2).

    Between tiles without boxes and global memory lines are moved as if their elements followed each other.
    """
    kind, view = path(o), o.src
    if not kind:
        return None
    if kind == "NZ":
        return wrong_stride(view, nz_strides(view), "NZ to Nz")
    wrong = wrong_stride(view, {4: 1} if kind.startswith("ND") else {3: 1}, kind)
    in_lines = by_lines(o.dst.spec, view.layout, o.target) and isinstance(wrong, str)
    return Doubt(wrong) if in_lines else wrong


# cpu -----------------------------------------------------------------------------------------------------------------


@rule("LOAD-CPU-04", "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, ({16|8}, 16)))", evidence="simulator")
def LOAD_CPU_04(o: Site) -> Message:
    """An ND or DN view has the shape of the valid region, seen through its own layout and through the tile's.

    Decision: Both conditions are required, so ND into a column-major tile needs g0 = g1 = g2 = 1.
    """
    tile, view, g = o.dst, o.src, o.src.shape
    if view.layout not in (ND, DN) or is_conv(tile):
        return None
    wrong = disagrees(tile, view, view.layout)
    if wrong:
        return wrong
    if tile.row_major:
        return mismatch(tile, product(g[:4]), g[4], "the view of a row-major tile")
    return mismatch(tile, g[3], g[0] * g[1] * g[2] * g[4], "the view of a column-major tile")


LOAD_CPU_07 = rule(
    "LOAD-CPU-07",
    "x: Ptr[{f16|hif8}]; TLOAD(Tile(Vec, {f16|hif8}, 4, 32), GlobalTensor(x, (4, 32)))",
    evidence="simulator",
)(
    """
    The cpu target loads no FP8, HiFloat8 and FP4 (unless --extended).

    Decision: The simulator would take them; the seed's table of types per target does not list them.
    """,
    need(
        "target.supports(dst.dtype, extended=o.extended)",
        "the tile has element type {dst.dtype}, which cpu does not load",
        EXTENDED_TYPES,
    ),
    need(
        "target.supports(src.dtype, extended=o.extended)",
        "the view has element type {src.dtype}, which cpu does not load",
        EXTENDED_TYPES,
    ),
)


CPU = (
    rule(
        "LOAD-CPU-02",
        "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, (16, 16){|, layout=Layout.NHWC}))",
        evidence="static_assert",
    )(
        "The view is ND, DN, NZ or an MX layout.",
        "src.layout in PLAIN + MX if not is_conv(dst) and src.layout is not None",
        "the view has layout {src.layout.name}; loads into tiles take {', '.join((x.name for x in PLAIN + MX))}",
    ),
    rule(
        "LOAD-CPU-03",
        "x: Ptr[f16]; TLOAD(Tile(Vec, f16, {32|48}, 32, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (2, 2, 16, 16), layout=Layout.NZ))",
        evidence="simulator",
    )(
        "An NZ view has the shape of the valid region: Rv = g2*g3, Cv = g0*g1*g4.",
        lambda o: disagrees(o.dst, o.src, NZ) if o.src.layout is NZ and (not is_conv(o.dst)) else None,
    ),
    LOAD_CPU_04,
    LOAD_CPU_07,
)

other_rule("LOAD-CPU-01", "Tile and view have elements of one size.", evidence="static_assert", reported_as="LS-COM-04")


# Rules of TLOAD on a2a3 (load-store 11.3).


def _vec(o: Site) -> bool:
    return o.dst.loc is TileType.Vec and not is_conv(o.dst)


def _mat(o: Site) -> bool:
    return o.dst.loc is TileType.Mat and not is_conv(o.dst)


def _taken(o: Site, *paths: str) -> bool:
    """True if the pair of layouts is one of these (boxes of 512 bytes), or not known yet."""
    return o.src.layout is None or (path(o) in paths and (not o.dst.boxed or o.dst.fractal == 512))


def _vector(o: Site) -> bool:
    """A Mat row vector from ND or column vector from DN, which is loaded as one run of blocks."""
    return _mat(o) and (path(o), 1) in (("ND", o.dst.rows), ("DN", o.dst.cols))


def _one(o: Site) -> bool:
    """True for one column, which nothing follows: the gaps in UB are those of the view, not of the valid region."""
    return extent(o.src, DN)[1] == 1


def out_of_range(what: str, value: object, limit: int) -> Message:
    """A message if a number of the transfer descriptor is known to be outside 1..limit."""
    if value < 1 or value > limit:  # type: ignore[operator]
        return f"{what} of the view is {value}; the transfer takes 1..{limit}"
    return None


@rule(
    "LOAD-A3-17",
    "x: Ptr[u8]; TLOAD(Tile(Mat, u8, 16, 32, ColMajor, slayout=SLayout.RowMajor), "
    "GlobalTensor(x, (16, 32), ({65535|65536}, 1)))",
    evidence="static_assert device assertion",
)
def LOAD_A3_17(o: Site) -> Message:
    """ND to Nz: 1..16384 rows of 1..65535 elements, pitch 1..65535, tile of at most 16384 rows."""
    if not _mat(o) or path(o) != "ND->Nz":
        return None
    v = o.src
    if o.dst.rows > 16384:
        return f"the tile has {o.dst.rows} rows; ND->Nz fills at most 16384"
    pitch = out_of_range("stride 3", v.stride[3], 65535) if v.shape[3] > 1 else None
    return out_of_range("dimension 3", v.shape[3], 16384) or out_of_range("dimension 4", v.shape[4], 65535) or pitch


@rule(
    "LOAD-A3-18",
    "x: Ptr[i8]; TLOAD(Tile(Mat, i8, 32, 16, slayout=SLayout.ColMajor), GlobalTensor(x, (32, 16), "
    "(1, {65535|65536}), layout=Layout.DN))",
    evidence="static_assert device assertion",
)
def LOAD_A3_18(o: Site) -> Message:
    """DN to Zn: 1..16384 columns of 1..65535 elements, pitch 1..65535, tile of at most 16384 columns."""
    if not _mat(o) or path(o) != "DN->Zn":
        return None
    v = o.src
    if o.dst.cols > 16384:
        return f"the tile has {o.dst.cols} columns; DN->Zn fills at most 16384"
    pitch = out_of_range("stride 4", v.stride[4], 65535) if v.shape[4] > 1 else None
    return out_of_range("dimension 4", v.shape[4], 16384) or out_of_range("dimension 3", v.shape[3], 65535) or pitch


@rule(
    "LOAD-A3-D2",
    "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, (16, 16), ({40|0}, 1)))",
    evidence="device",
)
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


@rule(
    "LOAD-A3-D3",
    "x: Ptr[f32]; TLOAD(Tile(Mat, f32, {48|32}, 16, ColMajor{|, valid_row=15}, slayout=SLayout.RowMajor), "
    "GlobalTensor(x, ({48|32}, 16)))",
    evidence="device",
)
def LOAD_A3_D3(o: Site) -> Message:
    """ND to Nz and DN to Zn move g3 x g4 elements: the valid region has that shape.

    Decision: Of a view that fits into the tile all is moved, whatever is valid.
    """
    if not _mat(o) or path(o) not in ("ND->Nz", "DN->Zn"):
        return None
    g = o.src.shape
    return _fits(o, mismatch(o.dst, g[3], g[4], "what the engine moves, the last two sizes of the view,"))


def _fits(o: Site, wrong: Message) -> Message:
    """A finding about a view that differs from the valid region: a doubt where the tile holds all of it."""
    rows, cols = extent(o.src, DN if path(o).startswith("DN") else ND)
    if not isinstance(wrong, tuple) or rows > o.dst.rows or cols > o.dst.cols:
        return wrong
    return Doubt(wrong[0]), wrong[1]


A3 = (
    rule(
        "LOAD-A3-01",
        "x: Ptr[{bf16|e4m3}]; TLOAD(Tile(Vec, {bf16|e4m3}, 4, 32), GlobalTensor(x, (4, 32)))",
        evidence="static_assert",
    )(
        "Element types of 8 to 64 bits that are integers, f16, bf16 or f32.",
        "dst.dtype in BASE if not is_conv(dst)",
        "the tile has element type {dst.dtype}; a2a3 loads {names(BASE)}",
    ),
    rule(
        "LOAD-A3-02",
        "x: Ptr[{f32|f16}]; TLOAD({Tile|TileRight}({Vec, f32|f16}, 16, 16), GlobalTensor(x, (16, 16)))",
        evidence="static_assert",
    )(
        "Loads go to Vec and Mat tiles.",
        "dst.loc in (Vec, Mat)",
        "{dst} is a {dst.loc.text} tile; loads go to vec and mat tiles",
    ),
    rule(
        "LOAD-A3-04",
        "x: Ptr[{f32|u64}]; TLOAD(Tile(Vec, {f32|u64}, 16, {16|8}, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (2, 1, 16, {8|4}), layout=Layout.NZ))",
        evidence="static_assert",
    )(
        "64-bit elements go ND to ND or DN to DN only.",
        "path(o) in ('ND', 'DN') if dst.dtype.size == 8 and not is_conv(dst) and src.layout is not None",
        "{pair_text(dst, src.layout)} with {dst.dtype}; 64-bit elements go ND to ND or DN to DN only",
    ),
    rule(
        "LOAD-A3-06",
        "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16{|, ColMajor}), GlobalTensor(x, (16, 16)))",
        evidence="static_assert",
    )(
        "Vec tiles take ND to ND, DN to DN, NZ to Nz with 512-byte boxes.",
        "_taken(o, *NORMAL) if _vec(o)",
        "{pair_text(dst, src.layout)}; vec tiles take ND to ND, DN to DN and NZ to Nz with 512-byte boxes",
    ),
    rule(
        "LOAD-A3-07",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 32, 32, {|ColMajor, }slayout=SLayout.{ColMajor|RowMajor}), "
        "GlobalTensor(x, (32, 32), (1, 32), layout=Layout.DN))",
        evidence="static_assert",
    )(
        "Mat tiles take ND to ND or Nz, DN to DN or Zn, NZ to Nz, all with 512-byte boxes.",
        "_taken(o, *NORMAL, 'ND->Nz', 'DN->Zn') if _mat(o)",
        "{pair_text(dst, src.layout)}; mat tiles take ND to ND or Nz, DN to DN or Zn, and NZ to Nz, "
        "with 512-byte boxes",
    ),
    rule(
        "LOAD-A3-08",
        "x: Ptr[u8]; TLOAD(Tile(Vec, u8, {4095|4096}, 32, valid_row=10), GlobalTensor(x, (10, 32)))",
        evidence="static_assert",
    )(
        "A Vec tile loaded from ND has fewer than 4096 rows.",
        "dst.rows < 4096 if _vec(o) and src.layout is ND",
        "the tile has {dst.rows} rows; a vec tile to load from ND has fewer than 4096",
    ),
    rule(
        "LOAD-A3-09",
        "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, ({16|15}, 16)))",
        evidence="device assertion",
    )(
        "Vec ND: Cv = g4, Rv = g0*g1*g2*g3, g3 < 4096.",
        "if _vec(o) and src.layout is ND",
        lambda o: too_many(o.src, 3, 4096),
        lambda o: differs_by_lines(o, ND),
    ),
    rule(
        "LOAD-A3-10",
        "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 8, 6, ColMajor), GlobalTensor(x, ({2, |}8, {3|5}), ({24, |}1, 8), "
        "layout=Layout.DN))",
        evidence="device assertion",
    )(
        "Vec DN: Rv = g3, Cv = g0*g1*g2*g4, g4 < 4096.",
        "if _vec(o) and src.layout is DN",
        lambda o: too_many(o.src, 4, 4096),
        lambda o: differs_by_lines(o, DN) if o.dst.vr == o.src.shape[3] or _one(o) else disagrees(o.dst, o.src, DN),
    ),
    rule(
        "LOAD-A3-11",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (2, {2, 16|4, 8}, 16), layout=Layout.NZ))",
        evidence="static_assert",
    )(
        "NZ: g3 = 16 and g4 = 32 bytes of elements.",
        lambda o: broken_block(o.src, o.src.dtype.c0) if path(o) == "NZ" else None,
    ),
    rule(
        "LOAD-A3-12",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 32, {32|48}, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (2, 2, 16, 16), layout=Layout.NZ))",
        evidence="device assertion",
    )(
        "NZ: Rv = g2*g3, Cv = g0*g1*g4, g1 < 4096.",
        lambda o: too_many(o.src, 1, 4096) or differs_by_blocks(o) if path(o) == "NZ" else None,
    ),
    rule(
        "LOAD-A3-13",
        "x: Ptr[u32]; TLOAD(Tile(Mat, u32, 7, 8{|, valid_col=4}), GlobalTensor(x, (7, {8|4})))",
        evidence="device assertion",
    )(
        "Mat ND with several rows: rows are multiples of 32 bytes, Cv = g4, Rv = g0*g1*g2*g3, g3 < 4096.",
        "if _mat(o) and path(o) == 'ND' and not _vector(o)",
        lambda o: partial_line(o.src, 4),
        lambda o: disagrees(o.dst, o.src, ND),
        lambda o: too_many(o.src, 3, 4096),
    ),
    rule(
        "LOAD-A3-14",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 16, 6, ColMajor{|, valid_row=4}), GlobalTensor(x, ({16|4}, 6), "
        "(1, {16|4}), layout=Layout.DN))",
        evidence="device assertion",
    )(
        "Mat DN with several columns: columns are multiples of 32 bytes, Rv = g3, Cv = g0*g1*g2*g4, g4 < 4096.",
        "if _mat(o) and path(o) == 'DN' and not _vector(o)",
        lambda o: partial_line(o.src, 3),
        lambda o: disagrees(o.dst, o.src, DN),
        lambda o: too_many(o.src, 4, 4096),
    ),
    rule(
        "LOAD-A3-15",
        "x: Ptr[u32]; TLOAD(Tile(Mat, u32, 1, 8), GlobalTensor(x, ({1|2}, 1, 1, 1, 8)))",
        evidence="static_assert",
    )(
        "A Mat row vector from ND or column vector from DN: g0 = g1 = g2 = 1, and the shape of the valid region.",
        "if _vector(o)",
        lambda o: not_2d(o.src, "a load of a mat vector"),
        lambda o: _fits(o, disagrees(o.dst, o.src, o.src.layout)),
    ),
    rule(
        "LOAD-A3-16",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 48, 16, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, ({48|3, 16}, 16)))",
        evidence="static_assert",
    )(
        "ND to Nz and DN to Zn: g0 = g1 = g2 = 1 and 512-byte boxes.",
        "dst.fractal == 512 if _mat(o) and path(o) in ('ND->Nz', 'DN->Zn')",
        "{path(o)} with boxes of {dst.fractal} bytes; it makes boxes of 512",
        lambda o: not_2d(o.src, path(o)) if _mat(o) and path(o) in ("ND->Nz", "DN->Zn") else None,
    ),
    LOAD_A3_17,
    LOAD_A3_18,
    rule(
        "LOAD-A3-21",
        "x: Ptr[u8]; TLOAD(Tile(Mat, u8, {16384|16385}, 32, valid_row=16), GlobalTensor(x, (16, 32)))",
        evidence="document",
    )(
        "A Mat tile to load has at most 16384 rows.",
        "dst.rows <= 16384 if _mat(o)",
        "the tile has {dst.rows} rows; the manual has at most 16384 for a mat tile to load",
    ),
    rule(
        "LOAD-A3-D1",
        "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, (16, 16), (40, {1|2})))",
        evidence="device",
    )(
        """Strides that the transfer takes for granted hold: ND t4 = 1; DN t3 = 1; NZ t4 = 1, t3 = C0, t2 = 16*C0.

        The device never reads them and would load other elements.
        """,
        assumed_strides,
        assumed_conv,
    ),
    LOAD_A3_D2,
    LOAD_A3_D3,
)

for _id, _what, _rests, _where in (
    ("LOAD-A3-03", "Tile and view have elements of one size.", "static_assert", "LS-COM-04"),
    ("LOAD-A3-05", "All dimensions of the view and the valid region are positive.", "device assertion", "LS-COM-03"),
):
    other_rule(_id, _what, evidence=_rests, reported_as=_where)
