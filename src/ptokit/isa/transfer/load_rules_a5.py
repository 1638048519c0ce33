"""Rules of TLOAD on a5 (load-store 11.4)."""

from __future__ import annotations

from ptokit.diagnostics import Doubt
from ptokit.diagnostics.rules import need
from ptokit.types.dtypes import hif4
from ptokit.types.enums import Layout, PadValue, TileType  # noqa: F401
from ptokit.types.tensor import HIF4_PAIRS, SCALE_GROUPS, is_custom  # noqa: F401

from ..site import Site, known
from .conv_transfer import assumed_conv
from .load_rules import assumed_strides, pair_text, path  # noqa: F401
from .rules import (
    MX,
    MX_A,
    MX_B,
    PLAIN,
    Message,
    broken_block,
    differs_by_blocks,
    differs_by_lines,
    disagrees,
    extent,
    is_conv,
    not_2d,
    other_rule,
    rule,
    run_length,
    wrong_dim,
    wrong_stride,
)

ND, DN, NZ = PLAIN


def is_mx(o: Site) -> bool:
    """A load of MX scales: an MX layout, or a single row of scales from ND."""
    one_row = o.src.layout is ND and _scales(o, "Zz") and o.dst.rows == 1
    return not is_conv(o.dst) and (o.src.layout in MX or one_row)


def _scales(o: Site, name: str) -> bool:
    return o.dst.layout_name == name and o.dst.fractal == 32


def _vec(o: Site) -> bool:
    return o.dst.loc is TileType.Vec and not is_conv(o.dst)


def _mat(o: Site) -> bool:
    """A Mat load other than of scales."""
    return o.dst.loc is TileType.Mat and not is_conv(o.dst) and not is_mx(o)


LOAD_A5_02 = rule(
    "LOAD-A5-02",
    "x: Ptr[u64]; TLOAD(Tile(Vec, u64, 4, 16, pad=PadValue.{Zero|Min}), GlobalTensor(x, (4, 16)))",
    evidence="static_assert",
)(
    "64-bit integers are padded with Null or Zero.",
    "dst.pad in (PadValue.Null, PadValue.Zero) if dst.dtype.size == 8 and not is_conv(dst)",
    "pad value {f'{dst.pad:#x}' if is_custom(dst.pad) else PadValue(dst.pad).name} with {dst.dtype}; "
    "64-bit elements take Null or Zero",
)


@rule(
    "LOAD-A5-05",
    "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, ({16|15}, 16)))",
    evidence="static_assert device document",
)
def LOAD_A5_05(o: Site) -> Message:
    """Vec ND: Cv = g4 and Rv = g0*g1*g2*g3.

    The static_assert compares types of C++. Decision: A view may be larger: the device moves its rows, and as many
    columns as are valid.
    """
    return differs_by_lines(o, ND) if _vec(o) and o.src.layout is ND else None


def _elements(o: Site) -> Message:
    if o.dst.spec.numel > 512 * 1024:
        return f"the tile has {o.dst.spec.numel} elements; a mat tile to load has at most {512 * 1024}"
    return None


@rule(
    "LOAD-A5-14",
    "x: Ptr[{e8m0|i8}]; TLOAD(Tile(Mat, {e8m0|i8}, 32, 8, slayout=SLayout.RowMajor, fractal=32), "
    "GlobalTensor(x, (32, 4, 2), layout=Layout.MX_A_ND))",
    evidence="static_assert",
)
def LOAD_A5_14(o: Site) -> Message:
    """MX scales are e8m0 on both sides, on a6 also u8, in boxes of 32 bytes, at most 524288 of them.

    Only a6 has views of the scales of HiFloat4.
    """
    if not is_mx(o):
        return None
    kinds = ("e8m0", "u8") if hif4 in o.target.dtypes else ("e8m0",)
    if o.src.layout in HIF4_PAIRS and hif4 not in o.target.dtypes:
        return f"{o.target.name} has no HiFloat4, and no {o.src.layout.name} views of its scales"
    for what, dtype in (("the tile", o.dst.dtype), ("the view", o.src.dtype)):
        if dtype.name not in kinds:
            return f"{what} has element type {dtype}; MX scales are {' or '.join(kinds)}"
    if o.dst.fractal != 32:
        return f"the tile has boxes of {o.dst.fractal} bytes; MX scales are in boxes of 32"
    return _elements(o)


