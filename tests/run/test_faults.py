"""What goes wrong at run time is told with rule, place, block and loop indices."""

import numpy as np
import pytest

from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.run.arguments import divided

from .kernels import COPY, PART, PTRS, alloc, compiled, load, part, store, view


def fault(program, args, blocks: int = 1, **options) -> Diagnostic:
    with pytest.raises(DiagnosticError) as caught:
        program.launch(args, blocks, **options)
    return caught.value.diagnostics[0]


def zeros(rows: int) -> np.ndarray:
    return np.zeros((rows, 16), np.float32)


def test_a_slice_past_the_tensor_names_dimension_and_block() -> None:
    found = fault(compiled(PTRS, COPY), [zeros(16), zeros(16), 16], 3, chunk=1)
    assert found.rule == "GM-OOB"
    assert found.location.file == "k.pto"
    assert "[16, 24) leaves dimension 0" in found.message
    assert "block 2" in found.notes[0].message


def test_a_view_past_the_array_is_found_at_the_transfer() -> None:
    found = fault(compiled(PTRS, COPY), [zeros(8), zeros(16), 16], 2, chunk=2)
    assert found.rule == "GM-OOB"
    assert "argument %x, which has 128 elements" in found.message


def test_a_parameter_in_local_memory_takes_no_argument() -> None:
    body = """
    pto.vecscope {
      %a = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    }"""
    found = fault(compiled("%p: !pto.ptr<f32, ub>, %i: index", body, prelude=""), [np.zeros(64, np.float32), 0])
    assert (found.rule, found.location.line, found.location.column) == ("RUN-ARG-TYPE", 2, 16)
    assert "points to ub" in found.message


@pytest.mark.parametrize("on", ["cpu", "a5"])
def test_printing_a_view_past_the_array(on: str, capsys: pytest.CaptureFixture[str]) -> None:
    body = view("xv", "%x") + part("p", "%xv", "%c0") + f"    pto.tprint ins(%p : {PART})\n"
    program = compiled(PTRS, body, arch=on)
    program.launch([zeros(8), zeros(8), 8])
    assert capsys.readouterr().out.count("\n") > 8
    found = fault(program, [zeros(8)[:7], zeros(8), 8])
    assert (found.rule, capsys.readouterr().out) == ("GM-OOB", "")
    assert "argument %x, which has 112 elements" in found.message


def test_loop_indices_are_told() -> None:
    body = (
        view("xv", "%x")
        + alloc("t")
        + "    scf.for %i = %c0 to %c16 step %c2 {\n    %r = arith.muli %i, %c8 : index\n"
        + part("p", "%xv", "%r")
        + load("%t", "%p")
        + "    }\n"
    )
    found = fault(compiled(PTRS, body), [zeros(24), zeros(8), 24])
    assert found.rule == "GM-OOB"
    assert found.notes[0].message == "at block 0, %i = 4"


def test_only_loops_around_it_are_told() -> None:
    loop = part("q", "%xv", "%i") + load("%t", "%q")
    body = view("xv", "%x") + alloc("t") + f"    scf.for %i = %c0 to %c8 step %c8 {{\n{loop}    }}\n"
    body += part("p", "%xv", "%c16") + load("%t", "%p")
    found = fault(compiled(PTRS, body), [zeros(8), zeros(8), 8])
    assert (found.rule, found.notes[0].message) == ("GM-OOB", "at block 0")


