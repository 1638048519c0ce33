"""Signals between the cube core and the vector cores of a cluster: where they go, that they suffice, and that each is
needed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ptokit
from ptokit.api.synchronise import Synchronised, synchronise
from ptokit.prove.report import Verdict
from ptokit.sanitize.findings.source_text import Structure
from ptokit.synchronise.signals import Meeting
from ptokit.targets import target as target_named
from tests.each import each
from tests.prove.clusters import cluster, signalled

pytest.importorskip("z3")

SIGNAL = re.compile(r"pto\.sync\..*\n")
HEAD = """!all = !pto.tensor_view<?x?xf32>
!square = !pto.partition_tensor_view<32x32xf32>
!half = !pto.partition_tensor_view<16x32xf32>
!mat = !pto.tile_buf<mat, 32x32xf32, blayout=col_major, slayout=row_major>
!left = !pto.tile_buf<left, 32x32xf32, blayout=col_major, slayout=row_major>
!right = !pto.tile_buf<right, 32x32xf32, slayout=col_major>
!sum = !pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>
!rows = !pto.tile_buf<vec, 16x32xf32>
"""
NUMBERS = """%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c4 = arith.constant 4 : index
%c16 = arith.constant 16 : index
%c32 = arith.constant 32 : index
%many = arith.constant 4096 : index
%place = arith.constant 0 : i64
%onef = arith.constant 1.0 : f32
%xv = pto.make_tensor_view %x, shape = [%many, %c32], strides = [%c32, %c1] : !all
%sv = pto.make_tensor_view %s, shape = [%many, %c32], strides = [%c32, %c1] : !all
%pv = pto.make_tensor_view %p, shape = [%many, %c32], strides = [%c32, %c1] : !all
%yv = pto.make_tensor_view %y, shape = [%many, %c32], strides = [%c32, %c1] : !all
"""
ROW = "%row = arith.muli %i, %c32 : index"
SLOT = "%slot = arith.remui %i, %c2 : index\n%at = arith.muli %slot, %c32 : index"


def cube(source: str, destination: str, row: str = "%row", at: str = "%at") -> str:
    """The cube core multiplies 32 rows of one array by themselves, and stores them in another one."""
    size = "sizes = [%c32, %c32] : !all -> !square"
    return f"""%from_{source} = pto.partition_view %{source}v, offsets = [{row}, %c0], {size}
%to_{destination} = pto.partition_view %{destination}v, offsets = [{at}, %c0], {size}
pto.tload ins(%from_{source} : !square) outs(%mat : !mat)
pto.barrier <PIPE_ALL>
pto.tmov ins(%mat : !mat) outs(%left : !left)
pto.tmov ins(%mat : !mat) outs(%right : !right)
pto.barrier <PIPE_ALL>
pto.tmatmul ins(%left, %right : !left, !right) outs(%sum : !sum)
pto.barrier <PIPE_ALL>
pto.tstore ins(%sum : !sum) outs(%to_{destination} : !square)
pto.barrier <PIPE_ALL>"""


def vector(source: str, destination: str, row: str = "%row", at: str = "%at") -> str:
    """Each vector core adds 1 to 16 of 32 rows of one array, and stores them in another one."""
    size = "sizes = [%c16, %c32] : !all -> !half"
    return f"""%mine_{source} = arith.addi {at}, %half : index
