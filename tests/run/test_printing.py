"""What kernels print: formats of printf, tiles and views, block by block and never twice."""

from __future__ import annotations

import ctypes
import math
import random
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import f32
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.isa.scalar.elements import formatted
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import A5, CPU


def libc(format: str, number: Any) -> str:
    """What the C library makes of it."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        pytest.skip("no C library to ask")
    text = ctypes.create_string_buffer(1000)
    library.snprintf(text, len(text), format.encode(), number)
    return text.value.decode()


def test_formats_against_the_c_library() -> None:
    rng = random.Random(5)
    for _ in range(600):
        flags = "".join(rng.sample("-+ #0", rng.randint(0, 2)))
        width, precision = rng.choice(["", "3", "12"]), rng.choice(["", "", ".0", ".3"])
        words = ["hello, this is high: ", "ll %% hh", "l", "block "]
        if rng.random() < 0.5:
            kind, length = rng.choice("diuxXo"), rng.choice(["", "l", "ll"])
            number: Any = rng.choice([0, 1, -1, 77, -300, 2**31 - 1, -(2**31)])
            if kind in "diu":
                flags = flags.replace("#", "")
            if precision:
                flags = flags.replace("0", "").replace("#", "")
            passed = ctypes.c_longlong(number) if length else ctypes.c_int(number)
        else:
            kind, length = rng.choice("eEfFgG"), ""
            number = rng.choice([0.0, -0.0, 1.5, -2.25e10, 1e-7, math.inf, -math.inf, math.nan])
            passed = ctypes.c_double(number)
        if kind in "uxXo":
            flags = flags.replace("+", "").replace(" ", "")
        if number == 0:
            flags = flags.replace("#", "")
            precision = precision.replace(".0", ".1") if kind in "diuxXo" else precision
        format = f"{rng.choice(words)}%{flags}{width}{precision}{length}{kind}{rng.choice(words)}"
        assert formatted(format, number) == libc(format, passed), (format, number)


@pytest.mark.parametrize(
    ("format", "number", "shown"),
    [
        ("hello, this is high: %d\n", 3, "hello, this is high: 3\n"),
        ("100%% of %lld", 7, "100% of 7"),
        ("%d", math.nan, "nan"),
        ("%5d|", -math.inf, " -inf|"),
        ("%d", 2.75, "2"),
        ("%x", -1, "ffffffff"),
        ("%hhx", -1, "ff"),
        ("%x", -(2**40), "ffffff0000000000"),
        ("%f", 3, "3.000000"),
        ("%c", 65, "A"),
    ],
)
def test_formats(format: str, number: float, shown: str) -> None:
    assert formatted(format, number) == shown


def launched(body: str, blocks: int, target: Any = CPU, chunk: int | None = None, *, sanitized: bool = False) -> None:
    text = f"""func.func @k(%x: !pto.ptr<f32>, %n: index) {{
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c8 = arith.constant 8 : index
        {body}
        return
    }}"""
    parsed = parse_module(text, "dir/k.pto")
    assert [str(d) for d in parsed.diagnostics] == []
    args = [np.arange(64, dtype=np.float32), 3]
    if sanitized:
        assert not sanitize(parsed.module, target, args, blocks, seed=1).diagnostics.errors
    else:
        compile_program(parsed.module, target).launch(args, blocks, chunk=chunk)


PRINT_BLOCK = 'pto.print ins("block %d", %id : i64)\n'
SAME = 'pto.print ins(" of %d\\n", %n : index)\n'


@pytest.mark.parametrize("chunk", [1, 2, None])
def test_blocks_print_in_their_order(chunk: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    """All texts of a block are together, also those that are the same in every block."""
    launched(PRINT_BLOCK + SAME, 5, chunk=chunk)
    assert capsys.readouterr().out == "".join(f"block {b} of 3\n" for b in range(5))


def test_lines_without_an_end_are_not_continued_by_another_block(capsys: pytest.CaptureFixture[str]) -> None:
    launched(PRINT_BLOCK, 3)
    assert capsys.readouterr().out == "block 0\nblock 1\nblock 2\n"


def test_a_chunk_that_is_split_prints_once(capsys: pytest.CaptureFixture[str]) -> None:
    odd = "%r = arith.remsi %b, %c2 : index\n%o = arith.cmpi eq, %r, %c1 : index\n"
    launched(PRINT_BLOCK + odd + 'scf.if %o {\npto.print ins(" is odd %d", %n : index)\n}\n', 4)
    assert capsys.readouterr().out == "block 0\nblock 1 is odd 3\nblock 2\nblock 3 is odd 3\n"


def test_what_was_printed_before_a_fault_appears(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DiagnosticError):
        launched(PRINT_BLOCK + "pto.trap\n", 2)
    assert capsys.readouterr().out.startswith("block 0\n")


def test_what_was_printed_before_a_deadlock_appears(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DiagnosticError) as caught:
        launched(PRINT_BLOCK + "pto.sync.wait #pto.pipe<PIPE_V>, 3\n", 2, A5)
    assert caught.value.diagnostics[0].rule == "DEADLOCK"
    assert capsys.readouterr().out == "block 0\nblock 1\n"


def test_other_orders_of_the_sanitizer_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    launched(PRINT_BLOCK, 3, sanitized=True)
    assert capsys.readouterr().out == "block 0\nblock 1\nblock 2\n"


VIEW = """%v = pto.make_tensor_view %x, shape = [%c8, %c8], strides = [%c8, %c1] : !pto.tensor_view<8x8xf32>
  %p = pto.partition_view %v, offsets = [%b, %c0], sizes = [%c1, %c2] :
    !pto.tensor_view<8x8xf32> -> !pto.partition_tensor_view<1x2xf32>
