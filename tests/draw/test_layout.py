"""Address maps: the facts agree with the layout, and the drawings with the facts."""

from __future__ import annotations

import io
import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import numpy as np
import pytest

import ptokit as pto
from ptokit.draw import LayoutMap, layout
from ptokit.draw.text import elide
from ptokit.types import dtypes
from ptokit.types.dtypes import DType
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec, offset_map, tile
from tests.each import each

NZ = {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor}
ZN = {"blayout": BLayout.RowMajor, "slayout": SLayout.ColMajor}
SVG = "{http://www.w3.org/2000/svg}"


def mat(dtype: DType, rows: int, cols: int, **layout: object) -> TileSpec:
    return tile(TileType.Mat, dtype, rows, cols, **layout)


def tiles() -> Iterator[TileSpec]:
    """Every layout with several types and sizes, whole boxes only."""
    for blayout, slayout, fractal, dtype in itertools.product(
        BLayout, SLayout, (512, 1024, 32), (dtypes.f16, dtypes.f32, dtypes.i8, dtypes.e2m1)
    ):
        for rows, cols in ((16, 64), (64, 128), (1, 64), (64, 1)):
            spec = mat(dtype, rows, cols, blayout=blayout, slayout=slayout, fractal=fractal)
            whole = rows % spec.box.rows == 0 and cols % spec.box.cols == 0
            if whole or (rows == 1 and slayout is SLayout.RowMajor):
                yield spec


TILES = list(tiles())


# --- facts -----------------------------------------------------------------------------------------------------------


@each("spec", TILES)
def test_the_formula_is_the_layout(spec: TileSpec) -> None:
    where = {"r": np.arange(spec.rows)[:, None], "c": np.arange(spec.cols)[None]}
    offsets = np.broadcast_to(eval(layout(spec).formula(), where), (spec.rows, spec.cols))
    assert np.array_equal(offsets, offset_map(spec))


@each("spec", [s for s in TILES if layout(s).boxed], ids=str)
def test_boxes_have_the_offsets_of_their_elements(spec: TileSpec) -> None:
    drawn = layout(spec)
    (ir, ic), (rows, cols) = drawn.box, drawn.blocks
    for br, bc in itertools.product(range(rows), range(cols)):
        box = offset_map(spec)[br * ir : (br + 1) * ir, bc * ic : (bc + 1) * ic]
        assert drawn.span(br, bc) == (box.min(), box.max())
        assert drawn.order(br, bc) * ir * ic == box.min()


def test_places() -> None:
    nz = layout(mat(dtypes.f16, 32, 64, **NZ))
    place = nz.at(17, 40)
    assert place == (17, 40, 1304, 2608, False, (1, 2), 5, (1, 8))
    assert place.offset == offset_map(nz.spec)[17, 40]
    fp4 = layout(tile(TileType.Vec, dtypes.e2m1, 2, 64)).at(1, 3)
    assert (fp4.offset, fp4.byte, fp4.high) == (67, 33, True)
    for row, col in ((32, 0), (0, 64), (-1, 0)):
        with pytest.raises(IndexError):
            nz.at(row, col)
        with pytest.raises(IndexError):
            nz.marked(row, col)


def test_places_in_words() -> None:
    nz = LayoutMap(mat(dtypes.f16, 32, 64, **NZ), address=0x100)
    assert nz.where(17, 40) == ("(17, 40) is element 1304, byte 2608 = 0xa30, address 0xb30; row 1, column 8 of box #5")
    assert "byte 33 = 0x21, high half" in layout(tile(TileType.Vec, dtypes.e2m1, 2, 64)).where(1, 3)


def test_what_a_layout_can_be_asked_of() -> None:
    core = pto.Core("a5")
    t = core.Tile(TileType.Vec, pto.f32, 16, 64, addr=0x200)
    assert (pto.layout(t).spec, pto.layout(t).address) == (t.spec, 0x200)
    assert pto.layout(t, 0x400).address == 0x400
    assert pto.layout(core.TileAcc(pto.f32, 16, 16)).address is None
    with pytest.raises(TypeError, match="not to ndarray"):
        pto.layout(np.zeros(3))


def test_tiles_of_a_kernel_have_a_layout() -> None:
    seen = []

    @pto.kernel(target="a5")
    def kernel() -> None:
        seen.append(pto.layout(pto.TileLeft(pto.f16, 32, 32)))

    kernel.trace()
    assert seen[0].title == "left 32x32xf16 Nz, 2048 bytes"


@each(
    "count, room, keep, shown",
    [
        (4, 4, None, [0, 1, 2, 3]),
        (9, 4, None, [0, 1, None, 8]),
        (9, 2, None, [0, None, 8]),
        (9, 6, 5, [0, 1, None, 5, None, 8]),
        (9, 6, 2, [0, 1, 2, None, 8]),
        (9, 6, 7, [0, 1, None, 7, 8]),
    ],
)
def test_what_is_left_out(count: int, room: int, keep: int | None, shown: list[int | None]) -> None:
    assert elide(count, room, keep) == shown


# --- text ------------------------------------------------------------------------------------------------------------


def test_every_element_of_a_small_tile_is_drawn() -> None:
    spec = mat(dtypes.f32, 16, 16, **NZ)
    lines = layout(spec).text().splitlines()
    grid = [re.findall(r"\d+", line) for line in lines[-16:]]
    assert [[int(n) for n in row[1:]] for row in grid] == offset_map(spec).tolist()
    assert [int(row[0]) for row in grid] == list(range(16))
    assert all(line.index("│") == lines[-1].index("│") for line in lines[-16:])


