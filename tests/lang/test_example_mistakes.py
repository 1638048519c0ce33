"""Mistakes planted in the example kernels: what `check` finds, and the hint that leads on."""

from __future__ import annotations

from pathlib import Path

import pytest

import ptokit

from .support import words_of_text

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"

# file | written | instead | rule | part of the message | part of the hint, - if there is none
MISTAKES = """
vec_add | f32, 1, WIDTH, valid_col | f16, 1, WIDTH, valid_col | LS-COM-04 | a has 2-byte elements | give a elements of
vec_add | TADD(a, a, b) | TADD(a, a, 2.0) | LANG-KIND | src1 of TADD(dst, src0, src1) is a tile, not 2.0 | pto.TADDS
vec_add | TLOAD(a, gx[:, at : at + length]) | TLOAD(gx[:, at : at + length], a) | LANG-KIND | dst of TLOAD | come first
softmax | 1, pto.BLayout.ColMajor, | 1, | TILE-05 | peak: 1 cols of f32 are 4 bytes | is pto.BLayout.ColMajor
softmax | TROWEXPANDSUB(t, t, peak) | TSUB(t, t, peak) | EW-02 | src1 has blayout=ColMajor | take one number a row
softmax | TROWMAX(peak, t, tmp) | TROWMAX(t, peak, tmp) | RRED-COM-01 | src is DN 16x1 | -
rms_norm | reshape(1, ROWS) | reshape(1, ROWS + 1) | TILE-05 | line: 9 cols of f32 are 36 bytes | a multiple of 8
rms_norm | TMULS(line, line, 1.0 / width) | TMULS(line, 1.0, line) | LANG-KIND | src of TMULS(dst, src, scalar) is | -
rms_norm | TCVT(v, t) | TMOV(v, t) | TMOV-COM-10 | src has element type f16, dst has f32 | write TCVT, which converts
rms_norm | TCOLEXPANDMUL(v, v, scale) | TROWEXPANDMUL(v, v, scale) | REXP-COM-11 | must be RowMajor | is ColMajor and
embedding | pto.i32, 1, ROWS) | pto.f32, 1, ROWS) | GATHER-COM-01 | idx holds f32; indices are i32 or u32 | -
embedding | rows_of_table, indices, mode | indices, rows_of_table, mode | LANG-KIND | src of MGATHER | pto.GlobalTensor
embedding | Coalesce.Row | Coalesce.Rows | LANG-NAME | Coalesce has no Rows | did you mean Row?
gemm | TMATMUL( | TMATMULL( | LANG-NAME | no instruction or name TMATMULL | did you mean TMATMUL?
gemm_int8 | TileAcc(pto.i32 | TileAcc(pto.f32 | MAT-COM-02 | acc holds f32; f32 = i8 x i8 is | give acc elements of i32
gemm_double_buffered | wait_flag( | wait_flag(0, | LANG-ATTR | src_pipe of wait_flag cannot be 0 | it is: S, V
flash_attention | TROWMAX(new_rows, | TROWMAX(new, | RRED-COM-03 | dst has 1 valid rows, src has 32 | 32x1, ColMajor
split_k | c2v_consumer_buf | v2c_consumer_buf | LANG-PIPE | the pipe lacks c2v_consumer_buf | the byte address
saxpy_registers | at), a, mask) | at), mask, a) | LANG-CALL | vmuls(src, scalar, [mask]) takes no further | -
vector_softmax | vdup(pto.vcmax( | vdup(pto.vmax( | LANG-CALL | vmax(src0, src1, [mask]) lacks src1 | -
ring_all_gather | pto.PIPE_MTE3, 0) | pto.PIPE_MTE3, 8) | FLAG-RANGE | event id 8 is outside 0..7 | -
ring_all_gather | TASSIGN(tile, 0) | TASSIGN(tile, 0.5) | LANG-TILE | the address of a tile is an integer, not 0.5 | -
"""
CASES = [[part.strip() for part in line.split(" | ")] for line in MISTAKES.strip().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[2]}" for case in CASES])
def test_a_planted_mistake_is_found_at_its_line(case: list[str], tmp_path: Path) -> None:
    name, written, instead, rule, message, hint = case
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert written in text
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(written, instead, 1), encoding="utf-8")
    found = ptokit.check(str(file)).diagnostics
    assert words_of_text(found) == []
    finding = next(d for d in found if d.rule == rule and message in d.message)
    assert finding.hint is None if hint == "-" else hint in (finding.hint or "")
    assert finding.location.file == str(file)


def test_every_example_has_mistakes() -> None:
    assert {case[0] for case in CASES} == {file.stem for file in EXAMPLES.glob("*.py")}
