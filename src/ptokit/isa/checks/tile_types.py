"""What makes a tile type legal, and whether it fits its buffer (types-and-layouts 2 and 3).

The rules look at a `TileSite`: a tile type on a target, with the address if one is known. Where there is an address,
placement is reported under the ids of memory-model-and-sync 10; the SA rules speak about the type alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Scope, Severity, define, family, lookup
from ptokit.records import dataclass
from ptokit.targets import CPU, Target
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tensor import ConvSpec
from ptokit.types.tile import DYNAMIC, Box, TileSpec

from ..check import Broken
from ..site import UNKNOWN, Site, Size, known
from .tiles import TYPE_ABSENT, absent

# Where tiles may lie: capacity and alignment of the on-chip buffers (memory-model-and-sync 4, rules of section 10).


_NAMES = {
    TileType.Vec: "UB",
    TileType.Mat: "L1",
    TileType.Left: "L0A",
    TileType.Right: "L0B",
    TileType.Acc: "L0C",
    TileType.Bias: "BIAS",
    TileType.Scaling: "FB",
    TileType.ScaleLeft: "SCALE",
    TileType.ScaleRight: "SCALE",
}


SLOPES = 1 << 16
"""Address in the fix-pipe buffer, after its words, from which on slopes of ReLU lie (PTOAS e32488c9, drains)."""


def buffer_name(loc: TileType) -> str:
    """Hardware name of the buffer a tile type lives in: UB, L1, L0A …"""
    return _NAMES[loc]


def capacity_rule(loc: TileType) -> str:
    """Rule id for tiles that do not fit their buffer."""
    return f"{_NAMES[loc]}-CAPACITY"


_FITTING = {
    "UB": "Tile(Vec, f32, 256, 64, addr={131072|229376})",
    "L1": "Tile(Mat, f32, 256, 64, addr={0|524288})",
    "L0A": "TileLeft(f16, 64, 64, addr={57344|65536})",
    "L0B": "TileRight(f16, 64, 64, addr={57344|65536})",
    "L0C": "TileAcc(f32, 64, 64, addr={0|262144})",
    "BIAS": "Tile(Bias, f32, 1, 64, addr={0|4096})",
    "FB": "Tile(Scaling, u64, 1, 32, addr={0|6144})",
    "SCALE": "TileLeftScale(e8m0, 16, 32, addr={0|4096})",
}
for _name in sorted(set(_NAMES.values())):
    define(
        f"{_name}-CAPACITY",
        f"Tiles lie inside the {_name} buffer: address + bytes <= capacity, and what is alive together fits.",
        scope=Scope.SYNC,
        source="memory-model-and-sync 4, 10 (SA-0352, SA-0353)",
        why="The device wraps or faults; simulators that enlarge the buffer hide it.",
        example=_FITTING[_name],
    )
define(
    "UB-USER",
    "Tiles end within the part of UB that user code has: on a5 the first 253952 bytes.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    targets=("a5",),
    source="vendor platform files of Ascend 950; planner of the reference assembler",
    why="The buffer has 262144 bytes; the vendor's tools give 253952 of them to user code: what is in the rest may be "
    "overwritten.",
    decision="A warning of the check, a note of the sanitizer: the library's own limit is 262144 bytes, and it "
    "compiles such tiles. Tiles without an address are the assembler's to place; its planner keeps to the 253952.",
    example="Tile(Vec, f32, 32, 64, addr={0x3C000|0x3E000})",
)
define(
    "SPACE-ABSENT",
    "The target has the tile's buffer.",
    scope=Scope.SYNC,
    source="memory-model-and-sync 4, 10 (SA-0351)",
    example="Tile({Vec|ScaleLeft}, e8m0, 16, 32, addr=0)",
    on="a2a3",
)
define(
    "ADDR-ALIGN",
    "Tile addresses are multiples of 32 bytes (128 for a Scaling tile that holds quantisation parameters).",
    scope=Scope.SYNC,
    source="memory-model-and-sync 4, 10 (SA-0354)",
    example="Tile(Vec, f32, 16, 64, addr={0x20|0x11})",
)


def broken_placement(spec: TileSpec, address: Size, target: Target) -> Iterator[tuple[str, str]]:
    """(rule id, message) for every condition a tile at a byte address breaks."""
    if spec.loc is TileType.Ctrl:
        return
    capacity, name = target.capacity[spec.loc], buffer_name(spec.loc)
    if capacity == 0:
        yield "SPACE-ABSENT", f"{target.name} has no {spec.loc.text} buffer"
        return
    if spec.nbytes > capacity:
        yield capacity_rule(spec.loc), f"the tile needs {spec.nbytes} bytes, {name} has {capacity} on {target.name}"
    elif isinstance(address, int) and (address < 0 or address + spec.nbytes > capacity):
        yield (
            capacity_rule(spec.loc),
            f"{spec.nbytes} bytes at address {address:#x} end past the {capacity} bytes of {name} on {target.name}",
        )
    if isinstance(address, int) and address % target.alignment:
        yield "ADDR-ALIGN", f"address {address:#x} is not a multiple of {target.alignment} bytes"


def doubtful_placement(spec: TileSpec, address: Size, target: Target) -> str | None:
    """Message of UB-USER for a tile at a byte address, inside its buffer but not inside what user code is given."""
    limit = target.user_ub
    if limit is None or spec.loc is not TileType.Vec or not isinstance(address, int):
        return None
    end = address + spec.nbytes
    if not address >= 0 or not limit < end <= target.capacity[spec.loc]:
        return None
    return f"the tile ends at byte {end} of UB; user code has {limit} bytes of it on {target.name}"


# What makes a tile type legal, and whether it fits its buffer (types-and-layouts 2 and 3).


rule = family("types-and-layouts 2")

SOURCE = "types-and-layouts 3"
FRACTALS = (512, 1024, 32)

Message = str | tuple[str, str] | None


_tile = family(SOURCE)


@dataclass(frozen=True, slots=True)
class TileSite:
    """A tile type where a tile of it is made; ``addr`` in bytes, `UNKNOWN` where the program leaves it open."""

    spec: TileSpec
    target: Target
    addr: Size = UNKNOWN
    text: bool = False  # written as `.pto`


def inner_box(spec: TileSpec) -> Box:
    """The box that the sizes must be multiples of, in elements; NoneBox types have one too if ``fractal`` says so."""
    if spec.fractal == 1024:
        return Box(16, 16)
    if spec.fractal == 32 and not spec.boxed:
        return Box(2, 16)
    return spec.box


@_tile("TILE-01", "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32, valid={8x16|17x16}>", evidence="static_assert")
def TILE_01(o: TileSite) -> Message:
    """Rows and columns of a tile are positive, and its valid region lies inside it."""
    s = o.spec
    if s.rows <= 0 or s.cols <= 0:
        return f"a tile of {s.rows}x{s.cols} elements; both sizes must be positive"
    for what, valid, size in (("rows", s.valid_row, s.rows), ("columns", s.valid_col, s.cols)):
        if valid > size:
            return f"{valid} valid {what} in a tile of {s.rows}x{s.cols}; at most {size} are possible"
    return None


@_tile("TILE-03", "Tile(Mat, i8, {48|35}, 64, ColMajor, slayout=SLayout.RowMajor)", evidence="static_assert")
def TILE_03(o: TileSite) -> Message:
    """The rows of a boxed tile are a multiple of its box's rows, except for Vec, MX scales and single rows."""
    s, (rows, _) = o.spec, inner_box(o.spec)
    if s.loc is TileType.Vec or s.fractal == 32 or s.rows == 1 or s.rows % rows == 0:
        return None
    return f"{s.rows} rows of {s.dtype} in {s.layout_name} boxes of {rows} rows; rows must be a multiple of {rows}"