@rule(
    "LOAD-A5-15",
    "x: Ptr[e8m0]; TLOAD(Tile(Mat, e8m0, 32, 8, slayout=SLayout.RowMajor, fractal=32), "
    "GlobalTensor(x, ({2|3}, 4, 16, 2), layout=Layout.MX_A_ZZ))",
    evidence="static_assert",
)
def LOAD_A5_15(o: Site) -> Message:
    """MX_A_ZZ and MX_B_NN: g3 = 16, g4 = 2, of HIF4_A_ZZ and HIF4_B_NN 4, and the tile holds the whole view."""
    v, g = o.src, o.src.shape
    if not is_mx(o) or v.layout not in SCALE_GROUPS:
        return None
    wrong = wrong_dim(v, 3, 16) or wrong_dim(v, 4, min(SCALE_GROUPS[v.layout]))
    if wrong:
        return wrong
    long, pairs = g[0] * g[1] * g[3], g[2] * g[4]
    rows, cols = (long, pairs) if v.layout in MX_A else (pairs, long)
    if rows > o.dst.rows or cols > o.dst.cols:
        return f"the view holds {rows}x{cols} scales, more than the {o.dst.rows}x{o.dst.cols} tile"
    return None


@rule(
    "LOAD-A5-16",
    "x: Ptr[e8m0]; TLOAD(Tile(Mat, e8m0, 32, 8, slayout=SLayout.RowMajor, fractal=32), "
    "GlobalTensor(x, ({|2, }32, 4, 2), layout=Layout.MX_A_ND))",
    evidence="static_assert",
)
def LOAD_A5_16(o: Site) -> Message:
    """MX_A_ND, MX_A_DN, MX_B_ND, MX_B_DN: g0 = g1 = 1 and g4 = 2."""
    if not is_mx(o) or o.src.layout not in MX or o.src.layout in SCALE_GROUPS:
        return None
    return wrong_dim(o.src, 0, 1) or wrong_dim(o.src, 1, 1) or wrong_dim(o.src, 4, 2)


@rule(
    "LOAD-A5-17",
    "x: Ptr[e8m0]; TLOAD(Tile(Mat, e8m0, {32|1}, {8|32}, slayout=SLayout.RowMajor, fractal=32), "
    "GlobalTensor(x, ({32, 4|16}, 2), layout=Layout.MX_A_ND))",
    evidence="static_assert",
)
def LOAD_A5_17(o: Site) -> Message:
    """One row of scales in a Zz tile: g0 = g1 = g2 = g3 = 1."""
    if not is_mx(o) or o.dst.rows != 1 or o.dst.layout_name != "Zz":
        return None
    for d in range(4):
        wrong = wrong_dim(o.src, d, 1)
        if wrong:
            return wrong
    return None


def _even(size: object) -> bool:
    return not known(size) or size % 2 == 0  # type: ignore[operator]


def _mx_even(o: Site) -> Message:
    """Scales come in pairs: Cv is even for the left operand, Rv for the right."""
    if not is_mx(o):
        return None
    what, count = ("rows", o.dst.vr) if o.src.layout in MX_B else ("columns", o.dst.vc)
    return None if _even(count) else f"{count} valid {what} of scales; they come in pairs"


