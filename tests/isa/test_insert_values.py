"""TINSERT by hand: windows on every path, and that the rest is kept."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.isa.move.footprint import insert_footprint
from ptokit.isa.table import Access

from .move_cases import run, site
from .test_move_values import F16, F32, I32, nz

OLD = np.arange(0x4000, 0x4000 + 64 * 64, dtype=np.uint16).reshape(64, 64)
NEW = np.arange(16 * 32, dtype=np.uint16).reshape(16, 32)


def expected(row: int, col: int, part: np.ndarray) -> np.ndarray:
    out = OLD.copy()
    out[row : row + part.shape[0], col : col + part.shape[1]] = part
    return out


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("at", [(0, 0), (3, 16)])
def test_rows(on, at):
    text = f"vec f16 64x64 ND <- vec f16 16x32[9x32] ND; row={at[0]}; col={at[1]}"
    got = run("TINSERT", on, text, src=NEW, dst=OLD)["dst"].view(np.uint16)
    assert (got == expected(*at, NEW[:9]).reshape(-1)).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("at", [(0, 0), (32, 16)])
def test_boxes(on, at):
    text = f"vec f16 64x64 Nz <- vec f16 16x32 Nz; row={at[0]}; col={at[1]}"
    got = run("TINSERT", on, text, src=nz(NEW, 16), dst=nz(OLD, 16))["dst"].view(np.uint16)
    assert (got == nz(expected(*at, NEW), 16).reshape(-1)).all()


@pytest.mark.parametrize("split", ["", "; split=SPLIT2", "; split=SPLIT4"])
def test_vec_to_mat(split):
    text = f"mat f16 64x64 Nz <- vec f16 16x32 Nz; row=16; col=32{split}"
    got = run("TINSERT", "a5", text, src=nz(NEW, 16), dst=nz(OLD, 16))["dst"].view(np.uint16)
    assert (got == nz(expected(16, 32, NEW), 16).reshape(-1)).all()


def test_short_rows_go_as_a_line():
    text = "mat f16 64x64 ND <- vec f16 16x32[3x8] ND; row=2; col=4"
    got = run("TINSERT", "a5", text, src=NEW, dst=OLD)["dst"].view(np.uint16)
    line = OLD.reshape(-1).copy()
    line[2 * 64 + 4 : 2 * 64 + 28] = np.arange(24)
    assert (got == line).all()
    got = run("TINSERT", "cpu", text, src=NEW, dst=OLD)["dst"].view(np.uint16)
    assert (got == expected(2, 4, NEW[:3, :8]).reshape(-1)).all()


@pytest.mark.parametrize("valid", ["", "[9x32]", "[3x8]"])
def test_rows_go_into_boxes_as_they_lie_in_memory(valid):
    text = f"mat f16 64x64 Nz <- vec f16 16x32{valid} ND; row=3; col=16"
    got = run("TINSERT", "a5", text, src=NEW, dst=OLD)["dst"].view(np.uint16)
    rows, cols = {"": (16, 32), "[9x32]": (9, 32), "[3x8]": (3, 8)}[valid]
    wanted = OLD.reshape(-1).copy()
    for r in range(rows):
        first = 3 * 64 + 16 + r * (64 if cols == 32 else cols)
        wanted[first : first + cols] = NEW[r, :cols] if cols == 32 else NEW.reshape(-1)[r * cols : (r + 1) * cols]
    assert (got == wanted).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_accumulator(on):
    values = NEW.astype(F32) / 2
    text = "mat f16 64x64 Nz <- acc f32 16x32[16x30] Nz; row=32; col=16; relu"
    cols = 30 if on == "cpu" else 32  # devices move whole boxes
    got = run("TINSERT", on, text, src=nz(-values, 16), dst=nz(OLD, 16))["dst"].view(np.uint16)
    assert (got == nz(expected(32, 16, np.zeros((16, cols), np.uint16)), 16).reshape(-1)).all()
    got = run("TINSERT", on, text, src=nz(values, 16), dst=nz(OLD, 16))["dst"].view(np.uint16)
    part = values.astype(F16).view(np.uint16)[:, :cols]
    assert (got == nz(expected(32, 16, part), 16).reshape(-1)).all()


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
def test_words_by_column(on):
    words = (np.arange(32) + 1).astype(F32).view(np.uint32).astype(np.uint64)
    text = "mat f16 64x64 Nz <- acc i32 16x32 Nz; row=16; col=32; fp=scaling u64 1x32 ND"
    got = run("TINSERT_FP", on, text, src=np.ones(16 * 32, I32), dst=nz(OLD, 16), fp=words)["dst"].view(np.uint16)
    part = np.tile(np.arange(1, 33).astype(F16).view(np.uint16), (16, 1))
    assert (got == nz(expected(16, 32, part), 16).reshape(-1)).all()


def test_wide_blocks_on_a5():
    values = NEW.astype(F32)
    text = "mat f16 64x64 Nz1024 <- acc f32 16x32 Nz; row=16; col=32"
    got = run("TINSERT", "a5", text, src=nz(values, 16), dst=nz(OLD, 32))["dst"].view(np.uint16)
    assert (got == nz(expected(16, 32, values.astype(F16).view(np.uint16)), 32).reshape(-1)).all()


def test_dual_mode_inserts_the_first_part():
    values = np.arange(32 * 64, dtype=F32).reshape(32, 64)
    text = "vec f32 32x128 ND <- acc f32 32x64 Nz; row=0; col=64; mode=DualModeSplitN"
    got = run("TINSERT", "a5", text, src=nz(values, 16))["dst"].view(F32).reshape(32, 128)
    assert (got[:, 64:96] == values[:, :32]).all()
    assert np.count_nonzero(got[:, :64]) == 0
    assert np.count_nonzero(got[:, 96:]) == 0


@pytest.mark.parametrize(
    ("on", "text", "accesses"),
    [
        (
            "a2a3",
            "mat f16 64x64 Nz <- acc f32 32x32[20x20] Nz; row=16; col=32",
            [Access("src", False, 20, 20), Access("dst", True, 32, 32, 16, 32)],
        ),
        (
            "cpu",
            "mat f16 64x64 Nz <- acc f32 32x32[20x20] Nz; row=16; col=32",
            [Access("src", False, 20, 20), Access("dst", True, 20, 20, 16, 32)],
        ),
        (
            "a5",
            "mat f16 64x64 Nz <- vec f16 32x32[20x20] Nz; row=16; col=32; split=SPLIT2",
            [Access("src", False, 32, 32), Access("dst", True, 32, 32, 16, 32)],
        ),
        (
            "a5",
            "mat f16 64x64 ND <- vec f16 16x32[3x8] ND; row=2; col=60",
            [Access("src", False, 16, 32), Access("dst", True, 2, 64, 2, 0)],
        ),
    ],
)
def test_footprint(on, text, accesses):
    assert list(insert_footprint(site("TINSERT", on, text))) == accesses


def test_split_modes_move_whole_boxes_and_scales_go_as_they_lie():
    text = "mat f16 64x64 Nz <- vec f16 16x32[9x32] Nz; row=16; col=32; split=SPLIT2"
    got = run("TINSERT", "a5", text, src=nz(NEW, 16), dst=nz(OLD, 16))["dst"].view(np.uint16)
    assert (got == nz(expected(16, 32, NEW), 16).reshape(-1)).all()
    scales = np.arange(16 * 32, dtype=np.uint8)
    text = "mat e8m0 16x32 Zz32 <- vec e8m0 16x32 Zz32; row=0; col=0"
    assert (run("TINSERT", "a5", text, src=scales, dst=scales[::-1])["dst"] == scales).all()