@_tile("TILE-04", "Tile(Vec, f16, 16, {32|24}, ColMajor, slayout=SLayout.RowMajor)", evidence="static_assert")
def TILE_04(o: TileSite) -> Message:
    """The columns of a tile are a multiple of its box's columns."""
    s, (_, cols) = o.spec, inner_box(o.spec)
    if s.cols % cols == 0:
        return None
    return f"{s.cols} columns of {s.dtype} in boxes of {cols} columns; columns must be a multiple of {cols}"


def _line(what: str, count: int, o: TileSite) -> Message:
    spec = o.spec
    size = count * spec.dtype.size
    if spec.boxed or size % 32 == 0:
        return None
    need = 32 // spec.dtype.size
    if count == 1 and what == "cols" and spec.rows % need == 0:
        column = BLayout.ColMajor.text if o.text else f"pto.BLayout.{BLayout.ColMajor.name}"
        return (
            f"1 cols of {spec.dtype} are {size} bytes, which is not a multiple of 32",
            f"a column, one number a row, is {column}: its numbers follow each other",
        )
    return (
        f"{count} {what} of {spec.dtype} are {size} bytes, which is not a multiple of 32",
        f"make {what} a multiple of {need}, and leave the rest outside the valid region",
    )


@_tile(
    "TILE-08",
    """
        %c0 = arith.constant {1|0} : index
        %t = pto.alloc_tile valid_row = %c0 valid_col = %c32 : !pto.tile_buf<vec, 4x32xf32, valid=?x?>
    """,
    evidence="static_assert",
)
def TILE_08(o: TileSite) -> Message:
    """Static valid sizes are positive.

    A constant 0 for a size that the type leaves open is compiled, and nothing is moved: a warning.
    """
    for what, valid in (("rows", o.spec.valid_row), ("columns", o.spec.valid_col)):
        if valid != DYNAMIC and valid <= 0:
            return f"{valid} valid {what} as part of the type; static valid sizes must be positive"
    return None