%mine_{destination} = arith.addi {row}, %half : index
%from_{source} = pto.partition_view %{source}v, offsets = [%mine_{source}, %c0], {size}
%to_{destination} = pto.partition_view %{destination}v, offsets = [%mine_{destination}, %c0], {size}
pto.tload ins(%from_{source} : !half) outs(%rows : !rows)
pto.barrier <PIPE_ALL>
pto.tadds ins(%rows, %onef : !rows, f32) outs(%rows : !rows)
pto.barrier <PIPE_ALL>
pto.tstore ins(%rows : !rows) outs(%to_{destination} : !half)
pto.barrier <PIPE_ALL>"""


def loop(*body: str) -> tuple[str, ...]:
    return "scf.for %i = %c0 to %n step %c1 {", *body, "}"


def section(core: str, *body: str) -> tuple[str, ...]:
    return f"pto.section.{core} {{", *body, "}"


TILES = {
    "cube": "\n".join(f"%{name} = pto.alloc_tile addr = %place : !{name}" for name in ("mat", "left", "right", "sum")),
    "vector": "%rows = pto.alloc_tile addr = %place : !rows\n%sub = pto.get_subblock_idx\n"
    "%lane = arith.index_cast %sub : i64 to index\n%half = arith.muli %lane, %c16 : index",
}


def kernel(*body: str, arch: str = "a5") -> str:
    params = ", ".join(f"%{name}: !pto.ptr<f32>" for name in "xspy")
    text = "\n".join(body)
    for core, tiles in TILES.items():
        text = text.replace(f"pto.section.{core} {{", f"pto.section.{core} {{\n{tiles}")
    return f"{HEAD}module {{\nfunc.func @k({params}, %n: index) {{\n{NUMBERS}{text}\nreturn\n}}\n}}\n"


RING = (*section("cube", *loop(ROW, SLOT, cube("x", "s"))), *section("vector", *loop(ROW, SLOT, vector("s", "y"))))


def signals(made: Synchronised) -> list[str]:
    """``cube FIX MTE2 0`` for each signal, with how many are given ahead if loops carry it."""
    return [f"{x.cores[0]} {' '.join(x.pipes)} {x.number}{f' {x.ahead} ahead' * bool(x.carried)}" for x in made.signals]


def order(text: str) -> str:
    """The order of a text in letters: signals, loads and stores, loops and sections."""
    found = re.findall(
        r"sync\.(set|wait) <PIPE_(\w+)>, (\d+)|(tload|tstore|scf|section\.\w)|^ *(\})$", text, re.MULTILINE
    )
    return " ".join(f"{verb}-{pipe}-{number}" if verb else word or end for verb, pipe, number, word, end in found)


@each("on", ("a5", "a2a3"))
def test_what_one_core_stores_the_other_loads_after_a_signal(on: str) -> None:
    body = *section("cube", cube("x", "s", "%c0", "%c0")), *section("vector", vector("s", "y", "%c0", "%c0"))
    made = synchronise(kernel(*body), target=on)
    both = " set-FIX-16" * (on == "a5")  # there an id is for one vector core
    assert order(made.text) == (
        f"section.c tload tstore set-FIX-0{both} }} section.v wait-MTE2-0 tload tstore }} }} }}"
    )
    assert made.proved
    assert made.minimal
    assert signals(made) == ["cube FIX MTE2 0"]
    assert synchronise(made.text, target=on).text == made.text


def test_slots_are_given_back_by_signals_with_as_many_ahead() -> None:
    made = synchronise(kernel(*RING), target="a5")
    assert made.proved
    assert made.minimal
    assert order(made.text) == (
        "section.c scf tload wait-FIX-1 wait-FIX-17 tstore set-FIX-0 set-FIX-16 } "
        "wait-FIX-1 wait-FIX-17 wait-FIX-1 wait-FIX-17 } "
        "section.v set-MTE2-1 set-MTE2-1 scf wait-MTE2-0 tload set-MTE2-1 tstore } } } }"
    )
    assert "2 signals between cores; proved" in str(made)
    assert "signal 1 from MTE2 of the vector core to FIX of the cube core: set after line 59" in str(made)


@pytest.mark.campaign
def test_a_while_loop_that_counts_is_in_step_with_one_that_says_so() -> None:
    asks = "%goes = arith.cmpi ult, %a, %n : index\nscf.condition(%goes) %a : index\n} do {\n^bb0(%i: index):"
    counted = f"scf.while (%a = %c0) : (index) -> index {{\n{asks}", "%next = arith.addi %i, %c1 : index"
    body = counted[0], ROW, SLOT, cube("x", "s"), counted[1], "scf.yield %next : index", "}"
    made = synchronise(
        kernel(*section("cube", *body), *section("vector", *loop(ROW, SLOT, vector("s", "y")))), target="a5"
    )
    assert made.proved
    assert signals(made) == ["cube FIX MTE2 0", "vector MTE2 FIX 1 2 ahead"]


def test_a_loop_around_both_sections_gets_sections_for_what_is_outside() -> None:
    body = loop(ROW, SLOT, *section("cube", cube("x", "s")), *section("vector", vector("s", "y")))
    made = synchronise(kernel(*body), target="a2a3")
    assert made.proved
    assert order(made.text) == (
        "section.v set-MTE2-1 set-MTE2-1 } "
        "scf section.c tload wait-FIX-1 tstore set-FIX-0 } section.v wait-MTE2-0 tload set-MTE2-1 tstore } } "
        "section.c wait-FIX-1 wait-FIX-1 } } }"
    )


def test_loops_that_are_not_in_step_are_ordered_as_a_whole() -> None:
    """An iteration reads what the other core may not have written yet."""
    back = "%i1 = arith.addi %i, %c1 : index\n%left_over = arith.subi %n, %i1 : index"
    back += "\n%at = arith.muli %left_over, %c32 : index"
    cubes = section("cube", *loop(ROW, cube("x", "s", at="%row")))
    made = synchronise(kernel(*cubes, *section("vector", *loop(ROW, back, vector("s", "y")))), target="a2a3")
    assert made.proved
    assert order(made.text) == "section.c scf tload tstore } set-FIX-0 } section.v wait-MTE2-0 scf tload tstore } } } }"


def test_a_signal_is_not_given_more_often_than_it_counts() -> None:
    cubes = section("cube", *loop(ROW, cube("x", "s", at="%row")))
    made = synchronise(kernel(*cubes, *section("vector", *loop(ROW, vector("s", "y", at="%row")))), target="a2a3")
    assert made.proved
    assert signals(made) == ["cube FIX MTE2 0", "vector MTE2 FIX 1 4 ahead"]
    assert "without it more signals may be under way than the 15" in str(made)


def test_signals_of_the_program_keep_their_ids() -> None:
    used = "pto.sync.set <PIPE_FIX>, 0\npto.sync.set <PIPE_FIX>, 16"
    taken = "pto.sync.wait <PIPE_MTE3>, 0"
    body = section("cube", cube("x", "s", "%c0", "%c0"), used), section("vector", taken, vector("s", "y", "%c0", "%c0"))
    made = synchronise(kernel(*body[0], *body[1]), target="a5")
    assert made.proved
    assert signals(made) == ["cube FIX MTE2 1"]


PYTHON = """import ptokit as pto