def test_the_boxes_of_a_large_tile_are_drawn() -> None:
    assert layout(mat(dtypes.f16, 32, 64, **NZ)).text().splitlines()[:12] == [
        "mat 32x64xf16 Nz, 4096 bytes",
        "boxes of 16 rows x 16 columns, 512 bytes each, stored column by column",
        "inside a box, elements are stored row by row",
        "offset(r, c) = c // 16 * 512 + r // 16 * 256 + r % 16 * 16 + c % 16",
        "offsets count elements of 2 bytes",
        "",
        "              columns 0–15   columns 16–31   columns 32–47   columns 48–63",
        "           ┌───────────────┬───────────────┬───────────────┬───────────────┐",
        " rows 0–15 │ #0      0–255 │ #2    512–767 │ #4  1024–1279 │ #6  1536–1791 │",
        "           ├───────────────┼───────────────┼───────────────┼───────────────┤",
        "rows 16–31 │ #1    256–511 │ #3   768–1023 │ #5  1280–1535 │ #7  1792–2047 │",
        "           └───────────────┴───────────────┴───────────────┴───────────────┘",
    ]


def test_the_box_of_the_marked_element_is_drawn_in_detail() -> None:
    text = layout(mat(dtypes.f16, 512, 1024, **ZN)).marked(203, 620).text()
    assert "box #806: rows 192–207, columns 608–623" in text
    offset = offset_map(mat(dtypes.f16, 512, 1024, **ZN))[203, 620]
    assert text.count(f"[{offset}]") == 1
    (line,) = [line for line in text.splitlines() if "[" in line]
    assert line.split()[0] == "203"


@each("spec", TILES)
@pytest.mark.parametrize("width", [60, 80])
def test_grids_fit_the_width(spec: TileSpec, width: int) -> None:
    for drawn in (layout(spec), layout(spec).marked(spec.rows - 1, spec.cols // 2)):
        grids = drawn.text(width).split("\n\n", 1)[1]
        assert max(map(len, grids.splitlines())) <= width


def test_a_tile_of_any_size_is_drawn_at_once() -> None:
    huge = mat(dtypes.f16, 10**9, 10**9, **NZ)
    for drawn in (layout(huge), layout(huge).marked(10**9 - 1, 12345), layout(mat(dtypes.i8, 10**9, 10**9))):
        assert len(drawn.text().splitlines()) < 60
        assert len(drawn.svg()) < 200_000


def test_the_valid_region_is_told() -> None:
    spec = tile(TileType.Vec, dtypes.f32, 4, 64, 3, 8)
    assert "valid region: rows 0–2, columns 0–7" in layout(spec).text()
    assert "valid region" not in layout(tile(TileType.Vec, dtypes.f32, 4, 64)).text()
    one = tile(TileType.Vec, dtypes.f32, 4, 64, 1, 0)
    assert "valid region: row 0, no columns" in layout(one).text()


def test_show_prints_the_text_and_colour_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    drawn = layout(mat(dtypes.f32, 16, 16, **NZ)).marked(3, 9)
    drawn.show()
    assert capsys.readouterr().out == drawn.text(80) == str(drawn)
    coloured = io.StringIO()
    drawn.show(coloured, color=True, width=80)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured.getvalue()).split() == drawn.text(80).split()
    assert "\x1b[36m  0" in coloured.getvalue()  # the first box
    assert "\x1b[32m128" in coloured.getvalue()  # the second one
    assert "\x1b[1;7m153" in coloured.getvalue()  # the marked element


# --- pictures --------------------------------------------------------------------------------------------------------


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter(f"{SVG}text")]


@each("spec", TILES)
def test_pictures_are_well_formed_and_show_everything_inside(spec: TileSpec) -> None:
    root = ET.fromstring(layout(spec).marked(0, 0).svg())
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for group in root.findall(f"{SVG}g"):
        dx, dy = map(float, re.findall(r"[\d.]+", group.get("transform", "")))
        for rect in group.iter(f"{SVG}rect"):
            assert dx + float(rect.get("x", 0)) + float(rect.get("width", 0)) <= width
            assert dy + float(rect.get("y", 0)) + float(rect.get("height", 0)) <= height


def test_a_picture_of_a_small_tile_has_every_offset() -> None:
    spec = mat(dtypes.f16, 32, 32, **ZN)
    shown = texts(layout(spec).svg())
    assert set(map(str, range(1024))) <= set(shown)
    fills = {node.get("fill") for node in ET.fromstring(layout(spec).svg()).iter(f"{SVG}rect")} - {"#ffffff"}
    assert len(fills) == 4  # one colour per box


def test_a_picture_of_a_large_tile_has_boxes_and_one_in_detail() -> None:
    shown = texts(layout(mat(dtypes.f16, 32, 64, **NZ)).marked(17, 40).svg())
    assert {f"#{n}" for n in range(8)} <= set(shown)
    assert {"1280–1535", "box #5: rows 16–31, columns 32–47", "1280", "1535"} <= set(shown)
    assert layout(mat(dtypes.f16, 32, 64)).svg().count('stroke-width="2.5"') == 0


def test_the_line_follows_memory() -> None:
    """Through a 16x16 Nz tile of two boxes: 15 jumps to the next row of 8 in each box, and one between the boxes."""
    root = ET.fromstring(layout(mat(dtypes.f32, 16, 16, **NZ)).svg())
    jumps, runs = (node.get("d", "") for node in root.iter(f"{SVG}path"))
    assert (jumps.count("M"), runs.count("M")) == (31, 32)


def test_a_notebook_gets_the_picture() -> None:
    drawn = layout(mat(dtypes.f32, 16, 16, **NZ))
    assert drawn.svg() in drawn._repr_html_()
    assert repr(drawn) == "<layout of mat 16x16xf32 Nz, 1024 bytes>"