@_tile("TILE-D1", "Tile(Vec, f32, 16, 16{|, fractal=1024})", evidence="static_assert", on="cpu")
def TILE_D1(o: TileSite) -> Message:
    """A tile without boxes has no fractal size of 1024 on cpu; elsewhere its sizes are then multiples of 16.

    The storage has no boxes, but the library compares the sizes with those of one. Rows of vec tiles may be any.
    Kernels for devices have such tiles; for cpu the spec recommends to refuse what has no meaning.
    """
    spec = o.spec
    if spec.fractal != 1024 or spec.slayout is not SLayout.NoneBox:
        return None
    if o.target.is_a(CPU):
        return "fractal size 1024 means nothing without boxes; use 512"
    if spec.cols % 16 or (spec.rows % 16 and spec.rows != 1 and spec.loc is not TileType.Vec):
        return f"{spec.rows}x{spec.cols} with fractal size 1024 is not a multiple of 16x16; without boxes use 512"
    return None


@_tile("TILE-D2", "Tile(Vec, e1m2, 4, {256|224})", targets=("a5",), evidence="static_assert")
def TILE_D2(o: TileSite) -> Message:
    """The contiguous dimension of a tile of packed 4-bit elements without boxes is a multiple of 64.

    TILE-05 counts a byte per element and so lets 16-byte rows pass, which no transfer can address.
    """
    s = o.spec
    if not s.dtype.packed or s.boxed:
        return None
    what, count = ("cols", s.cols) if s.row_major else ("rows", s.rows)
    if count % 64 == 0:
        return None
    return f"{count} {what} of {s.dtype} are {count // 2} bytes; 4-bit tiles need multiples of 64 elements (32 bytes)"


@_tile(
    "TILE-D3",
    "%t = pto.alloc_tile : !pto.tile_buf<vec, {32|33}x32xf16, slayout=col_major>",
    source=f"{SOURCE}, 6 (derived)",
    evidence="device",
)
def TILE_D3(o: TileSite) -> Message:
    """The rows of a Zn, Zz or Nn tile are a multiple of its box's rows, in every buffer.

    TILE-03 lets Vec and scale tiles pass, but the last box of rows would lie past the tile's memory.
    """
    s = o.spec
    contiguous = s.rows == 1 and s.slayout is SLayout.RowMajor
    if not s.boxed or contiguous or s.layout_name == "Nz" or s.rows % s.box.rows == 0:
        return None
    return f"{s.rows} rows of a {s.layout_name} tile with boxes of {s.box.rows} rows end past the tile's storage"


TILE_09 = rule("TILE-09", "TGETVAL(Tile({Vec|Acc}, f32, 16, 64), 0)", source=SOURCE, evidence="static_assert")(
    "Single elements are read and written in Vec tiles only.",
    "t.loc is Vec for t in tiles",
    "{t.name} is a {t.loc.text} tile; single elements can be read and written in vec tiles only",
)


@_tile("TILE-05", "%t = pto.alloc_tile : !pto.tile_buf<vec, {16x16xf32|16x3xf32}>", evidence="static_assert")
def TILE_05(o: TileSite) -> Message:
    """A row of a row-major tile without boxes is a multiple of 32 bytes.

    The transfer engines move 32-byte blocks. It also follows that a one-column tile is column-major.
    """
    return _line("cols", o.spec.cols, o) if o.spec.row_major else None


