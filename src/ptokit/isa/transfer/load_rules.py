"""Which pairs of layouts TLOAD takes, and its rules on cpu (load-store 3, 11.2)."""

from __future__ import annotations

from ptokit.types.enums import Layout

from ..site import Site, TileInfo
from ..unknown import product
from .transfer_rules import MX, PLAIN, Message, disagrees, is_conv, mismatch, nz_strides, other_rule, rule, wrong_stride

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
    """Strides that the path of a Vec or Mat load takes for granted (load-store 3.2)."""
    kind, view = path(o), o.src
    if not kind:
        return None
    if kind == "NZ":
        return wrong_stride(view, nz_strides(view), "NZ to Nz")
    return wrong_stride(view, {4: 1} if kind.startswith("ND") else {3: 1}, kind)


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


@rule(
    "LOAD-CPU-07",
    "x: Ptr[{f16|hif8}]; TLOAD(Tile(Vec, {f16|hif8}, 4, 32), GlobalTensor(x, (4, 32)))",
    evidence="simulator",
)
def LOAD_CPU_07(o: Site) -> Message:
    """The cpu target loads no FP8, HiFloat8 and FP4 (unless --extended).

    Decision: The simulator would take them; the seed's table of types per target does not list them.
    """
    for what, dtype in (("the tile", o.dst.dtype), ("the view", o.src.dtype)):
        if not o.target.supports(dtype, extended=o.extended):
            return (
                f"{what} has element type {dtype}, which cpu does not load",
                "run with --extended to let the cpu target take the types of a5",
            )
    return None


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

other_rule(
    "LOAD-CPU-01",
    "Tile and view have elements of one size.",
    accepted="see LS-COM-04",
    rejected="see LS-COM-04",
    why="Reported as LS-COM-04.",
)