@pytest.mark.parametrize(
    ("start", "size", "hint"),
    [
        (0, 2048, "1024 bytes are left from there on, and it takes 2048; sizes and strides count bytes"),
        (256, 256, "it begins at the end; castptr takes a number of bytes, a pointer + n moves by n elements"),
        (300, 256, "it begins 176 bytes past the end; castptr takes"),
        (-2, 256, "it begins 8 bytes before the first one; castptr takes"),
    ],
)
def test_a_copy_out_of_bounds_says_what_fits(start: int, size: int, hint: str) -> None:
    body = """
    %ub = pto.castptr %c0 : index -> !pto.ptr<f32, ub>
    %s = pto.addptr %x, %start : !pto.ptr<f32, gm> -> !pto.ptr<f32, gm>
    pto.mte_gm_ub %s, %ub, %z, %size nburst(%one, %size, %size) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, i64, i64"""
    body += ", i64, i64, i64\n"
    params = "%x: !pto.ptr<f32, gm>, %start: index, %size: i64, %one: i64, %z: i64"
    found = fault(compiled(params, body), [np.zeros(256, np.float32), start, size, 1, 0])
    assert (found.rule, found.hint and found.hint[: len(hint)]) == ("PTR-A5-02", hint)


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ([zeros(8), zeros(8)], "RUN-ARG-COUNT"),
        ([zeros(8), zeros(8), zeros(8)], "RUN-ARG-TYPE"),
        ([zeros(8), 3, 8], "RUN-ARG-TYPE"),
        ([zeros(8).astype(np.float64), zeros(8), 8], "RUN-ARG-DTYPE"),
        ([zeros(8)[:, ::2], zeros(8), 8], "RUN-ARG-LAYOUT"),
        ([zeros(8), zeros(8), 2.5], "RUN-ARG-TYPE"),
        ([zeros(8), zeros(8), 1 << 70], "RUN-ARG-RANGE"),
    ],
)
def test_wrong_arguments(args: list, rule: str) -> None:
    assert fault(compiled(PTRS, COPY), args).rule == rule


def test_all_wrong_arguments_are_told_at_once() -> None:
    with pytest.raises(DiagnosticError) as caught:
        compiled(PTRS, COPY).launch([1, 2, "x"])
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-ARG-TYPE"] * 3


def test_read_only_arrays_may_be_read_but_not_written() -> None:
    x, y = zeros(8), zeros(8)
    x.flags.writeable = False
    compiled(PTRS, COPY).launch([x, y, 8])
    y.flags.writeable = False
    assert fault(compiled(PTRS, COPY), [x, y, 8]).rule == "RUN-ARG-READONLY"


def test_raw_bits_are_accepted() -> None:
    x, y = np.arange(128, dtype=np.uint32), np.zeros(128, np.uint32)
    compiled(PTRS, COPY).launch([x, y, 8])
    assert (x == y).all()


def test_no_blocks() -> None:
    assert fault(compiled(PTRS, COPY), [zeros(8), zeros(8), 8], 0).rule == "RUN-BLOCKS"


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("    %d = arith.subi %rows, %rows : index\n    %q = arith.divsi %rows, %d : index\n", "RUN-DIV-ZERO"),
        (
            "    %q = arith.shli %b64, %b64 : i64\n    %k = arith.constant 70 : i64\n"
            "    %z = arith.addi %b64, %k : i64\n    %w = arith.shli %z, %z : i64\n",
            "RUN-SHIFT",
        ),
        ("    %d = arith.subi %rows, %rows : index\n    scf.for %i = %c0 to %c8 step %d {\n    }\n", "RUN-STEP"),
        (
            "    %z = arith.constant 0.0 : f32\n    %d = arith.divf %z, %z : f32\n"
            "    %w = arith.fptosi %d : f32 to i32\n",
            "RUN-CONVERT",
        ),
    ],
)
def test_scalar_faults(body: str, rule: str) -> None:
    assert fault(compiled(PTRS, body), [zeros(8), zeros(8), 8]).rule == rule


def test_scalar_access_is_bounded() -> None:
    body = "    %v = pto.load_scalar %x[%rows] : !pto.ptr<f32> -> f32\n"
    body += "    pto.store_scalar %v, %y[%c0] : !pto.ptr<f32>, f32\n"
    program = compiled(PTRS, body)
    x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    program.launch([x, y, 5])
    assert y[0] == 5
    assert fault(program, [x, y, 8]).rule == "GM-OOB"


