"""What only a debug assertion says warns, and the instruction does what the device does: the region of dst decides."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.ir.verify import verify
from ptokit.isa.check import broken_rules
from ptokit.isa.site import ScalarInfo
from ptokit.run import compile_program
from ptokit.targets import A5, target

from .fake import site, spec
from .rule_cases import DN, F, at
from .transfer_sites import site as transfer
from .transfer_sites import vec, view

ROWS, COLS = 16, 64
L2, L6 = spec("f32", 1, 256), at(spec("f32", 1, 768), 32768)
SMALL = spec("f32", 16, 64, 8, 60)
TALL = spec("f32", 24, 64, 20, 64)


def verdicts(name: str, on: str, **operands: object) -> dict[str, Severity]:
    """Severities of the broken rules of the instruction set, by id."""
    return {b.rule.id: b.severity for b in broken_rules(site(name, on, None, **operands), text=False)}


@pytest.mark.parametrize("on", ["a2a3", "a5"])
@pytest.mark.parametrize(
    ("rule", "name", "doubtful", "wrong"),
    [
        ("EW-05", "TADD", {"dst": F, "src0": F, "src1": SMALL}, {"dst": TALL, "src0": TALL, "src1": F}),
        ("EW-05", "TEXP", {"dst": SMALL, "src": F}, {"dst": TALL, "src": F}),
        ("TCVT-02", "TCVT", {"dst": spec("f16", 16, 64), "src": SMALL}, {"dst": spec("f16", 24, 64), "src": F}),
        ("REXP-COM-01", "TROWEXPAND", {"dst": F, "src": spec("f32", 16, 1, 8, 1, dn=True)}, {"dst": TALL, "src": DN}),
        (
            "CEXP-COM-01",
            "TCOLEXPAND",
            {"dst": F, "src": spec("f32", 1, 64, 1, 60)},
            {"dst": F, "src": spec("f32", 1, 56)},
        ),
        (
            "REXP-COM-11",
            "TROWEXPANDSUB",
            {"dst": F, "src0": F, "src1": spec("f32", 16, 1, 8, 1, dn=True)},
            {"dst": F, "src0": SMALL, "src1": DN},
        ),
        (
            "CEXP-COM-02",
            "TCOLEXPANDSUB",
            {"dst": F, "src0": F, "src1": spec("f32", 1, 64, 1, 60)},
            {"dst": F, "src0": spec("f32", 16, 64, 16, 60), "src1": spec("f32", 1, 64)},
        ),
        (
            "RRED-COM-03",
            "TROWMAX",
            {"dst": spec("f32", 16, 8, 8, 1), "src": F},
            {"dst": spec("f32", 8, 8, 8, 1), "src": F},
        ),
        (
            "RRED-COM-03",
            "TROWSUM",
            {"dst": spec("f32", 16, 8, 0, 1), "src": spec("f32", 16, 64, 0, 64)},
            {"dst": spec("f32", 16, 8, 16, 1), "src": spec("f32", 16, 64, 16, 0)},
        ),
        (
            "ARG-COM-01",
            "TROWARGMAX",
            {"dst": spec("i32", 16, 8, 8, 1), "src": F},
            {"dst": spec("i32", 8, 8, 8, 1), "src": F},
        ),
        (
            "ARG-COM-01",
            "TCOLARGMAX",
            {"dst": spec("i32", 2, 64, 2, 60), "src": F, "tmp": F},
            {"dst": spec("i32", 1, 56), "src": F, "tmp": F},
        ),
        (
            "CRED-COM-01",
            "TCOLMAX",
            {"dst": spec("f32", 1, 64, 1, 60), "src": F},
            {"dst": spec("f32", 1, 56), "src": F},
        ),
        (
            "MRG-COM-03",
            "TMRGSORT",
            {
                "dst": L6,
                "tmp": at(spec("f32", 1, 512), 8192),
                "src0": at(L2, 0),
                "src1": at(L2, 1024),
                "src2": at(L2, 2048),
            },
            {
                "dst": L6,
                "tmp": at(spec("f32", 1, 768), 1024),
                "src0": at(L2, 0),
                "src1": at(L2, 1024),
                "src2": at(L2, 2048),
            },
        ),
        (
            "CONC-COM-02",
            "TCONCAT",
            {"dst": spec("f32", 16, 128), "src0": F, "src1": spec("f32", 16, 64, 8, 64)},
            {"dst": spec("f32", 24, 128), "src0": F, "src1": F},
        ),
    ],
)
def test_a_region_that_only_an_assertion_compares_is_a_warning(
    rule: str, name: str, doubtful: dict, wrong: dict, on: str
) -> None:
    assert verdicts(name, on, **doubtful) == {rule: Severity.WARNING}
    assert verdicts(name, on, **wrong)[rule] is Severity.ERROR


def test_a_warning_covers_no_error() -> None:
    """A rule of the assembler that says the same as one of the library is not reported."""
    found = {b.rule.id: b.severity for b in broken_rules(site("TADD", "a5", None, dst=F, src0=F, src1=SMALL))}
    assert found == {"EW-05": Severity.WARNING}
    found = {b.rule.id: b.severity for b in broken_rules(site("TADD", "a5", None, dst=TALL, src0=TALL, src1=F))}
    assert found == {"EW-05": Severity.ERROR}


def test_rows_that_are_overwritten_after_they_are_read() -> None:
    one = spec("f32", 16, 1, dn=True)
    at_start, in_last_row = ({"dst": at(one, a), "src": at(F, 0)} for a in (0, 15 * 256))
    assert verdicts("TROWSUM", "a5", **at_start) == {"CMP-INP-01": Severity.WARNING}
    assert verdicts("TROWSUM", "a5", **in_last_row) == {"CMP-INP-01": Severity.ERROR}
    open_rows = {"dst": at(spec("f32", 16, 1, -1, 1, dn=True), 0), "src": at(spec("f32", 16, 64, -1, 64), 0)}
    assert "CMP-INP-01" not in verdicts("TROWSUM", "a5", **open_rows), "the run decides"
    flat = {"dst": at(spec("f32", 16, 64), 0), "src": at(spec("f32", 1, 64), 0)}
    assert verdicts("TCOLEXPAND", "a5", **flat)["CMP-INP-01"] is Severity.ERROR


def test_scratch_that_a_target_leaves_alone_may_lie_anywhere() -> None:
    met = {"dst": at(spec("f32", 16, 1, dn=True), 8192), "src": at(F, 0), "tmp": at(F, 0)}
    assert verdicts("TROWSUM", "a2a3", **met)["CMP-INP-01"] is Severity.ERROR
    assert "CMP-INP-01" not in verdicts("TROWSUM", "a5", **met)


def test_a_view_that_is_larger_than_what_a_run_asks_for() -> None:
    def found(tile: object, g: object) -> dict[str, Severity]:
        return {b.rule.id: b.severity for b in broken_rules(transfer("TLOAD", "a5", tile, g), text=False)}

    tile, larger = vec("f32", 16, 16, valid=(8, 12)), view("f32", 10, 14)
    assert found(tile, larger) == {"LOAD-A5-05": Severity.WARNING}
    assert found(tile, replace(larger, dims=(10, 14))) == {"LOAD-A5-05": Severity.WARNING}
    assert found(tile, replace(larger, dims=(-1, -1))) == {"LOAD-A5-05": Severity.WARNING}
    assert found(tile, view("f32", 7, 14))["LOAD-A5-05"] is Severity.ERROR
    assert found(tile, view("f32", 17, 14))["LOAD-A5-05"] is Severity.ERROR, "the device writes below the tile"


TILE = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=16, cols=64, v_row={}, v_col={}, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)
TEXT = """module attributes {{"pto.target_arch" = "a5"}} {{
  func.func @k() {{
    %c60 = arith.constant 60 : index
    %a = pto.alloc_tile : {full}
    %b = pto.alloc_tile{operand} : {part}
    pto.tadd ins(%a, %b : {full}, {part}) outs(%a : {full})
    return
  }}
}}
"""


def test_the_assembler_does_not_fold_constants() -> None:
    full = TILE.format(16, 64)
    for part, operand, refused in (
        (TILE.format(16, "?"), " valid_col = %c60", []),
        (TILE.format(16, 60), "", ["EW-1"]),
    ):
        read = parse_module(TEXT.format(full=full, part=part, operand=operand))
        assert not read.diagnostics
        found = verify(read.module, A5)
        assert [(d.rule, d.severity) for d in found] == [("EW-05", Severity.WARNING)]
        assert [d.rule for d in verify(read.module, A5, assembler=True)] == refused


@pto.kernel(target="a5")
def add_parts(
    x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], sr: int, sc: int, dr: int, dc: int
) -> None:
    whole = [pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, addr=a * 4096) for a in range(3)]
    for tile, memory in zip(whole, (x, y, z)):
        pto.TLOAD(tile, pto.GlobalTensor(memory, (ROWS, COLS)))
    part = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, valid_row=sr, valid_col=sc, addr=4096)
    result = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, valid_row=dr, valid_col=dc, addr=8192)
    pto.TADD(result, whole[0], part)
    pto.TSTORE(pto.GlobalTensor(z, (ROWS, COLS)), whole[2])


@pto.kernel(target="a5")
def all_rows(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32]) -> None:
    whole, maxima, both = (
        pto.Tile(pto.TileType.Vec, pto.f32, ROWS, n, addr=a) for a, n in ((0, COLS), (8192, 8), (16384, 2 * COLS))
    )
    pto.TLOAD(whole, pto.GlobalTensor(x, (ROWS, COLS)))
    half = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, valid_row=ROWS // 2, valid_col=COLS, addr=0)
    few = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, 8, valid_row=ROWS // 2, valid_col=1, addr=8192)
    scratch = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, addr=32768)
    pto.TROWMAX(few, whole, scratch)
    pto.TCONCAT(both, half, whole)
    pto.TSTORE(pto.GlobalTensor(y, (ROWS, 8)), maxima)
    pto.TSTORE(pto.GlobalTensor(z, (ROWS, 2 * COLS)), both)


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
def test_reductions_take_the_rows_of_src_and_concatenations_those_of_dst() -> None:
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    y, z = np.full((ROWS, 8), -1, np.float32), np.full((ROWS, 2 * COLS), -1, np.float32)
    all_rows[1](x, y, z)
    assert (y[:, 0] == x.max(axis=1)).all()
    assert (z == np.concatenate((x, x), axis=1)).all()


sizes = st.tuples(*(st.integers(1, n) for n in (ROWS, COLS, ROWS, COLS)))


@given(sizes)
def test_the_region_of_dst_decides(given_sizes: tuple[int, int, int, int]) -> None:
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    y, z = x * 100, np.full_like(x, -1)
    want = z.copy()
    rows, cols = given_sizes[2:]
    want[:rows, :cols] = (x + y)[:rows, :cols]
    add_parts(x, y, z, *given_sizes)
    assert (z == want).all()


@pto.kernel(target="a5")
def load_part(x: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], gr: int, gc: int, vr: int, vc: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, valid_row=vr, valid_col=vc)
    pto.TLOAD(tile, pto.GlobalTensor(x, (gr, gc), (COLS, 1)))
    pto.TSTORE(pto.GlobalTensor(z, (vr, vc), (COLS, 1)), tile)


@given(sizes)
def test_a_load_takes_rows_of_the_view_as_long_as_the_valid_region(given_sizes: tuple[int, int, int, int]) -> None:
    gr, _, vr, vc = given_sizes
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    z = np.full_like(x, -1)
    if vr > gr:
        with pytest.raises(pto.DiagnosticError, match=r"LOAD-A5-05|LS-COM"):
            load_part(x, z, *given_sizes)
        assert (z == -1).all()
        return
    want = z.copy()
    want[:vr, :vc] = x[:vr, :vc]
    load_part(x, z, *given_sizes)
    assert (z == want).all()


def test_the_simulator_takes_the_sizes_of_the_view() -> None:
    x = np.zeros((ROWS, COLS), np.float32)
    with pytest.raises(pto.DiagnosticError, match="LOAD-CPU-04"):
        load_part.on(target("cpu"))(x, x.copy(), 10, 14, 8, 12)


def lines_of(x: np.ndarray, gr: int, gc: int, vc: int, on: str) -> np.ndarray:
    """The lines of a view of rows that a transfer visits: on a2a3, gaps stay as long as they are."""
    pitch = x.shape[1] + (vc - gc if on == "a2a3" else 0)
    return np.lib.stride_tricks.as_strided(x, (gr, vc), (pitch * x.itemsize, x.itemsize))


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_a_load_visits_lines_as_long_as_the_valid_region(on: str, backend: str) -> None:
    x = np.arange(ROWS * COLS, dtype=np.float32).reshape(ROWS, COLS)
    for gr, gc, vr, vc in ((10, 14, 8, 12), (8, 16, 8, 3), (9, 8, 9, 8)):
        z, want = (np.full_like(x, -1) for _ in range(2))
        want[:vr, :vc] = lines_of(x, gr, gc, vc, on)[:vr]
        compile_program(load_part.trace(), target(on)).launch([x, z, gr, gc, vr, vc], backend=backend)
        assert (z == want).all(), (gr, gc, vr, vc)


STORE = """module attributes {{"pto.target_arch" = "{on}"}} {{
  func.func @k(%x: !pto.ptr<f32>, %z: !pto.ptr<f32>) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %gr = arith.constant {gr} : index
    %gc = arith.constant {gc} : index
    %xv = pto.make_tensor_view %x, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<16x16xf32>
    %zv = pto.make_tensor_view %z, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<16x16xf32>
    %zp = pto.partition_view %zv, offsets = [%c0, %c0], sizes = [%gr, %gc]
      : !pto.tensor_view<16x16xf32> -> !pto.partition_tensor_view<{gr}x{gc}xf32>
    %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c16, %c16]
      : !pto.tensor_view<16x16xf32> -> !pto.partition_tensor_view<16x16xf32>
    %a0 = arith.constant 0 : i64
    %w = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 16x16xf32>
    %t = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 16x16xf32, valid={vr}x{vc}>
    pto.tload ins(%xp : !pto.partition_tensor_view<16x16xf32>) outs(%w : !pto.tile_buf<vec, 16x16xf32>)
    pto.tstore ins(%t : !pto.tile_buf<vec, 16x16xf32, valid={vr}x{vc}>)
      outs(%zp : !pto.partition_tensor_view<{gr}x{gc}xf32>)
    return
  }}
}}
"""


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(("on", "rule"), [("a2a3", "STORE-A3-06"), ("a5", "STORE-A5-06")])
def test_a_store_visits_all_lines_of_the_view(on: str, rule: str, backend: str) -> None:
    """Also those that are not valid; of each, as many elements as are."""
    x = np.arange(256, dtype=np.float32).reshape(16, 16)
    for gr, gc, vr, vc in ((12, 8, 8, 8), (4, 8, 8, 8), (12, 8, 12, 3), (5, 16, 7, 9)):
        text = STORE.format(on=on, gr=gr, gc=gc, vr=vr, vc=vc)
        module = parse_module(text).module
        assert {d.rule: d.severity for d in verify(module, target(on))}[rule] is Severity.WARNING
        z = np.full((16, 16), -1, np.float32)
        want = z.copy()
        lines_of(want, gr, gc, vc, on)[...] = x[:gr, :vc]
        compile_program(module, target(on)).launch([x, z], backend=backend)
        assert (z == want).all(), (gr, gc, vr, vc)


@pytest.mark.parametrize(("on", "rule"), [("a2a3", "STORE-A3-06"), ("a5", "STORE-A5-06")])
def test_a_store_does_not_leave_its_view(on: str, rule: str) -> None:
    module = parse_module(STORE.format(on=on, gr=8, gc=8, vr=8, vc=9)).module
    assert rule in {d.rule for d in verify(module, target(on)).errors}


@pto.kernel(target="a5")
def double(x: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], rows: int, cols: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, ROWS, COLS, valid_row=rows, valid_col=cols)
    pto.TLOAD(tile, pto.GlobalTensor(x, (rows, cols), (COLS, 1)))
    pto.TADD(tile, tile, tile)
    pto.TSTORE(pto.GlobalTensor(z, (rows, cols), (COLS, 1)), tile)


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("size", [(0, 8), (8, 0), (0, 0), (4, 6)])
def test_a_region_that_is_empty_at_run_time_moves_nothing(on: str, size: tuple[int, int]) -> None:
    x, z = np.ones((ROWS, COLS), np.float32), np.zeros((ROWS, COLS), np.float32)
    double.on(on)(x, z, *size)
    assert z.sum() == 2 * size[0] * size[1]
    assert double.on(on).sanitize(x, z, *size).clean


def test_one_empty_side_is_an_error() -> None:
    def found(tile: object, g: object) -> Severity:
        return {b.rule.id: b.severity for b in broken_rules(transfer("TLOAD", "a5", tile, g), text=False)}["LS-COM-03"]

    empty = vec("f32", 16, 16, valid=(0, 16))
    assert found(empty, view("f32", 0, 16)) is Severity.WARNING
    assert found(empty, view("f32", 4, 16)) is Severity.ERROR, "the device moves the rows of the view"
    assert found(vec("f32", 16, 16), view("f32", 0, 16)) is Severity.ERROR
    assert found(vec("f32", 16, 16, valid=(4, 0)), view("f32", 4, 16)) is Severity.WARNING
    undecided = vec("f32", 16, 16, valid=(-1, 16)), view("f32", 0, 16)
    assert not list(broken_rules(transfer("TLOAD", "a5", *undecided), text=False)), "the run decides"


def test_what_no_static_assert_of_a_target_asks() -> None:
    """Columns times a number; scratch of a transposition, which a5 ignores; bytes of any type, turned."""
    column = {
        "dst": spec("f32", 16, 1, dn=True),
        "src": spec("f32", 16, 1, dn=True),
        "scalar": ScalarInfo("s", "f32", 2.0),
    }
    scalar_forms = ("TADDS", "TSUBS", "TMULS", "TMAXS", "TMINS", "TDIVS", "TLRELU")
    for name, on in itertools.product(scalar_forms, ("a2a3", "a5")):
        assert verdicts(name, on, **column) == {"EW-02": Severity.WARNING}
    whole = {**column, **dict.fromkeys(("dst", "src"), spec("f32", 16, 8, dn=True))}
    part = {**column, **dict.fromkeys(("dst", "src"), spec("f32", 16, 8, 12, 8, dn=True))}
    mixed = {**column, "dst": spec("f32", 16, 8), "src": spec("f32", 16, 8, dn=True)}
    open_column = {**column, **dict.fromkeys(("dst", "src"), spec("f32", 16, 1, 16, -1, dn=True))}
    integers = {**column, **dict.fromkeys(("dst", "src"), spec("i32", 16, 1, dn=True))}
    wide = {**column, **dict.fromkeys(("dst", "src"), spec("i64", 16, 4, dn=True))}
    for on in ("a2a3", "a5"):
        assert verdicts("TMULS", on, **whole) == {"EW-02": Severity.WARNING}
        assert verdicts("TMULS", on, **part)["EW-02"] is verdicts("TMULS", on, **mixed)["EW-02"] is Severity.ERROR
    assert verdicts("TMULS", "a2a3", **open_column) == {"EW-02": Severity.WARNING}
    assert verdicts("TMULS", "a5", **open_column)["EW-02"] is Severity.ERROR
    assert verdicts("TDIVS", "a5", **integers)["EW-02"] is verdicts("TADDS", "a5", **wide)["EW-02"] is Severity.ERROR
    square, byte = spec("f32", 16, 16), spec("e4m3", 32, 32)
    shared = {"dst": at(square, 0), "src": at(square, 4096), "tmp": at(square, 0)}
    assert verdicts("TTRANS", "a5", **shared) == {}
    assert verdicts("TTRANS", "a2a3", **shared) == {"TRANS-COM-05": Severity.ERROR}
    turned = {"dst": at(byte, 0), "src": at(byte, 4096), "tmp": at(byte, 8192)}
    assert verdicts("TTRANS", "a5", **turned) == verdicts("TTRANS", "a2a3", **turned) == {}


@pto.kernel(target="a2a3")
def doubles_a_column(x: pto.Ptr[pto.f32]) -> None:
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 1, pto.BLayout.ColMajor)
    g = pto.GlobalTensor(x, (16, 1), layout=pto.Layout.DN)
    pto.TLOAD(t, g)
    pto.TMULS(t, t, 2.0)
    pto.TSTORE(g, t)


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
def test_a_column_times_a_number_on_a2a3() -> None:
    x = np.arange(16, dtype=np.float32)
    doubles_a_column[1](x)
    assert (x == np.arange(16) * 2).all()


@pto.kernel(target="a5")
def odd_halves(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32]) -> None:
    tiles = [pto.Tile(pto.TileType.Vec, pto.f32, 8, 16, valid_col=15, addr=a * 1024) for a in range(4)]
    for tile, memory in zip(tiles, (x, y)):
        pto.TLOAD(tile, pto.GlobalTensor(memory, (8, 15), (16, 1)))
    pto.TINTERLEAVE(tiles[3], tiles[2], tiles[1], tiles[0])
    for k, tile in enumerate(tiles[2:]):
        pto.TSTORE(pto.GlobalTensor(z + k * 128, (8, 15), (16, 1)), tile)


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
def test_odd_rows_are_interleaved_from_half_of_their_columns_on() -> None:
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y, z = -x, np.zeros((2, 8, 16), np.float32)
    odd_halves[1](x, y, z)
    for k, start in enumerate((0, 7)):
        want = np.stack((x[:, start : start + 8], y[:, start : start + 8]), axis=2).reshape(8, 16)[:, :15]
        assert (z[k, :, :15] == want).all()


@pto.kernel(target="a5")
def spread(x: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], w: pto.Ptr[pto.f32]) -> None:
    small, large, wide = (
        pto.Tile(pto.TileType.Vec, pto.f32, rows, cols, addr=a)
        for rows, cols, a in ((4, 8, 0), (16, 16, 1024), (4, 24, 4096))
    )
    pto.TLOAD(small, pto.GlobalTensor(x, (4, 8)))
    pto.TSCATTER(large, small, mask=pto.MaskPattern.P0101, axis=pto.MaskAxis.Col)
    pto.TLOAD(wide, pto.GlobalTensor(w, (4, 24)))
    pto.TCONCAT(wide, small, small)
    pto.TSTORE(pto.GlobalTensor(z, (16, 16)), large)
    pto.TSTORE(pto.GlobalTensor(w, (4, 24)), wide)


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
def test_larger_tiles_are_cleared_by_scatters_and_kept_by_concatenations() -> None:
    x = np.arange(1, 33, dtype=np.float32).reshape(4, 8)
    z, w = np.full((16, 16), -1, np.float32), np.full((4, 24), -1, np.float32)
    spread[1](x, z, w)
    want = np.zeros((16, 16), np.float32)
    want[0:8:2, :8] = x
    assert (z == want).all()
    assert (w == np.concatenate((x, x, np.full((4, 8), -1)), axis=1)).all()


def axpy(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f16], a: float) -> None:
    left, right = (pto.Tile(pto.TileType.Vec, pto.f16, 8, 64, addr=k * 1024) for k in range(2))
    pto.TLOAD(left, pto.GlobalTensor(x, (8, 64)))
    pto.TLOAD(right, pto.GlobalTensor(y, (8, 64)))
    pto.TAXPY(right, left, a)
    pto.TSTORE(pto.GlobalTensor(y, (8, 64)), right)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a5_rounds_axpy_once(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_BACKEND", backend)
    random = np.random.default_rng(3)
    x, y = (random.standard_normal((8, 64)).astype(np.float16) for _ in range(2))
    factor = np.float16(1.2998)
    once = (x.astype(np.float64) * np.float64(factor) + y).astype(np.float16)
    twice = (x * factor + y).astype(np.float16)
    assert (once != twice).any()
    for name, want in (("a5", once), ("a2a3", twice)):
        result = y.copy()
        pto.kernel(target=name)(axpy)[1](x, result, float(factor))
        assert (result == want).all()
