"""TEXTRACT by hand: windows on every path."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.isa.move.footprint import extract_footprint
from ptokit.isa.table import Access

from .move_cases import run, site
from .test_move_values import F16, F32, I32, nz

MATRIX = np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_window_of_rows(on):
    got = run("TEXTRACT", on, "vec f16 6x32 ND <- vec f16 64x64 ND; row=5; col=16", src=MATRIX)["dst"].view(np.uint16)
    assert (got.reshape(6, 32) == MATRIX[5:11, 16:48]).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_window_of_boxes(on):
    text = "vec f16 16x32 Nz <- vec f16 64x64 Nz; row=16; col=32"
    got = run("TEXTRACT", on, text, src=nz(MATRIX, 16))["dst"].view(np.uint16)
    assert (got == nz(MATRIX[16:32, 32:64], 16).reshape(-1)).all()


@pytest.mark.parametrize("on", ["a2a3", "a5"])
def test_operand_window_reads_all_of_dst(on):
    layout = "Zz" if on == "a2a3" else "Nz"
    text = f"left f16 16x32[9x32] {layout} <- mat f16 64x64[30x64] Nz; row=48; col=32"
    got = run("TEXTRACT", on, text, src=nz(MATRIX, 16))["dst"].view(np.uint16)
    boxes = nz(MATRIX[48:64, 32:64], 16)  # one row of boxes: Zz and Nz agree
    assert (got.reshape(boxes.shape)[:, :9] == boxes[:, :9]).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_accumulator_window(on):
    matrix = MATRIX.astype(F32) / 4
    text = "mat f16 16x32 Nz <- acc f32 64x64 Nz; row=16; col=32"
    got = run("TEXTRACT", on, text, src=nz(matrix, 16))["dst"].view(F16)
    assert (got == nz(matrix[16:32, 32:64].astype(F16), 16).reshape(-1)).all()


def test_words_follow_the_column_of_the_source():
    words = (np.arange(64) + 1).astype(F32).view(np.uint32).astype(np.uint64)
    text = "mat f16 16x32 Nz <- acc i32 16x64 Nz; row=0; col=32; fp=scaling u64 1x64 ND"
    for on in ("cpu", "a2a3", "a5"):
        got = run("TEXTRACT_FP", on, text, src=np.ones(16 * 64, I32), fp=words)["dst"].view(F16)
        assert (got.reshape(2, 16, 16)[:, 0].reshape(-1) == np.arange(33, 65)).all(), on


def test_dual_mode_splits_the_source():
    matrix = MATRIX.astype(F32)
    text = "vec f32 64x64 ND <- acc f32 64x64 Nz; row=0; col=0; mode=DualModeSplitM"
    got = run("TEXTRACT", "a5", text, src=nz(matrix, 16))["dst"].view(F32).reshape(64, 64)
    assert (got[:32] == matrix[:32]).all()
    assert (got[32:] == 0).all()


def test_vec_to_mat_runs_along_memory():
    src = np.arange(64 * 32, dtype=np.uint16)
    text = "mat f16 4x32[2x24] ND <- vec f16 64x32 ND; row=1; col=8"
    got = run("TEXTRACT", "a5", text, src=src)["dst"].view(np.uint16)
    assert (got[:48] == np.arange(40, 88)).all()
    assert (got[48:] == 0).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_two_windows(on):
    text = "vec f16 16x32 Nz + vec f16 16x16 Nz <- vec f16 64x64 ND; row0=1; col0=16; row1=40; col1=48"
    got = run("TEXTRACT2", on, text, src=MATRIX, extended=on == "cpu")
    assert (got["dst0"].view(np.uint16) == nz(MATRIX[1:17, 16:48], 16).reshape(-1)).all()
    assert (got["dst1"].view(np.uint16) == nz(MATRIX[40:56, 48:64], 16).reshape(-1)).all()


def test_two_windows_with_a_spare_row():
    text = "vec f16 32x32[16x32] Nz+1 + vec f16 16x16 Nz <- vec f16 64x64 ND; row0=0; col0=0; row1=0; col1=0"
    got = run("TEXTRACT2", "a5", text, src=MATRIX)["dst0"].view(np.uint16)
    assert got[17 * 16 + 2 * 16] == MATRIX[2, 16]
    assert (got[16 * 16 : 17 * 16] == 0).all()


def test_convolution_window():
    weights = np.arange(4 * 48 * 16, dtype=np.uint16)
    matrix = weights.reshape(4, 48, 16).transpose(0, 2, 1).reshape(64, 48)
    text = "right f16 16x16 Zn <- conv FRACTAL_Z f16 1x2x2x48x16; row=40; col=20"
    for on in ("cpu", "a2a3", "a5"):
        got = run("TEXTRACT", on, text, src=weights)["dst"].view(np.uint16)
        assert (got == matrix[40:56, 20:36].T.reshape(-1)).all()


@pytest.mark.parametrize(
    ("on", "text", "reads", "writes"),
    [
        (
            "a5",
            "left f16 16x32[9x30] Nz <- mat f16 64x64 Nz; row=48; col=32",
            Access("src", False, 16, 32, 48, 32),
            Access("dst", True, 16, 32),
        ),
        (
            "cpu",
            "left f16 16x32[9x30] Nz <- mat f16 64x64 Nz; row=48; col=32",
            Access("src", False, 9, 30, 48, 32),
            Access("dst", True, 9, 30),
        ),
        (
            "a2a3",
            "left f16 32x32[9x30] Zzc <- mat f16 64x64 Nz; row=0; col=32",
            Access("src", False, 16, 32, 0, 32),
            Access("dst", True, 16, 32),
        ),
        (
            "a5",
            "mat i8 32x64[20x40] Nz <- acc i32 64x96 Nz; row=32; col=32; quant=0",
            Access("src", False, 20, 40, 32, 32),
            Access("dst", True, 20, 64),
        ),
    ],
)
def test_footprint(on, text, reads, writes):
    assert list(extract_footprint(site("TEXTRACT", on, text))) == [reads, writes]