def _fills_groups(o: Site) -> bool:
    """True if the view is the whole groups of 16 x 2 that the valid region begins."""
    g, a = o.src.shape, o.src.layout in MX_A
    if o.src.layout not in SCALE_GROUPS or not known(*g, o.dst.vr, o.dst.vc):
        return False
    long, pairs = (o.dst.vr, o.dst.vc) if a else (o.dst.vc, o.dst.vr)
    few = min(SCALE_GROUPS[o.src.layout])
    return bool(g == (1, -(-long // 16), -(-pairs // few), 16, few))


def _more_groups(o: Site) -> Message:
    """A message if valid region and view differ: a doubt where the device moves groups that are not valid, too."""
    wrong = disagrees(o.dst, o.src, o.src.layout)
    if o.src.layout not in SCALE_GROUPS or not isinstance(wrong, tuple):
        return wrong
    rows, cols = extent(o.src, o.src.layout)
    return wrong if rows < o.dst.vr or cols < o.dst.vc else (Doubt(wrong[0]), wrong[1])


@rule(
    "LOAD-A5-D1", "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 16, 16), GlobalTensor(x, (16, 16){|, (48, 3)}))", evidence="device"
)
def LOAD_A5_D1(o: Site) -> Message:
    """Strides that the transfer takes for granted hold; the view is the valid region (scales: in whole groups).

    The device never reads these strides, and moves the shape of one side only.
    """
    v, layout = o.src, o.src.layout
    if is_mx(o):
        if layout is ND:
            return wrong_stride(v, {4: 1}, "ND to Zz") or disagrees(o.dst, v, ND)
        few = min(SCALE_GROUPS.get(layout, (2,)))
        strides = {2: 16 * few, 3: few, 4: 1} if layout in SCALE_GROUPS else {3: 2, 4: 1}
        wrong = wrong_stride(v, strides, layout.name)
        return wrong or (None if _mx_even(o) or _fills_groups(o) else _more_groups(o))
    wrong = assumed_strides(o) or assumed_conv(o)
    if not path(o) or (_vec(o) and layout is ND):
        return wrong
    if path(o) in ("ND", "DN"):
        return differs_by_lines(o, layout) or wrong
    if path(o) == "DN->Zn":
        wrong = wrong or not_2d(v, "DN to Zn")
    return wrong or (differs_by_blocks(o) if path(o) == "NZ" else disagrees(o.dst, v, layout))


@rule(
    "LOAD-A5-D2",
    "x: Ptr[e1m2]; TLOAD(Tile(Vec, e1m2, 9, 64, valid_col=14), GlobalTensor(x, (9, 14), ({16|15}, 1)))",
    evidence="device",
)
def LOAD_A5_D2(o: Site) -> Message:
    """4-bit elements: strides but those along the lines, and lengths of the lines are even."""
    if not o.dst.dtype.packed or is_conv(o.dst):
        return None
    along = 3 if o.src.layout is DN else 4
    for d in {0, 1, 2, 3, 4} - {along}:
        if o.src.shape[d] > 1 and not _even(o.src.stride[d]):
            return f"stride {d} of the view is {o.src.stride[d]}; a row of 4-bit elements must start at a byte"
    sizes = (("valid rows", o.dst.vr), ("rows", o.dst.rows)), (("valid columns", o.dst.vc), ("columns", o.dst.cols))
    for what, count in sizes[along - 3]:
        if not _even(count):
            return f"the tile has {count} {what} of {o.dst.dtype}; two elements share a byte, so it must be even"
    return None


@rule(
    "LOAD-A5-D3",
    "x: Ptr[f32]; TLOAD(Tile(Vec, f32, 2, {8|16384}), GlobalTensor(x, (2, {8|16384})))",
    evidence="document",
)
def LOAD_A5_D3(o: Site) -> Message:
    """Vec: runs number at most 65535 of at most 65535 bytes, and a stride fits 40 bits of bytes.

    The manual has 16 bits for the length; the library passes 32 bits, and kernels load longer rows.
    """
    v = o.src
    kind = path(o)
    if not _vec(o) or kind not in ("ND", "DN", "NZ"):
        return None
    length, dims = run_length(v, v.layout)
    inner = dims[-1]
    size = length * v.dtype.bits // 8
    if v.shape[inner] > 65535:
        return f"dimension {inner} of the view is {v.shape[inner]}; a transfer counts to 65535"
    if size > 65535:
        return f"runs of {size} bytes; a transfer moves at most 65535 bytes per run"
    for d in dims:
        pitch = v.stride[d] * v.dtype.bits // 8
        if v.shape[d] > 1 and pitch >= 1 << 40:
            return f"stride {d} of the view is {pitch} bytes, which does not fit 40 bits"
    return None


A5 = (
    LOAD_A5_02,
    rule(
        "LOAD-A5-04",
        "x: Ptr[{u32|f32}]; TLOAD(Tile({Mat|Vec}, {u32|f32}, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (16, 16)))",
        evidence="static_assert",
    )(
        "Vec tiles take ND to ND, DN to DN, NZ to Nz.",
        "path(o) in ('ND', 'DN', 'NZ') if _vec(o) and src.layout is not None",
        "{pair_text(dst, src.layout)}; vec tiles take ND to ND, DN to DN and NZ to Nz",
    ),
    LOAD_A5_05,
    rule(
        "LOAD-A5-06",
        "x: Ptr[i8]; TLOAD(Tile(Vec, i8, 32, 64, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, ({2|4}, 2, 16, {32|16}), layout=Layout.NZ))",
        evidence="static_assert",
    )(
        "Vec NZ: g3 = 16 and g4 = 32 bytes of elements (64 of 4 bits).",
        lambda o: broken_block(o.src, o.src.dtype.c0) if _vec(o) and path(o) == "NZ" else None,
    ),
    rule(
        "LOAD-A5-07",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, {48|32}, {16, ColMajor|32}, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, ({48|32}, {16|32})))",
        evidence="static_assert",
    )(
        "Mat tiles take ND to ND or Nz, DN to DN, Nz or Zn, NZ to Nz.",
        "path(o) if _mat(o) and src.layout is not None",
        "{pair_text(dst, src.layout)}; mat tiles take ND to ND or Nz, DN to DN, Nz or Zn, and NZ to Nz, scales a "
        "view in an MX layout",
    ),
    rule(
        "LOAD-A5-08",
        "x: Ptr[u8]; TLOAD(Tile(Mat, u8, {16384|16385}, 32, valid_row=16), GlobalTensor(x, (16, 32)))",
        evidence="static_assert",
    )(
        "A Mat tile to load has at most 16384 rows.",
        "dst.rows <= 16384 if _mat(o)",
        "the tile has {dst.rows} rows; a mat tile to load has at most 16384",
    ),
    rule(
        "LOAD-A5-09",
        "x: Ptr[u8]; TLOAD(Tile(Mat, u8, {8192|8193}, 64, valid_row=16), GlobalTensor(x, (16, 64)))",
        evidence="static_assert",
    )(
        """A Mat tile to load has at most 524288 elements.

        The header counts elements, though its message speaks of KB.
        """,
        lambda o: _elements(o) if _mat(o) else None,
    ),
    rule(
        "LOAD-A5-10",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 48, 16, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, ({48|3, 16}, 16)))",
        evidence="static_assert",
    )(
        "ND and DN to Nz: 512-byte boxes, elements of 1, 2 or 4 bytes, g0 = g1 = g2 = 1.",
        "dst.fractal == 512 if _mat(o) and path(o) in ('ND->Nz', 'DN->Nz')",
        "{path(o)} with boxes of {dst.fractal} bytes; it makes boxes of 512",
        "dst.dtype.size != 8 if _mat(o) and path(o) in ('ND->Nz', 'DN->Nz')",
        "{path(o)} with {dst.dtype}; it takes elements of 1, 2 and 4 bytes",
        lambda o: not_2d(o.src, path(o)) if _mat(o) and path(o) in ("ND->Nz", "DN->Nz") else None,
    ),
    rule(
        "LOAD-A5-11",
        "x: Ptr[{i8|e2m1}]; TLOAD(Tile(Mat, {i8|e2m1}, 64, 64, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (64, 64), (1, 64), layout=Layout.DN))",
        evidence="static_assert",
    )(
        "DN to Nz is not for packed 4-bit elements.",
        "not dst.dtype.packed if _mat(o) and path(o) == 'DN->Nz'",
        "DN to Nz with {dst.dtype}; it cannot transpose two elements of one byte",
    ),
    rule(
        "LOAD-A5-12",
        "x: Ptr[f16]; TLOAD(Tile(Mat, f16, 32, 32, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (2, {2, 16|4, 8}, 16), layout=Layout.NZ))",
        evidence="static_assert",
    )(
        "Mat NZ: g3 = 16 and g4 = 32 bytes of elements (64 of 4 bits).",
        lambda o: broken_block(o.src, o.src.dtype.c0) if _mat(o) and path(o) == "NZ" else None,
    ),
    rule(
        "LOAD-A5-13",
        "x: Ptr[e8m0]; TLOAD(Tile(Mat, e8m0, 32, {8|16, ColMajor}, slayout=SLayout.{RowMajor|ColMajor}, "
        "fractal=32), GlobalTensor(x, (32, {4|8}, 2), layout=Layout.MX_A_ND))",
        evidence="static_assert",
    )(
        "Scales of the left operand (MX_A views, or one row from ND) go to Zz tiles, of the right (MX_B) to Nn tiles.",
        "wanted = 'Nn' if src.layout in MX_B else 'Zz'",
        "dst.layout_name == wanted if is_mx(o)",
        "a {src.layout.name} view to a {dst.layout_name} tile; its scales go to a {wanted} tile",
    ),
    LOAD_A5_14,
    LOAD_A5_15,
    LOAD_A5_16,
    LOAD_A5_17,
    rule(
        "LOAD-A5-18",
        """
            x: Ptr[e8m0]
            TLOAD(Tile(Mat, e8m0, 6, 16, ColMajor, {|valid_row=5, }slayout=SLayout.ColMajor, fractal=32),
                GlobalTensor(x, (1, 1, 3, 16, 2), layout=Layout.MX_B_ND))
        """,
        evidence="device",
    )(_mx_even),
    rule(
        "LOAD-A5-21",
        "x: Ptr[{f32|f16}]; TLOAD({Tile|TileRight}({Vec, f32|f16}, 16, 16), GlobalTensor(x, (16, 16)))",
        evidence="device",
    )(
        "Loads go to Vec and Mat tiles.",
        "dst.loc in (Vec, Mat)",
        "{dst} is a {dst.loc.text} tile; loads go to vec and mat tiles",
    ),
    rule(
        "LOAD-A5-22",
        "x: Ptr[e4m3]; TLOAD(Tile(Vec, e4m3, 4, 32{|, pad=PadValue.Min}), GlobalTensor(x, (4, 32)))",
        evidence="device",
    )(
        """FP8 and FP4 tiles get a pad other than zero only through a custom value.

        The table of pads has zeros for these types.
        """,
        need(
            "is_conv(dst) if dst.dtype.is_float and dst.dtype.size == 1 and dst.pad in (PadValue.Min, PadValue.Max)",
            "pad value {PadValue(dst.pad).name} with {dst.dtype} would write zeros",
            hint="give the bits as a custom pad value",
        ),
    ),
    rule(
        "LOAD-A5-23",
        """
            x: Ptr[u64]
            TLOAD(Tile(Vec, u64, 16, 8{|, ColMajor, slayout=SLayout.RowMajor}), GlobalTensor(x, ({1, 1, 1, 16, 8|1, 2,
                1, 16, 4}), layout=Layout.{ND|NZ}))
        """,
        evidence="document",
    )(
        "64-bit elements of Vec tiles go ND to ND or DN to DN only.",
        "path(o) in ('ND', 'DN') if _vec(o) and dst.dtype.size == 8 and src.layout is not None",
        "{pair_text(dst, src.layout)} with {dst.dtype}; 64-bit elements go ND to ND or DN to DN only",
    ),
    LOAD_A5_D1,
    LOAD_A5_D2,
    LOAD_A5_D3,
)

other_rule(
    "LOAD-A5-01",
    "Elements have 1, 2, 4 or 8 bytes.",
    example="{f16 to f16|elements of 16 bytes}",
    why="Every element type does.",
    enforced=False,
    unrun="nothing breaks it",
)
other_rule("LOAD-A5-03", "Tile and view have elements of one size.", evidence="static_assert", reported_as="LS-COM-04")