@pto.kernel(target="{on}")
def square(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], slot: pto.Ptr[pto.f32]):
    place = pto.GlobalTensor(slot, (32, 32))
    with pto.cube_section():
        nz = {{"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}}
        mat = pto.Tile(pto.TileType.Mat, pto.f32, 32, 32, **nz, addr=0)
        # as it comes
        pto.TLOAD(mat, pto.GlobalTensor(x, (32, 32)))
        pto.pipe_barrier(pto.PIPE_ALL)
        left = pto.TileLeft(pto.f32, 32, 32, addr=0)
        right = pto.TileRight(pto.f32, 32, 32, addr=0)
        pto.TMOV(left, mat)
        pto.TMOV(right, mat)
        pto.pipe_barrier(pto.PIPE_ALL)
        out = pto.TileAcc(pto.f32, 32, 32, addr=0)
        pto.TMATMUL(out, left, right)
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(place, out)  # the product
    with pto.vector_section():
        rows = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32, addr=0)
        half = pto.get_subblock_idx() * 16
        pto.TLOAD(rows, place[half : half + 16])
        pto.pipe_barrier(pto.PIPE_ALL)
        pto.TSTORE(pto.GlobalTensor(y, (32, 32))[half : half + 16], rows)
"""


def test_signals_in_python(tmp_path: Path) -> None:
    path = tmp_path / "square.py"
    path.write_text(PYTHON.format(on="a5"))
    made = synchronise(ptokit.read(f"{path}:square"), target="a5")
    assert made.proved
    added = [line for line in made.text.splitlines() if line not in made.old.splitlines()]
    assert [line.strip() for line in added] == [
        "pto.sync.set(pto.PIPE_FIX, 0)",
        "pto.sync.set(pto.PIPE_FIX, 16)",
        "pto.sync.wait(pto.PIPE_MTE2, 0)",
    ]
    assert [line for line in made.text.splitlines() if line not in added] == made.old.splitlines()


def test_a_signal_that_a_version_dropped_is_named() -> None:
    body = *section("cube", cube("x", "s", "%c0", "%c0")), *section("vector", vector("s", "y", "%c0", "%c0"))
    made = synchronise(kernel(*body), target="a2a3")
    found = ptokit.compare_order(made.text, made.old, target="a2a3")
    assert found.less
    (lost,) = found.lost
    assert str(lost) == (
        "B dropped the signal between TSTORE in line 38 and TLOAD in line 50 (lines 38 and 52 of A): "
        "TLOAD on PIPE_MTE2 may overtake TSTORE on PIPE_FIX"
    )
    assert not ptokit.compare_order(made.text, made.text, target="a2a3").lost


FIRST = "%zero64 = arith.constant 0 : i64\n%first = arith.cmpi eq, %sub, %zero64 : i64"
WAIT = "pto.sync.wait <PIPE_MTE2>, 3"


@each(
    "arms, balanced",
    (
        (("scf.if %first {", WAIT, "} else {", WAIT, "}"), True),
        (("scf.if %first {", WAIT, "}"), False),
        (("scf.if %few {", WAIT, "}"), False),
    ),
    ids=("both arms wait", "one core waits", "the other core does not ask"),
)
def test_signals_in_branches_of_one_core(arms: tuple[str, ...], balanced: bool) -> None:
    few = "%few = arith.cmpi ult, %n, %c4 : index"
    cubes = section("cube", cube("x", "s", "%c0", "%c0"), "pto.sync.set <PIPE_FIX>, 3", "pto.sync.set <PIPE_FIX>, 19")
    text = kernel(few, *cubes, *section("vector", FIRST, *arms, vector("s", "y", "%c0", "%c0")))
    proof = ptokit.prove(text, target="a5")
    assert (proof["flags"].verdict is Verdict.PROVED) is balanced, str(proof)
    why = [why for why, _ in synchronise(text, target="a5").open]
    assert ("a branch leaves more in a pipe than the other way does, which is not followed" in why) is not balanced


def test_a_signal_in_blocks_that_may_be_passed_by_is_not_taken_to_come() -> None:
    blocks = "scf.execute_region {\ncf.cond_br %few, ^waits, ^on\n^waits:\n{}\ncf.br ^on\n^on:\nscf.yield\n}"
    cubes = section("cube", cube("x", "s", "%c0", "%c0"), "pto.sync.set <PIPE_FIX>, 3", "pto.sync.set <PIPE_FIX>, 19")
    few = "%few = arith.cmpi ult, %n, %c4 : index"
    waits = blocks.replace("{}", WAIT)
    made = synchronise(kernel(few, *cubes, *section("vector", waits, vector("s", "y", "%c0", "%c0"))), target="a5")
    line = made.text.splitlines().index(WAIT) + 1
    assert ("operations on pipes or signals in branches are not followed", line) in made.open


def test_ids_of_pipes_between_cores_stay_theirs() -> None:
    """A pipe has up to four."""
    a5 = target_named("a5")
    module = ptokit.read(cluster(1), target="a5").module
    signal: Any = SimpleNamespace(number=-1)
    assert Meeting((), Structure(module.functions), a5).number([signal]) is None
    assert signal.number == 4


def test_signals_in_branches_that_go_the_same_way() -> None:
    few = "%few = arith.cmpi ult, %n, %c4 : index"
    given = "scf.if %few {\npto.sync.set <PIPE_FIX>, 3\npto.sync.set <PIPE_FIX>, 19\n}"
    for condition, proved in (("%few", True), ("%many_more", False)):
        more = "%many_more = arith.cmpi uge, %n, %c4 : index"
        taken = f"scf.if {condition} {{\n{WAIT}\n}}"
        cubes = section("cube", cube("x", "s", "%c0", "%c0"), given)
        text = kernel(few, more, *cubes, *section("vector", taken, vector("s", "y", "%c0", "%c0")))
        proof = ptokit.prove(text, target="a5")
        assert (proof["flags"].verdict is Verdict.PROVED) is proved, str(proof)


FEW = "%few = arith.cmpi ult, %n, %c4 : index"
BACK = {"row": "%at", "at": "%row"}  # what is loaded from the slots
SHAPES = {
    "uneven": (
        (*section("cube", *loop(ROW, cube("x", "s", at="%row"))),),
        section("vector", "scf.for %i = %c0 to %c4 step %c1 {", ROW, vector("s", "y", at="%row"), "}"),
        ["cube FIX MTE2 0"],
    ),
    "branch": (
        section("cube", FEW, "scf.if %few {", cube("x", "s", "%c0", "%c0"), "}"),
        section("vector", vector("s", "y", "%c0", "%c0")),
        ["cube FIX MTE2 0"],
    ),
    "both write": (
        section("vector", vector("x", "s", "%c0", "%c0")),
        section("cube", cube("x", "s", "%c0", "%c0")),
        ["vector MTE3 FIX 0"],
    ),
}
LARGE = {
    "to the cube core": (
        section("vector", *loop(ROW, SLOT, vector("x", "s", "%at", "%row"))),
        section("cube", *loop(ROW, SLOT, cube("s", "y", **BACK))),
        ["vector MTE3 MTE2 0", "cube MTE2 MTE3 1 2 ahead"],
    ),
    "there and back": (
        section("cube", *loop(ROW, SLOT, cube("x", "s"), cube("p", "y", **BACK))),
        section("vector", *loop(ROW, SLOT, vector("s", "p", "%at"))),
        ["cube FIX MTE2 0", "vector MTE3 MTE2 1"],
    ),
    "nested": (
        section("cube", "scf.for %o = %c0 to %c4 step %c1 {", *loop(ROW, SLOT, cube("x", "s")), "}"),
        section("vector", "scf.for %o = %c0 to %c4 step %c1 {", *loop(ROW, SLOT, vector("s", "y")), "}"),
        ["cube FIX MTE2 0", "vector MTE2 FIX 1 2 ahead"],
    ),
    "three stages": (
        loop(
            ROW,
            SLOT,
            *section("cube", cube("x", "s")),
            *section("vector", vector("s", "p", "%at")),
            *section("cube", cube("p", "y", **BACK)),
        ),
        (),
        ["cube FIX MTE2 0", "vector MTE3 MTE2 1"],
    ),
}


def shaped(one: tuple[str, ...], other: tuple[str, ...], wanted: list[str], on: str) -> None:
    made = synchronise(kernel(*one, *other), target=on)
    assert (made.proved, made.minimal, signals(made)) == (True, True, wanted), str(made)
    given = ["random:f32:131072", *["zeros:f32:131072"] * 3, "7"]
    assert not ptokit.sanitize(made.text, given, target=on).errors


@each("shape", SHAPES)
def test_shapes_of_two_sides(shape: str) -> None:
    for on in ("a5", "a2a3"):
        shaped(*SHAPES[shape], on)


@pytest.mark.campaign
@pytest.mark.parametrize("on", ["a5", "a2a3"])
@pytest.mark.parametrize("shape", LARGE)
def test_shapes_of_two_sides_with_loops(shape: str, on: str) -> None:
    shaped(*LARGE[shape], on)


@pytest.mark.campaign
@pytest.mark.parametrize("on", ["a5", "a2a3"])
def test_random_clusters_get_their_signals_again(on: str) -> None:
    """Whatever is proved has no finding in a launch; some lack a flag of theirs, which stays so."""
    proved = broken = 0
    for seed in range(40):
        made = synchronise(SIGNAL.sub("", signalled(seed, on)), target=on)
        given = ["0"] * (on == "a2a3") + [
            "random:f16:2048",
            "random:f16:4096",
            "uninit:f32:16384",
            "uninit:f32:2048",
            "3",
            "2",
        ]
        report = ptokit.sanitize(made.text, given, target=on)
        found = [str(d) for d in report.errors if d.rule.startswith(("RACE", "XFLAG", "DEADLOCK"))]
        assert not (made.proved and found), (seed, found)
        proved += made.proved and made.minimal
        broken += any(why.startswith("the flag PIPE") for why, _ in made.open)
    assert proved + broken == 40
    assert proved > 30