@_tile(
    "TILE-06",
    "func.func @k(%i: i32, %n: index, %h: f16, %w: i16, %f: f32) { %a = pto.alloc_tile : !pto.tile_buf<vec, "
    "16x16xf32> %b = pto.alloc_tile : !pto.tile_buf<vec, {8x16xf32|1x16xf32}, blayout=col_major> %d = "
    "pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>\n"
    "  return\n"
    "}",
    evidence="static_assert",
)
def TILE_06(o: TileSite) -> Message:
    """A column of a column-major tile without boxes is a multiple of 32 bytes."""
    return None if o.spec.row_major else _line("rows", o.spec.rows, o)


@_tile("TILE-07", evidence="static_assert", reported_as="TY-3 LANG-TILE")
def TILE_07(o: Site) -> Message:
    """The fractal size is 512, 1024 or 32 bytes."""
    return None if o.spec.fractal in FRACTALS else f"fractal={o.spec.fractal}; it can be 512, 1024 or 32"


TILE_RULES = (
    TILE_01,
    TILE_03,
    TILE_04,
    TILE_05,
    TILE_06,
    TILE_07,
    TILE_08,
    TILE_D1,
    TILE_D2,
    TILE_D3,
)

define(
    "TILE-02",
    "The inner box of a tile is not empty.",
    source=SOURCE,
    why="It would be for elements of more than 32 bytes, which do not exist.",
    example="{any element type|an element type of 64 bytes}",
    enforced=False,
    unrun="nothing breaks it",
)


def footprint(spec: TileSpec) -> int:
    """Bytes that the static check charges: sizeof per element, so twice the real size of packed 4-bit types."""
    return spec.rows * spec.cols * spec.dtype.size


def _absent(o: TileSite) -> Message:
    if known(o.addr) or o.spec.loc is TileType.Ctrl or o.target.capacity[o.spec.loc] > 0:
        return None
    return f"{o.target.name} has no {o.spec.loc.text} buffer"


def _too_large(o: TileSite) -> Message:
    if known(o.addr) or o.spec.loc is TileType.Ctrl:
        return None
    size, capacity = footprint(o.spec), o.target.capacity[o.spec.loc]
    if size <= capacity or capacity == 0:
        return None
    return f"the tile needs {size} bytes; {buffer_name(o.spec.loc)} has {capacity} on {o.target.name}"


_PLACED = "With an address, the finding has the id"
PLACEMENT_RULES = (
    rule(
        "SA-0351",
        'core = Core("a2a3"); core.{TileLeft(f16|TileLeftScale(e8m0}, 16, {16|2})',
        what=f"The target has the buffer a tile lives in. {_PLACED} SPACE-ABSENT.",
        evidence="device",
    )(_absent),
    rule(
        "SA-0352",
        'core = Core("a2a3"); core.Tile(Vec, f32, {768|769}, 64)',
        what=f"A tile is not larger than its buffer. {_PLACED} of the buffer, UB-CAPACITY and so on.",
        evidence="device",
    )(_too_large),
)
define(
    "SA-0353",
    "Address plus size of a tile stay inside its buffer.",
    source="types-and-layouts 2",
    evidence="device",
    reported_as="UB-CAPACITY L1-CAPACITY L0A-CAPACITY L0B-CAPACITY L0C-CAPACITY",
)
define(
    "SA-0354",
    "Tile addresses are multiples of 32 bytes.",
    source="types-and-layouts 2",
    evidence="device",
    reported_as="ADDR-ALIGN",
)


def check_tile(
    spec: TileSpec, target: Target, addr: Size = UNKNOWN, *, placement: bool = True, text: bool = False
) -> Iterator[Broken]:
    """The rules that a tile of type `spec` breaks on `target`, at byte address `addr` if that is known.

    ``placement=False`` leaves out whether it fits its buffer. A convolution tile has no row and column rules.
    ``text``: hints say what to write in `.pto` text, not in Python.
    """
    site = TileSite(spec, target, addr, text)
    if unknown := absent(spec.dtype, target):
        yield Broken(TYPE_ABSENT, *unknown)
        return
    rules = (() if isinstance(spec, ConvSpec) else TILE_RULES) + (PLACEMENT_RULES if placement else ())
    for bound in rules:
        if not target.obeys(bound) or bound.check is None:
            continue
        found = bound.check(site)
        if isinstance(found, tuple):
            yield Broken(bound, *found)
        elif found:
            yield Broken(bound, str(found), None)
    if placement and known(addr):
        for id, message in broken_placement(spec, addr, target):
            yield Broken(lookup(id), message, None)