def test_dynamic_valid_sizes_are_bounded() -> None:
    body = "    %t = pto.alloc_tile valid_row = %rows : !pto.tile_buf<vec, 8x16xf32, valid=?x16>\n"
    program = compiled(PTRS, body)
    program.launch([zeros(8), zeros(8), 8])
    assert fault(program, [zeros(8), zeros(8), 9]).rule == "TILE-01"


def test_mismatched_view_and_tile() -> None:
    body = view("xv", "%x") + "    %t = pto.alloc_tile valid_row = %rows : !pto.tile_buf<vec, 8x16xf32, valid=?x16>\n"
    body += part("p", "%xv", "%c0")
    body += f"    pto.tload ins(%p : {PART}) outs(%t : !pto.tile_buf<vec, 8x16xf32, valid=?x16>)\n"
    program = compiled(PTRS, body)
    program.launch([zeros(8), zeros(8), 8])
    found = fault(program, [zeros(5), zeros(8), 5])
    assert found.location.line > 0
    assert "8" in found.message


def test_a_source_with_too_few_rows() -> None:
    """Where only the run knows the rows, a source that has fewer is found when the instruction runs."""
    big, small = "!pto.tile_buf<vec, 16x16xf32, valid=?x16>", "!pto.tile_buf<vec, 8x16xf32>"
    body = (
        f"    %f = arith.constant 2.0 : f32\n    %t = pto.alloc_tile valid_row = %rows : {big}\n"
        f"    %u = pto.alloc_tile : {small}\n    pto.tmuls ins(%u, %f : {small}, f32) outs(%t : {big})\n"
    )
    program = compiled(PTRS, body)
    program.launch([zeros(8), zeros(8), 8])
    found = fault(program, [zeros(8), zeros(8), 16])
    assert found.rule == "EW-05"
    assert "src has 8x16 elements, dst has valid region 16x16" in found.message


def test_arrays_without_an_axis_for_the_ranks() -> None:
    function = compiled(PTRS, COPY).entry
    with pytest.raises(DiagnosticError) as caught:
        divided(function, [zeros(16), zeros(16), 16], 3)
    (found,) = caught.value.diagnostics
    assert (found.rule, found.location.file) == ("RUN-RANKS", "k.pto")
    assert "%x has shape 16x16" in found.message
    assert [len(part) for part in divided(function, [zeros(3), zeros(3), 16], 3)] == [3, 3, 3]


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_slice_may_leave_its_dimension_where_it_stays_in_the_array(backend: str) -> None:
    """What lies past a row is the next one; only what lies past the array is refused."""
    text = f"""
    %v = pto.make_tensor_view %x, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %s = pto.partition_view %v, offsets = [%m, %n], sizes = [%c8, %c16] : !pto.tensor_view<?x?xf32> -> {PART}
    %w = pto.make_tensor_view %y, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %q = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c8, %c16] : !pto.tensor_view<?x?xf32> -> {PART}
""" + (alloc("t") + load("%t", "%s") + store("%t", "%q"))
    program = compiled("%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %m: index, %n: index", text)
    x = np.arange(10 * 16, dtype=np.float32)
    for row, col in ((0, 0), (0, 8), (2, 0), (1, 16), (-1, 16), (1, -16)):
        y = zeros(8)
        program.launch([x, y, row, col], backend=backend)
        assert (y.reshape(-1) == x[16 * row + col :][:128]).all()
    for row, col in ((2, 1), (0, -1), (-1, 15), (3, 0)):
        with pytest.raises(DiagnosticError) as caught:
            program.launch([x, zeros(8), row, col], backend=backend)
        (found,) = caught.value.diagnostics
        assert found.rule == "GM-OOB"
        assert "leaves dimension" in found.message
        assert "160" in found.message
