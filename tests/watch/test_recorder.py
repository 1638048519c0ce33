"""Contents after chosen instructions: which are chosen, and what is said about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, bf16
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import A5
from ptokit.watch import Recorder, Seen, Selection
from ptokit.watch.seen import INDEX, Folder, SelectionError

from ..run.kernels import PARTS, PTRS, add, alloc, compiled, load, store, view

BODY = (
    view("xv", "%x")
    + view("yv", "%y")
    + alloc("t")
    + alloc("u")
    + "    scf.for %i = %c0 to %c2 step %c1 {\n"
    + "      %r = arith.muli %i, %c8 : index\n"
    + PARTS
    + load("%t", "%p")
    + add("%t", "%t", "%u")
    + add("%u", "%u", "%t")
    + store("%t", "%q")
    + "    }\n"
)
PROGRAM = compiled(PTRS, BODY)
LINES = {op.name: op.location.line for f in PROGRAM.module.functions for op in f.body.walk()}  # type: ignore[union-attr]
LOAD, LAST_ADD, STORE = LINES["pto.tload"], LINES["pto.tadd"], LINES["pto.tstore"]
FIRST_ADD = LAST_ADD - 1


def arguments() -> list[Any]:
    return [np.arange(256, dtype=np.float32).reshape(16, 16), np.zeros((16, 16), np.float32), 16]


def watched(*texts: str, blocks: int = 1) -> list[Seen]:
    found: list[Seen] = []
    PROGRAM.launch(arguments(), blocks, observer=Recorder([Selection.of(text) for text in texts], found.append))
    return found


def places(found: list[Seen]) -> list[tuple[str, str, int, int]]:
    return [(s.name, s.instruction, s.block, dict(s.loops)["i"]) for s in found]


def test_a_name_is_seen_wherever_it_is_written() -> None:
    assert places(watched("u")) == [("u", "TADD", 0, 0), ("u", "TADD", 0, 1)]
    assert places(watched("%u")) == places(watched("u"))
    both = watched("t", "u", blocks=2)
    expected = [(n, w, b, i) for b in (0, 1) for i in (0, 1) for n, w in (("t", "TLOAD"), ("u", "TADD"), ("t", "TADD"))]
    assert places(both) == expected


def test_a_line_shows_what_is_written_there() -> None:
    assert places(watched(f"@{LOAD}")) == [("t", "TLOAD", 0, 0), ("t", "TLOAD", 0, 1)]
    (first, _) = watched(f"@{STORE}")
    assert (first.name, first.kind, first.operand) == ("q", "view", "dst")
    assert first.array is not None
    assert np.array_equal(first.array, 4 * arguments()[0][:8])


def test_a_name_in_a_line_is_seen_whoever_has_written_it() -> None:
    seen = watched(f"t@{FIRST_ADD}:i=1")
    assert places(seen) == [("t", "TADD", 0, 1)]
    assert np.array_equal(seen[0].array, arguments()[0][8:])
    known = watched(f"t@{STORE}")  # as the source of the store
    assert [s.operand for s in known] == ["src", "src"]
    later = watched(f"u@{STORE}:block=0,i=0")  # no operand of the store
    assert np.array_equal(later[0].array, 2 * arguments()[0][:8])


def test_block_and_loop_variables_choose() -> None:
    assert places(watched("u:block=1", blocks=3)) == [("u", "TADD", 1, 0), ("u", "TADD", 1, 1)]
    assert places(watched("u:block=2, i=1", blocks=3)) == [("u", "TADD", 2, 1)]
    assert watched("u:k=1") == []


def test_hits_are_counted() -> None:
    recorder = Recorder([Selection.of("u"), Selection.of("u:i=7")], lambda seen: None)
    PROGRAM.launch(arguments(), 2, observer=recorder)
    assert recorder.hits == [4, 0]


def test_text_says_where_and_when() -> None:
    (seen,) = watched("u:i=1")
    head, _, table = str(seen).partition("\n")
    assert head == f"u after TADD in line {FIRST_ADD} (block 0, i=1): vec 8x16xf32"
    assert table.startswith("[[256. 258.")
    assert repr(seen) == f"<u after TADD in line {FIRST_ADD}, block 0, i=1: vec 8x16xf32>"


@pytest.mark.parametrize("text", ["", "@", "a b", "t@x", "t@12:", "t@12:i", "t@12:i=a", "t:block=0,", "@1@2"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(SelectionError):
        Selection.of(text)


def test_what_is_missing_is_named() -> None:
    module = PROGRAM.module
    assert Selection.of("uu").missing(module).startswith("nothing is called 'uu'")
    assert "there is no operation in line 1; the next one is in line 3" in Selection.of("@1").missing(module)
    assert Selection.of("@999").missing(module) == "there is no operation in line 999"
    assert Selection.of(f"t@{LOAD}").missing(module) == ""


def test_everything_goes_into_a_folder(tmp_path: Path) -> None:
    with Folder(tmp_path / "all") as folder:
        PROGRAM.launch(arguments(), 1, observer=Recorder((), folder))
    lines = [json.loads(line) for line in (tmp_path / "all" / INDEX).read_text().splitlines()]
    assert [line["instruction"] for line in lines] == ["TLOAD", "TADD", "TADD", "TSTORE"] * 2
    assert [line["loops"]["i"] for line in lines] == [0] * 4 + [1] * 4
    assert {line["dtype"] for line in lines} == {"f32"}
    stored = [np.load(tmp_path / "all" / line["file"], allow_pickle=False) for line in lines]
    assert np.array_equal(stored[0], arguments()[0][:8])
    assert folder.count == len(lines)
    assert folder.bytes == sum(array.nbytes for array in stored)
    with pytest.raises(FileExistsError):
        Folder(tmp_path / "all")


# --- Python kernels ---------------------------------------------------------------------------------------------------


@pto.kernel(target="a5")
def halves(x: Ptr[bf16], y: Ptr[bf16], n: int):
    for i in range(0, n, 16):
        acc = Tile(TileType.Vec, bf16, 1, 16)
        pto.TLOAD(acc, GlobalTensor(x, (1, n))[:, i : i + 16])
        pto.TMULS(acc, acc, 0.5)
        pto.TSTORE(GlobalTensor(y, (1, n))[:, i : i + 16], acc)


def numbers() -> tuple[np.ndarray, np.ndarray, int]:
    return np.arange(32).astype(ml_dtypes.bfloat16), np.zeros(32, ml_dtypes.bfloat16), 32


@pytest.mark.parametrize("interpreted", ["0", "1"])
def test_kernel_watch(monkeypatch: pytest.MonkeyPatch, interpreted: str) -> None:
    monkeypatch.setenv("PTOKIT_INTERPRET", interpreted)
    x, y, n = numbers()
    seen = halves.watch("acc")(x, y, n)
    assert [s.instruction for s in seen] == ["TLOAD", "TMULS"] * 2
    assert np.array_equal(seen[3].array, x[None, 16:] * ml_dtypes.bfloat16(0.5))
    assert np.array_equal(y, x * ml_dtypes.bfloat16(0.5))
    line = seen[1].line
    again = halves.watch(f"acc@{line}:block=1")[2](*numbers())
    assert [s.block for s in again] == [1, 1]
    assert len(halves.watch()(*numbers())) == 6


def test_loop_variables_have_their_names() -> None:
    assert [dict(s.loops) for s in halves.watch("acc")(*numbers())][::2] == [{"i": 0}, {"i": 16}]


@pytest.mark.parametrize("text", ["accu", "@1", "acc@", "acc:i"])
def test_kernel_watch_refuses(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        halves.watch(text)(*numbers())
    (finding,) = caught.value.diagnostics
    assert finding.rule == "LANG-WATCH"
    assert finding.location.file == __file__
    if text == "accu":
        assert "did you mean acc?" in finding.message


def test_codes_are_shown_as_numbers() -> None:
    text = (
        'module attributes {pto.target_arch = "a5"} {\n  func.func @k() {\n    %c = arith.constant 3.0 : f32\n'
        "    %t = pto.alloc_tile : !pto.tile_buf<vec, 8x32xf32>\n"
        "    %h = pto.alloc_tile : !pto.tile_buf<vec, 8x32x!pto.hif8>\n"
        "    pto.texpands ins(%c : f32) outs(%t : !pto.tile_buf<vec, 8x32xf32>)\n"
        "    pto.tcvt ins(%t : !pto.tile_buf<vec, 8x32xf32>) outs(%h : !pto.tile_buf<vec, 8x32x!pto.hif8>)\n"
        "    return\n  }\n}\n"
    )
    parsed = parse_module(text, "k.pto", target=A5)
    parsed.diagnostics.raise_if_errors()
    found: list[Seen] = []
    compile_program(parsed.module, A5).launch([], observer=Recorder([Selection.of("h")], found.append))
    assert found[0].array is not None
    assert found[0].array.dtype == np.float32
    assert (found[0].array == 3).all()
    assert "hif8" in found[0].what


# --- registers --------------------------------------------------------------------------------------------------------

SOFTMAX = Path(__file__).parents[2] / "examples" / "pto" / "vector_softmax.pto"


def registers(*texts: str) -> list[Seen]:
    """What is seen while vector_softmax.pto works on two rows of 512."""
    parsed = parse_module(SOFTMAX.read_text(encoding="utf-8"), SOFTMAX.name, target=A5)
    parsed.diagnostics.raise_if_errors()
    x = np.arange(1024, dtype=np.float32).reshape(2, 512) / 64
    found: list[Seen] = []
    recorder = Recorder([Selection.of(text) for text in texts], found.append)
    compile_program(parsed.module, A5).launch([x, np.zeros_like(x), 2], observer=recorder)
    return found


def test_results_of_register_instructions_are_seen() -> None:
    found = registers("v:r=1")
    assert {s.instruction for s in found} == {"vlds"}
    assert [dict(s.loops)["i"] for s in found[:7]] == list(range(576, 1024, 64))
    assert found[0].kind == "register"
    assert found[0].operand == "dst"
    assert np.array_equal(found[0].array, np.arange(576, 640, dtype=np.float32) / 64)
    assert found[0].what == "register 64xf32"


def test_a_line_of_a_register_instruction_shows_its_result() -> None:
    line = registers("peak")[0].line
    assert [(s.name, s.instruction, s.array[0]) for s in registers(f"@{line}")] == [
        ("peak", "vcmax", 511 / 64),
        ("peak", "vcmax", 1023 / 64),
    ]


def test_a_register_is_known_in_later_lines() -> None:
    line = registers("s0")[0].line
    assert [s.array[0] for s in registers(f"peak@{line}")] == [511 / 64, 1023 / 64]


def test_predicates_have_an_element_for_each_lane() -> None:
    (seen,) = registers("all")
    assert (seen.kind, seen.what) == ("predicate", "predicate 64")
    assert seen.array.dtype == np.bool_
    assert seen.table().startswith("[1 1 1")


@pto.kernel(target="a5")
def doubled(x: Ptr[pto.f32], y: Ptr[pto.f32]):
    at = Tile(TileType.Vec, pto.f32, 1, 64, addr=0)
    pto.TLOAD(at, GlobalTensor(x, (1, 64)))
    with pto.vecscope():
        every = pto.pset_b32("PAT_ALL")
        place = pto.castptr(0, pto.f32)
        v = pto.vlds(place, 0)
        twice = pto.vadd(v, v, every)
        pto.vsts(twice, place, 0, every)
    pto.TSTORE(GlobalTensor(y, (1, 64)), at)


@pytest.mark.parametrize("interpreted", ["0", "1"])
def test_registers_of_python_kernels_are_seen_by_name(monkeypatch: pytest.MonkeyPatch, interpreted: str) -> None:
    monkeypatch.setenv("PTOKIT_INTERPRET", interpreted)
    x = np.arange(64, dtype=np.float32)
    (seen,) = doubled.watch("twice")(x, np.zeros_like(x))
    assert (seen.instruction, seen.kind) == ("vadd", "register")
    assert np.array_equal(seen.array, 2 * x)


@pto.kernel(target="a5")
def looks_inside(x: Ptr[pto.f32], y: Ptr[pto.f32]):
    t = Tile(TileType.Vec, pto.f32, 1, 64)
    pto.TLOAD(t, GlobalTensor(x, (1, 64)))
    if t.numpy().max() > 1:  # only an interpreted kernel can ask
        pto.TMULS(t, t, 2.0)
    pto.TSTORE(GlobalTensor(y, (1, 64)), t)


def test_kernels_that_only_run_interpreted_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_INTERPRET", "1")
    x = np.arange(64, dtype=np.float32)
    assert [s.instruction for s in looks_inside.watch("t")(x, np.zeros_like(x))] == ["TLOAD", "TMULS"]
    assert looks_inside.watch("t:block=1")(x, np.zeros_like(x)) == []
    with pytest.raises(DiagnosticError, match="'u' is not met in kernel looks_inside") as caught:
        looks_inside.watch("u")(x, np.zeros_like(x))
    assert caught.value.diagnostics[0].rule == "LANG-WATCH"


@pto.kernel(target="a5")
def on_vector_cores(x: Ptr[pto.f32], y: Ptr[pto.f32]):
    with pto.vector_section():
        t = Tile(TileType.Vec, pto.f32, 1, 64)
        pto.TLOAD(t, GlobalTensor(x, (2, 64))[pto.get_subblock_idx() : pto.get_subblock_idx() + 1])
        pto.sync.set(pto.PIPE_MTE2, 1)
    with pto.cube_section():
        pto.sync.wait(pto.PIPE_MTE2, 1)
        pto.sync.wait(pto.PIPE_MTE2, 17)


@pytest.mark.parametrize("interpreted", ["0", "1"])
def test_cores_are_named_as_everywhere(monkeypatch: pytest.MonkeyPatch, interpreted: str) -> None:
    monkeypatch.setenv("PTOKIT_INTERPRET", interpreted)
    x = np.arange(128, dtype=np.float32)
    seen = on_vector_cores.watch("t")[2](x, x.copy())
    places = [f"block {block}, vector core {core}" for block in (0, 1) for core in (0, 1)]
    assert sorted(s.when for s in seen) == places