"""
TILE = (
    VIEW.replace("%c2] :", "%c8] :").replace("<1x2xf32>", "<1x8xf32>")
    + """
  %t = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32>
  pto.tload ins(%p : !pto.partition_tensor_view<1x8xf32>) outs(%t : !pto.tile_buf<vec, 1x8xf32>)
  pto.tprint ins(%t : !pto.tile_buf<vec, 1x8xf32>)
"""
)


def test_tiles_carry_name_block_and_line(capsys: pytest.CaptureFixture[str]) -> None:
    launched(TILE, 2)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("%t")] == ["%t, block 0, k.pto:14:", "%t, block 1, k.pto:14:"]
    assert lines[1] == "TPRINT 1x8"
    assert [float(v) for v in lines[5].split()] == list(range(8, 16))
    assert len(lines) == 6


def test_views(capsys: pytest.CaptureFixture[str]) -> None:
    launched(VIEW + "pto.tprint ins(%p : !pto.partition_tensor_view<1x2xf32>)\n", 2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[3:] == ["%x, block 1, k.pto:11:", "TPRINT 1x2", "  8.0000   9.0000"]


@pytest.mark.parametrize("target", [CPU, A5])
def test_an_empty_view(target: Any, capsys: pytest.CaptureFixture[str]) -> None:
    empty = """%v = pto.make_tensor_view %x, shape = [%c8, %c8], strides = [%c8, %c1] : !pto.tensor_view<8x8xf32>
      %none = arith.subi %n, %n : index
      %p = pto.partition_view %v, offsets = [%b, %c0], sizes = [%none, %c8] :
        !pto.tensor_view<8x8xf32> -> !pto.partition_tensor_view<?x8xf32>
      pto.tprint ins(%p : !pto.partition_tensor_view<?x8xf32>)
    """
    launched(empty, 1, target)
    assert capsys.readouterr().out.splitlines()[-1] == "(empty)"


def test_nan_and_infinity(capsys: pytest.CaptureFixture[str]) -> None:
    @pto.kernel(target="a5")
    def show(x: pto.Ptr[f32]):
        t = pto.Tile(pto.TileType.Vec, f32, 1, 8)
        pto.TLOAD(t, pto.GlobalTensor(x, (1, 8)))
        pto.TPRINT(t)
        pto.PRINT(x[0], format="%d\n")

    show(np.array([np.nan, np.inf, -np.inf, 0, 1, 2, 3, 4], np.float32))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("t, block 0, test_printing.py:")
    assert lines[3].split()[:3] == ["nan", "inf", "-inf"]
    assert lines[4] == "nan"


def test_a_session_prints_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    core = pto.Core("a5")
    tile = core.Tile(pto.TileType.Vec, f32, 1, 8)
    core.TPRINT(tile)
    assert len(capsys.readouterr().out.splitlines()) == 4
