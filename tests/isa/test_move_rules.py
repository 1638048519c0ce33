"""Every rule of TMOV and TMOV_FP: a site that passes, one that breaks it, and what the message names."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.machine.lanes import Fault
from ptokit.targets import target
from ptokit.types.enums import ReluPreMode
from tests.each import each

from .move_cases import messages, run, site

ALL = ("cpu", "a2a3", "a5")
ACC_MAT = "mat f16 32x32 Nz <- acc f32 32x32 Nz"
Q8 = "mat i8 32x32 Nz <- acc i32 32x32 Nz"
FP = "fp=scaling u64 1x32 ND"

# rule, instruction, targets, notation that passes, notation that breaks it, words of the message
CASES = [
    ("TMOV-COM-02", "TMOV", ALL, ACC_MAT + "; relu", "vec f32 8x8 ND <- vec f32 8x8 ND; relu", "relu needs an acc"),
    ("TMOV-COM-02", "TMOV", ALL, Q8 + f"; quant={1 << 46}", "vec i8 8x32 ND <- vec i8 8x32 ND; quant=0", "word needs"),
    (
        "TMOV-COM-02",
        "TMOV",
        ("cpu", "a5"),
        "vec f32 8x8 ND <- acc f32 16x16 Nz; mode=SingleModeVec1",
        "vec f32 8x8 ND <- vec f32 8x8 ND; mode=SingleModeVec1",
        "mode SingleModeVec1",
    ),
    ("TMOV-COM-02", "TMOV_FP", ALL, f"{Q8}; {FP}", f"left i8 32x32 Nz <- mat i8 32x32 Nz; {FP}", "words needs an acc"),
    ("TMOV-COM-03", "TMOV_FP", ALL, f"{Q8}; {FP}", Q8 + "; fp=vec u64 1x32 ND", "fp is a vec tile"),
    ("TMOV-COM-03", "TMOV_FP", ALL, f"{Q8}; fp=scaling i64 1x32 ND", Q8 + "; fp=scaling f32 1x32 ND", "type f32"),
    ("TMOV-COM-03", "TMOV", ALL, f"{Q8}; {FP}", Q8 + "; fp=mat u64 1x32 ND", "fp is a mat tile"),
    (
        "TMOV-COM-10",
        "TMOV",
        ALL,
        "bias f32 1x64 ND <- mat f16 1x64 ND",
        "vec f32 8x8 ND <- vec u32 8x8 ND",
        "src has element type u32, dst has f32",
    ),
    ("TMOV-COM-10", "TMOV", ALL, ACC_MAT, "bias f32 1x64 ND <- mat u32 1x64 ND", "type u32"),
    (
        "TMOV-COM-11",
        "TMOV_FP",
        ALL,
        f"{Q8}; fp=scaling u64 1x32 ND",
        f"{Q8}; fp=scaling u64 1x32[1x30] ND",
        "fp has 30 valid columns, 32 are needed",
    ),
    (  # an Nz destination receives whole blocks of 32 columns on the devices
        "TMOV-COM-11",
        "TMOV_FP",
        ("a2a3", "a5"),
        "mat i8 32x32[32x14] Nz <- acc i32 32x32[32x14] Nz; fp=scaling u64 1x32[1x14] ND",
        "mat i8 32x32[32x14] Nz <- acc i32 32x32[32x14] Nz; fp=scaling u64 1x16[1x14] ND",
        "fp has 16 columns, 32 are needed for 14 columns of i8",
    ),
    ("TMOV-COM-12", "TMOV", ALL, f"{Q8}; quant={1 << 46}", f"{Q8}; quant=0x3f800000", "0x3f800000 has bit 46 clear"),
    (
        "TMOV-COM-12",
        "TMOV",
        ALL,
        "mat u8 32x32 Nz <- acc i32 32x32 Nz; quant=0x3f800000",
        "mat u8 32x32 Nz <- acc i32 32x32 Nz; quant=0x40003f800000",
        "u8 needs it clear",
    ),
    (
        "TMOV-COM-13",
        "TMOV",
        ("a5",),
        "mat f16 32x32 Nz1024 <- acc f32 32x32 Nz",
        "mat f16 32x48 Nz1024 <- acc f32 32x48 Nz",
        "f16 with fractal=1024 comes in blocks of 32 columns, dst has 48",
    ),
    (
        "TMOV-COM-13",
        "TMOV",
        ALL,
        f"mat i8 32x32 Nz <- acc i32 32x32 Nz; quant={1 << 46}",
        f"mat i8 16x32 Nz <- acc i32 32x32 Nz; quant={1 << 46}",
        "32x32 elements are moved into a tile of 16x32",
    ),
    (
        "TMOV-COM-13",
        "TMOV",
        ("a5",),
        "vec f32 32x32 ND <- acc f32 64x32[32x32] Nz",
        "vec f32 16x32 ND <- acc f32 32x32 Nz",
        "32x32 elements are moved into a tile of 16x32",
    ),
    (
        "TMOV-COM-13",
        "TMOV",
        ("a5",),
        "vec f16 16x16 Nz <- vec f16 16x16 ND",
        "vec f16 16x16 Nz <- vec f16 32x16 ND",
        "32x16 elements",
    ),
    (
        "TMOV-COM-14",
        "TMOV",
        ("a2a3", "a5"),
        "vec f32 16x16 DN <- vec f32 16x16 DN",
        "vec f32 16x16[8x16] DN <- vec f32 16x16[8x16] DN",
        "DN tile of 16x16 is valid in 8x16",
    ),
    (
        "TMOV-COM-15",
        "TMOV",
        ("a2a3", "a5"),
        "right i8 64x32 Zn <- mat i8 64x32 Nz",
        "right i8 32x48 Zn <- mat i8 32x48 Nz",
        "32x48 of i8 is turned in squares of 32x32",
    ),
    (
        "TMOV-COM-18",
        "TMOV",
        ("a5",),
        "left f16 32x32 Nz <- mat f16 32x32 Nz",
        "left f16 32x32 Nz <- mat f16 32x32 ND",
        "src is ND, and its bytes are taken as Zn",
    ),
    (
        "TMOV-COM-18",
        "TMOV",
        ("a2a3",),
        "left f16 1x256 Zz <- mat f16 1x256 ND",
        "left f16 16x256 Zz <- mat f16 16x256 DN",
        "src is DN, and its bytes are taken as Zn",
    ),
    (
        "TMOV-COM-18",
        "TMOV",
        ("a2a3", "a5"),
        "right f16 32x32 Zn <- mat f16 32x32 Nz",
        "right f16 32x32 Zn <- mat f16 32x32 ND",
        "src is ND, and its bytes are taken as Nz",
    ),
    (
        "TMOV-COM-19",
        "TMOV",
        ("a2a3", "a5"),
        "right f32 32x48 Zn <- mat f32 32x48 ND",
        "right f32 24x48 Zn <- mat f32 24x48 ND",
        "24x48 of f32, which moves in squares of 16x16",
    ),
    (
        "TMOV-COM-19",
        "TMOV",
        ("a2a3",),
        "left i8 32x64 Zz <- mat i8 32x64 ND",
        "left i8 16x64 Zz <- mat i8 16x64 ND",
        "16x64 of i8, which moves in squares of 32x32",
    ),
    (
        "TMOV-COM-16",
        "TMOV",
        ALL,
        "right f16 64x48 Zn <- conv FRACTAL_Z f16 4x3x16x16",
        "right f16 64x64 Zn <- conv FRACTAL_Z f16 4x3x16x16",
        "columns [0, 64) leave the 48 columns",
    ),
    (
        "TMOV-COM-16",
        "TMOV",
        ALL,
        "right f16 64x48 Zn <- conv FRACTAL_Z f16 1x2x2x48x16",
        "right f16 16x16 Zn <- conv NC1HWC0 f16 1x1x4x4x16",
        "layout NC1HWC0",
    ),
    (
        "TMOV-COM-16",
        "TMOV",
        ALL,
        "right f16 64x48 Zn <- conv FRACTAL_Z_3D f16 4x3x16x16",
        "left f16 64x48 Nz <- conv FRACTAL_Z f16 4x3x16x16",
        "not to left Nz",
    ),
    (
        "TMOV-COM-17",
        "TMOV",
        ("cpu", "a5"),
        "mat bf16 32x32 Nz <- acc f32 32x32 Nz; quant=0",
        "mat f32 32x32 Nz <- acc f32 32x32 Nz; quant=0",
        "f32 to f32 is not quantised on",
    ),
    (
        "TMOV-COM-17",
        "TMOV",
        ("cpu", "a2a3"),
        f"mat f16 32x32 Nz <- acc i32 32x32 Nz; {FP}",
        f"mat f16 32x32 Nz <- acc f32 32x32 Nz; {FP}",
        "the vector word has no effect",
    ),
    (
        "TMOV-CPU-01",
        "TMOV",
        ("cpu",),
        "vec f32 32x32[30x7] DN <- vec f32 32x32[30x7] ND",
        "vec f32 32x32[30x7] ND <- vec f32 32x32[30x8] ND",
        "src is valid in 30x8, dst in 30x7",
    ),
    (
        "TMOV-CPU-01",
        "TMOV",
        ("cpu",),
        "vec f32 32x32[16x32] ND <- acc f32 32x32 Nz; mode=DualModeSplitM",
        "vec f32 32x32[16x32] ND <- acc f32 32x32 Nz; mode=SingleModeVec0",
        "src is valid in 32x32, dst in 16x32",
    ),
    (
        "TMOV-CPU-02",
        "TMOV",
        ("cpu",),
        "vec u8 32x32 ND <- vec u8 32x32 ND",
        "vec e5m2 32x32 ND <- vec e5m2 32x32 ND",
        "element type e5m2",
    ),
    ("TMOV-A23-01", "TMOV", ("a2a3",), ACC_MAT, "vec f32 32x8 ND <- vec f32 16x8 ND", "src is 16x8, dst is 32x8"),
    (  # the quantised forms do not compare shapes
        "TMOV-A23-01",
        "TMOV",
        ("a2a3",),
        f"mat i8 64x32 Nz <- acc i32 32x32 Nz; quant={1 << 46}",
        "mat f16 64x32 Nz <- acc f32 32x32 Nz",
        "src is 32x32, dst is 64x32",
    ),
    (
        "TMOV-A23-02",
        "TMOV",
        ("a2a3",),
        "left f16 16x16 Zz <- mat f16 16x16 Nz",
        "mat f16 16x16 ND <- vec f16 16x16 ND",
        "vec to mat is not a move of a2a3",
    ),
    (
        "TMOV-A23-02",
        "TMOV",
        ("a2a3",),
        "vec f16 16x16 Nz <- vec f16 16x16 Nz",
        "vec f16 16x16 Nz <- vec f16 16x16 ND",
        "does not re-arrange ND to Nz",
    ),
    (
        "TMOV-A23-02",
        "TMOV",
        ("a2a3",),
        "vec u8 16x32 ND <- vec u8 16x32 ND",
        "vec u8 16x32 Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "scratch tile exists on a5 only",
    ),
    (
        "TMOV-A23-03",
        "TMOV",
        ("a2a3",),
        "vec f16 16x16[1x?] ND <- vec f16 16x16[1x?] ND",
        "vec f16 16x16 ND <- vec f32 16x16 ND",
        "elements of src have 32 bits, those of dst 16",
    ),
    (
        "TMOV-A23-03",
        "TMOV",
        ("a2a3",),
        "vec f16 16x16[1x1] ND <- vec f16 16x16 ND",
        "vec f16 16x16[0x16] ND <- vec f16 16x16 ND",
        "valid region is 0x16",
    ),
    (
        "TMOV-A23-B1",
        "TMOV",
        ("a2a3",),
        "bias f32 1x64 ND <- mat f16 1x64 ND",
        "bias f32 1x64 ND <- mat bf16 1x64 ND",
        "bf16 to f32 has no bias move",
    ),
    (
        "TMOV-A23-B2",
        "TMOV",
        ("a2a3",),
        "bias f32 1x16 ND <- mat f32 1x16 ND",
        "bias f32 1x40 ND <- mat f32 1x40 ND",
        "40 columns of f32 are 160 bytes, not a multiple of 64",
    ),
    (
        "TMOV-A23-B2",
        "TMOV",
        ("a2a3",),
        "bias f32 1x32 ND <- mat f16 1x32 ND",
        "bias f32 2x16 ND <- mat f32 2x16 ND",
        "src has 2 rows",
    ),
    (
        "TMOV-A23-S1",
        "TMOV",
        ("a2a3",),
        "scaling i64 1x16 ND <- mat i64 1x16 ND",
        "scaling u64 1x20 ND <- mat u64 1x20 ND",
        "160 bytes, not a multiple of 128",
    ),
    (
        "TMOV-A23-S1",
        "TMOV",
        ("a2a3",),
        "scaling u64 1x32 ND <- mat u64 1x32 ND",
        "scaling u32 1x32 ND <- mat u32 1x32 ND",
        "u32 to u32",
    ),
    ("TMOV-A23-A1", "TMOV", ("a2a3",), ACC_MAT, "mat f16 32x32 ND <- acc f32 32x32 Nz", "dst has layout ND"),
    ("TMOV-A23-A1", "TMOV", ("a2a3",), ACC_MAT, "mat f16 32x32 Nz1024 <- acc f32 32x32 Nz", "fractal=1024"),
    ("TMOV-A23-A1", "TMOV", ("a2a3",), ACC_MAT, "mat f16 32x32 Nz <- acc f32 32x32 Zz", "src has layout Zz"),
    ("TMOV-A23-A1", "TMOV", ("a2a3",), ACC_MAT, "mat f16 32x32 Nz <- acc f16 32x32 Nz", "type f16"),
    (
        "TMOV-A23-A1",
        "TMOV",
        ("a2a3",),
        f"mat i8 32x32 Nz <- acc i32 32x16 Nz; quant={1 << 46}",
        f"mat i8 32x16 Nz <- acc i32 32x16 Nz; quant={1 << 46}",
        "16 bytes, not a multiple of 32",
    ),
    ("TMOV-A23-A2", "TMOV", ("a2a3",), ACC_MAT, "mat f32 32x32 Nz <- acc f32 32x32 Nz", "f32 goes to bf16 or f16"),
    (
        "TMOV-A23-A2",
        "TMOV",
        ("a2a3",),
        "mat i16 32x32 Nz <- acc i32 32x32 Nz; quant=0",
        "mat f16 32x32 Nz <- acc f32 32x32 Nz; quant=0",
        "f32 to f16 cannot be quantised on a2a3",
    ),
    (
        "TMOV-A23-A2",
        "TMOV_FP",
        ("a2a3",),
        f"{Q8}; {FP}",
        f"mat u8 32x32 Nz <- acc f32 32x32 Nz; {FP}",
        "f32 goes to i8",
    ),
    ("TMOV-A23-A3", "TMOV", ("a2a3",), ACC_MAT, "vec f16 32x32 ND <- acc f32 32x32 Nz", "does not move acc to vec"),
    ("TMOV-A23-A3", "TMOV", ("a2a3",), ACC_MAT, ACC_MAT + "; mode=SingleModeVec0", "SingleModeVec0 is given"),
    ("TMOV-A23-A3", "TMOV", ("a2a3",), ACC_MAT + "; phase=Unspecified", ACC_MAT + "; phase=Final", "Final is given"),
    (
        "TMOV-A5-00",
        "TMOV",
        ("a5",),
        "vec f16 16x16 Nz <- vec f16 16x16 ND",
        "acc f32 32x32 Nz <- mat f32 32x32 Nz",
        "mat to acc is not a move of a5",
    ),
    (
        "TMOV-A5-00",
        "TMOV",
        ("a5",),
        "vec f16 16x16 DN <- vec f16 16x16 DN",
        "vec f16 16x16 DN <- vec f16 16x16 ND",
        "does not re-arrange ND to DN",
    ),
    (
        "TMOV-A5-00",
        "TMOV",
        ("a5",),
        "mat f16 16x16 Nz <- vec f16 16x16 Nz",
        "mat f16 16x16 Zn <- vec f16 16x16 Zn",
        "src has layout Zn; of vec to mat only ND and Nz",
    ),
    (
        "TMOV-A5-01",
        "TMOV",
        ("a5",),
        "left i8 64x64 Nz <- mat i8 64x64[32x64] Nz",
        "left i8 32x64 Nz <- mat i8 64x64 Nz",
        "src is 64x64, dst is 32x64",
    ),
    (
        "TMOV-A5-02",
        "TMOV",
        ("a5",),
        "left e2m1 64x64 Nz <- mat e2m1 64x64 Nz",
        "left u8 64x64 Nz <- mat u8 64x64 Nz",
        "element type u8 does not go mat to left",
    ),
    (
        "TMOV-A5-02",
        "TMOV",
        ("a5",),
        "mat f16 16x16 ND <- vec f16 16x16 ND",
        "mat e8m0 32x32 ND <- vec e8m0 32x32 ND",
        "element type e8m0 does not go vec to mat",
    ),
    (
        "TMOV-A5-03",
        "TMOV",
        ("a5",),
        "right i8 64x96 Zn <- mat i8 64x96 Zz",
        "right i8 64x96 Zn <- mat i8 64x96 DN",
        "src has layout DN",
    ),
    (
        "TMOV-A5-04",
        "TMOV",
        ("a5",),
        "left f16 32x32 Nz <- mat f16 32x32 Zn",
        "left f16 32x32 Zz <- mat f16 32x32 Nz",
        "a left tile of a5 is Nz",
    ),
    (
        "TMOV-A5-04",
        "TMOV",
        ("a5",),
        "right f16 32x32 Zn <- mat f16 32x32 Zn",
        "right f16 32x32 Nz <- mat f16 32x32 Nz",
        "a right tile of a5 is Zn",
    ),
    (
        "TMOV-A5-05",
        "TMOV",
        ("a5",),
        "scaleleft e8m0 48x16 Zz32 <- mat e8m0 48x16 Zz32",
        "scaleleft e8m0 48x16 Zz32 <- mat e8m0 48x16 Nn32",
        "src has layout Nn; mat to scale_left takes Zz",
    ),
    (
        "TMOV-A5-05",
        "TMOV",
        ("a5",),
        "scaleright e8m0 16x48 Nn32 <- mat e8m0 16x48 Nn32",
        "scaleright u8 16x48 Nn32 <- mat e8m0 16x48 Nn32",
        "src has element type e8m0, dst has u8",
    ),
    (
        "TMOV-A5-B1",
        "TMOV",
        ("a5",),
        "bias f32 1x64 ND <- mat bf16 1x64 ND",
        "bias i32 1x152 ND <- mat i32 1x152 ND",
        "608 bytes, not a multiple of 64 up to 4096",
    ),
    (
        "TMOV-A5-B1",
        "TMOV",
        ("a5",),
        "bias f32 1x1024 ND <- mat f16 1x1024 ND",
        "bias f32 1x1040 ND <- mat f16 1x1040 ND",
        "4160 bytes",
    ),
    (
        "TMOV-A5-B1",
        "TMOV",
        ("a5",),
        "bias i32 1x16 ND <- mat i32 1x16 ND",
        "bias f32 1x64 ND <- mat i32 1x64 ND",
        "i32 to f32",
    ),
    (
        "TMOV-A5-S1",
        "TMOV",
        ("a5",),
        "scaling u64 1x512 ND <- mat u64 1x512 ND",
        "scaling u64 1x116 ND <- mat u64 1x116 ND",
        "928 bytes, not a multiple of 128",
    ),
    (
        "TMOV-A5-S1",
        "TMOV",
        ("a5",),
        "scaling i64 1x16 ND <- mat i64 1x16 ND",
        "scaling u64 1x16 ND <- mat i64 1x16 ND",
        "i64 to u64",
    ),
    (
        "TMOV-A5-A1",
        "TMOV",
        ("a5",),
        "vec f16 48x64 DN <- acc f32 48x64 Nz",
        "vec f16 48x64 Zz <- acc f32 48x64 Nz",
        "dst has layout Zz, not DN, ND or Nz",
    ),
    (
        "TMOV-A5-A1",
        "TMOV",
        ("a5",),
        "vec i32 48x64 ND <- acc i32 48x64 Nz",
        "vec f32 48x64 ND <- acc i32 48x64 Nz",
        "i32 to f32 cannot be moved on a5; i32 goes to i32",
    ),
    (
        "TMOV-A5-A1",
        "TMOV_FP",
        ("a5",),
        "mat e4m3 32x32 Nz <- acc f32 32x32 Nz; fp=scaling u64 1x32 ND",
        "mat i16 32x32 Nz <- acc i32 32x32 Nz; fp=scaling u64 1x32 ND",
        "i32 to i16 cannot be quantised",
    ),
    (
        "TMOV-A5-A2",
        "TMOV",
        ("a5",),
        "vec f16 8x16 DN <- acc f32 16x16[8x16] Nz".replace("8x16 DN", "16x16 DN"),
        "vec f16 8x16 DN <- acc f32 16x16[8x16] Nz",
        "16 bytes apart",
    ),
    (
        "TMOV-A5-A3",
        "TMOV",
        ("a5",),
        "vec f16 48x64 ND <- acc f32 48x64 Nz; mode=SingleModeVec1",
        "mat f16 48x64 Nz <- acc f32 48x64 Nz; mode=SingleModeVec1",
        "dst is a mat tile",
    ),
    (
        "TMOV-A5-A4",
        "TMOV",
        ("a5",),
        "vec f32 32x64 ND <- acc f32 32x64 Nz; mode=DualModeSplitM",
        "vec bf16 32x64 ND <- acc f32 32x64 Nz; mode=DualModeSplitM",
        "DualModeSplitM does not convert f32 to bf16",
    ),
    (
        "TMOV-A5-A4",
        "TMOV",
        ("a5",),
        "vec i32 32x64 Nz <- acc i32 32x64 Nz; mode=DualModeSplitN",
        "vec i32 32x64 DN <- acc i32 32x64 Nz; mode=DualModeSplitN",
        "does not write a DN tile",
    ),
    (
        "TMOV-A5-A5",
        "TMOV",
        ("a5",),
        f"vec i8 16x64 ND <- acc f32 16x64 Nz; mode=SingleModeVec1; quant={1 << 46}",
        f"vec i8 16x64 ND <- acc f32 16x64 Nz; mode=DualModeSplitN; quant={1 << 46}",
        "DualModeSplitN does not quantise",
    ),
    (
        "TMOV-A5-A6",
        "TMOV",
        ("a5",),
        "vec f32 16x64 ND <- acc f32 16x64 Nz; mode=DualModeSplitN",
        "vec f32 16x80 ND <- acc f32 16x80 Nz; mode=DualModeSplitN",
        "80 columns of f32 are split in two",
    ),
    (
        "TMOV-A5-A6",
        "TMOV",
        ("a5",),
        "vec f32 16x64 ND <- acc f32 16x64[14x64] Nz; mode=DualModeSplitM",
        "vec f32 16x64 ND <- acc f32 16x64[15x64] Nz; mode=DualModeSplitM",
        "15 rows cannot be split in two",
    ),
    (
        "TMOV-A5-A6",
        "TMOV",
        ("a5",),
        "vec f32 16x16 ND <- acc f32 16x16 Nz; mode=DualModeSplitM",
        "vec f32 16x16 ND <- acc f32 16x16 Nz; mode=DualModeSplitN",
        "16 columns of f32 are split in two",
    ),
    (
        "TMOV-A5-A6",
        "TMOV",
        ("a5",),
        "vec f32 16x8 ND <- vec f32 16x8 ND; mode=DualModeSplitN",
        "vec f32 16x8 ND <- acc f32 16x8 Nz; mode=DualModeSplitN",
        "8 columns of f32 are split in two",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 32x64 Zz32 <- vec u8 32x64 ND; tmp=vec u8 1x2048 ND",
        "vec f16 32x64 Zz32 <- vec f16 32x64 ND; tmp=vec f16 1x2048 ND",
        "src has element type f16",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 32x64 Zz32 <- vec u8 32x64 ND; tmp=vec u8 1x192 ND",
        "vec u8 32x64 Zz32 <- vec u8 32x64 ND; tmp=vec u8 1x160 ND",
        "tmp has 160 bytes, 192 are needed",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 48x32 Zz32 <- vec u8 32x48 ND; tmp=vec u8 1x32 ND; grp_axis=0",
        "vec u8 48x32 Zz32 <- vec u8 32x64[32x48] ND; tmp=vec u8 1x32 ND; grp_axis=0",
        "64 columns and 48 valid ones",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 48x32 Zz32 <- vec u8 32x48 ND; fp=vec u8 1x32 ND; grp_axis=0",
        "vec u8 48x32 Zz32 <- vec u8 32x48[31x48] ND; fp=vec u8 1x32 ND; grp_axis=0",
        "valid in 31x48; rows must be even",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 16x32 Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "vec u8 16x32[16x31] Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "dst has 31 valid columns",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 16x32 Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "vec u8 16x32 Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND; grp_axis=2",
        "grp_axis is 2",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 16x32 Zz32 <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "vec u8 16x32 Nz <- vec u8 16x32 ND; tmp=vec u8 1x1024 ND",
        "ND to Nz",
    ),
    (
        "TMOV-A5-Z1",
        "TMOV",
        ("cpu", "a5"),
        "vec u8 32x32[17x32] Zz32 <- vec u8 17x32 ND; tmp=vec u8 1x1024 ND",
        "vec u8 17x32 Zz32 <- vec u8 17x32 ND; tmp=vec u8 1x1024 ND",
        "32 boxes of 32 exponents do not fit",
    ),
    (
        "TMOV-A5-N1",
        "TMOV",
        ("a5",),
        "vec i8 32x64 Zn <- vec i8 32x64 ND",
        "vec i8 32x64[32x60] Zn <- vec i8 32x64[32x60] ND",
        "src has 64 columns, dst 60 valid ones",
    ),
    (
        "TMOV-A5-N1",
        "TMOV",
        ("a5",),
        "vec f32 8x16 Zn <- vec f32 8x16 ND",
        "vec f32 8x24 Zn <- vec f32 8x24 ND",
        "src is 8x24; to Zn go multiples of 8 rows and 16 columns",
    ),
    (
        "TMOV-A5-N1",
        "TMOV",
        ("a5",),
        "vec f32 16x16 Zn <- vec f32 16x16 ND",
        "vec f32 16x16[12x16] Zn <- vec f32 16x16 ND",
        "valid in 12x16; rests of 8 rows",
    ),
    (
        "TMOV-A5-N1",
        "TMOV",
        ("a5",),
        "vec u8 16x32 Nz <- vec u8 16x32 ND",
        "vec u16 16x32 Nz <- vec u16 16x32 ND",
        "element type u16 is not re-arranged to Nz",
    ),
    (
        "TMOV-A5-N1",
        "TMOV",
        ("a5",),
        "vec f16 32x32[16x32] Nz+1 <- vec f16 16x32 ND",
        "vec f16 16x32 Nz+1 <- vec f16 16x32 ND",
        "column blocks of 17 rows do not fit",
    ),
    (
        "TMOV-A5-N2",
        "TMOV",
        ("a5",),
        "vec f16 32x32[20x32] Nz <- vec f16 20x32 ND",
        "vec f16 32x32[16x32] Nz <- vec f16 16x32 ND",
        "written 16 rows apart, those of dst are 32",
    ),
    ("MO-2", "TMOV", ("a2a3", "a5"), f"{Q8}; {FP}", f"{Q8}; {FP}; quant={1 << 46}", "both given"),
    ("MO-3", "TMOV", ("a2a3", "a5"), ACC_MAT, "left f16 16x16 Nz <- mat f16 32x16 Nz", "src is 32x16, dst is 16x16"),
    ("MO-3", "TMOV", ("a2a3",), ACC_MAT, "vec f16 16x16 ND <- vec f16 32x16 ND", "src is 32x16"),
    (
        "MO-4",
        "TMOV",
        ("a2a3", "a5"),
        "vec f16 32x32 ND <- acc f32 32x32 Nz",
        "vec f16 8x16 ND <- left f16 8x16 ND",
        "left",
    ),
    ("MO-4", "TMOV", ("a2a3",), ACC_MAT, "mat f16 16x16 ND <- vec f16 16x16 ND", "vec to mat"),
    (
        "MO-5",
        "TMOV",
        ("a2a3", "a5"),
        "vec f16 32x32 ND <- acc f32 32x32 Nz; mode=SingleModeVec0",
        ACC_MAT + "; mode=SingleModeVec0",
        "acc to mat",
    ),
    ("MO-6", "TMOV", ("a2a3", "a5"), ACC_MAT + "; relu", "vec f32 8x8 ND <- vec f32 8x8 ND; relu", "vec source"),
    ("MO-6", "TMOV", ("a2a3", "a5"), Q8 + "; quant=0", "vec i8 8x32 ND <- vec i8 8x32 ND; quant=0", "a scalar with"),
    ("MO-7", "TMOV", ("a2a3",), f"{Q8}; {FP}", Q8 + "; fp=vec u64 1x32 ND", "fp is a vec tile"),
    ("MO-12", "TMOV", ("a5",), f"{Q8}; {FP}", Q8 + "; fp=vec u64 1x32 ND", "one type, all in vec"),
    ("MO-12", "TMOV", ("a2a3",), Q8, "vec u8 8x32 ND <- vec u8 8x32 ND; tmp=vec f32 8x8 ND", "one type, all in vec"),
    ("MO-7", "TMOV", ("a2a3", "a5"), f"{Q8}; {FP}", f"mat i8 32x32 Nz <- acc f16 32x32 Nz; {FP}", "type f16"),
    ("MO-7", "TMOV", ("a2a3", "a5"), f"{Q8}; {FP}", f"mat f32 32x32 Nz <- vec f32 32x32 Nz; {FP}", "vec source"),
    (
        "MO-8",
        "TMOV",
        ("a2a3", "a5"),
        f"vec i8 32x32 ND <- acc i32 32x32 Nz; {FP}; mode=SingleModeVec0",
        f"vec i8 32x32 ND <- acc i32 32x32 Nz; {FP}; mode=DualModeSplitM",
        "dual_mode_split_m together with fp",
    ),
    ("MO-9", "TMOV", ("a2a3", "a5"), ACC_MAT + "; relu", "mat f16 32x32 Nz <- acc f32 32x32 Zz; relu", "src is"),
    ("MO-10", "TMOV", ("a2a3",), ACC_MAT, "mat f16 32x32 Nz1024 <- acc f32 32x32 Nz", "fractal=1024"),
    ("MF-1", "TMOV_FP", ("a2a3", "a5"), f"{Q8}; {FP}", Q8 + "; fp=vec u64 1x32 ND", "fp is a vec tile"),
    ("MF-1", "TMOV_FP", ("a2a3", "a5"), f"{Q8}; {FP}", f"mat i8 32x32 Nz <- acc f16 32x32 Nz; {FP}", "type f16"),
    ("MF-1", "TMOV_FP", ("a2a3", "a5"), f"{Q8}; {FP}", f"mat i8 32x32 Nz <- acc i32 32x32 Zz; {FP}", "src is"),
    ("MF-2", "TMOV_FP", ("a2a3",), f"{Q8}; {FP}", f"vec i8 32x32 Nz <- acc i32 32x32 Nz; {FP}", "acc to vec is not"),
    ("MF-2", "TMOV_FP", ("a2a3",), f"{Q8}; {FP}", f"mat i8 32x32 ND <- acc i32 32x32 Nz; {FP}", "dst is blayout"),
    ("MF-2", "TMOV_FP", ("a2a3",), f"{Q8}; {FP}", f"mat i8 32x32 Nz1024 <- acc i32 32x32 Nz; {FP}", "fractal=1024"),
]
ENFORCED_ELSEWHERE = {"TMOV-COM-01", "TMOV-SUFFIX", "MO-1", "MO-N"}


@each("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule_holds_and_breaks(case):
    rule, name, targets, good, bad, words = case
    for on in targets:
        assert rule not in messages(site(name, on, good)), on
        found = messages(site(name, on, bad))
        assert words in found.get(rule, ""), (on, found)


def test_every_rule_has_a_case():
    ids = {i for i in CATALOGUE if i.startswith(("TMOV-", "MO-", "MF-"))}
    assert ids - {c[0] for c in CASES} - {"MO-13"} == ENFORCED_ELSEWHERE  # tests/ir/test_assembler_contexts
    assert all(CATALOGUE[i].check is None and CATALOGUE[i].why for i in ENFORCED_ELSEWHERE)


@each("rule", sorted({c[0] for c in CASES}))
def test_rules_apply_to_the_targets_of_their_cases_only(rule):
    covered = {on for c in CASES if c[0] == rule for on in c[2]}
    assert covered == set(CATALOGUE[rule].targets)


def test_assembler_rules_do_not_bind_python():
    assert {i for i in CATALOGUE if CATALOGUE[i].scope is Scope.ASSEMBLER and i.startswith("TMOV")} == set()
    run("TMOV", "a5", "vec f32 8x16 ND <- acc f32 16x16[8x16] Nz")  # MO-3 would not compare, and TMOV does not


def test_unknown_sizes_break_nothing():
    text = "vec f32 16x16[?x?] ND <- vec f32 16x16[?x?] ND"
    for on in ("cpu", "a2a3", "a5"):
        assert messages(site("TMOV", on, text)) == {}


def test_extended_cpu_moves_small_floats():
    text = "vec e4m3 8x32 ND <- vec e4m3 8x32 ND"
    assert messages(site("TMOV", "cpu", text, extended=True)) == {}
    data = np.arange(256, dtype=np.uint8)
    assert (run("TMOV", "cpu", text, extended=True, src=data)["dst"] == data).all()


def test_words_of_a_tile_are_checked_by_value():
    words = np.full(32, 0x40003F800000, np.uint64)
    run("TMOV_FP", "a5", f"{Q8}; {FP}", fp=words)
    words[7] = 0x3F800000
    with pytest.raises(Fault) as fault:
        run("TMOV_FP", "a5", f"{Q8}; {FP}", fp=words)
    assert fault.value.rule == "TMOV-COM-12"
    assert "word 0x3f800000 of column 7 has bit 46 clear" in str(fault.value)


def test_words_behind_the_columns_do_not_matter():
    words = np.full(32, 0x40003F800000, np.uint64)
    words[30:] = 0
    run("TMOV_FP", "cpu", f"mat i8 32x32[4x30] Nz <- acc i32 32x32[4x30] Nz; {FP}", fp=words)


@each(
    "spelling, pair, agrees",
    [
        ("tmov.m2l", "mat left", True),
        ("tmov.m2r", "mat left", False),
        ("tmov.m2b", "mat bias", True),
        ("tmov.m2s", "mat scaling", True),
        ("tmov.m2s", "mat bias", False),
        ("tmov.a2v", "acc vec", True),
        ("tmov.a2v", "acc mat", False),
        ("tmov.v2v", "vec vec", True),
        ("tmov.v2v", "vec mat", False),
        ("tmov.s2d", "acc mat", True),
        ("tmov", "acc mat", True),
    ],
)
def test_suffix_in_text(spelling, pair, agrees):
    source, into = (f"!pto.tile_buf<{loc}, 16x16xf16, blayout=col_major, slayout=row_major>" for loc in pair.split())
    text = f"""module attributes {{pto.target_arch = "a5"}} {{
  func.func @k() {{
    %s = pto.alloc_tile : {source}
    %d = pto.alloc_tile : {into}
    pto.{spelling} ins(%s : {source}) outs(%d : {into})
    return
  }}
}}
"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    found = [(d.rule, d.location.line, d.location.column, d.message) for d in parsed.diagnostics]
    loc, to = pair.split()
    message = f"pto.{spelling} is written for a move from {loc} to {to}"
    assert found == ([] if agrees else [("TMOV-SUFFIX", 5, 5, message)])


def test_words_decide_by_type_in_text():
    """``ins(%s : T, %q : i64)`` is the scalar form, ``ins(%s : T, %fp : T)`` the vector form."""
    acc = "!pto.tile_buf<acc, 32x32xi32, blayout=col_major, slayout=row_major, fractal=1024>"
    mat = "!pto.tile_buf<mat, 32x32xi8, blayout=col_major, slayout=row_major>"
    words = "!pto.tile_buf<scaling, 1x32xui64>"
    text = f"""module attributes {{pto.target_arch = "a5"}} {{
  func.func @k(%q: i64) {{
    %s = pto.alloc_tile : {acc}
    %d = pto.alloc_tile : {mat}
    %w = pto.alloc_tile : {words}
    pto.tmov ins(%s : {acc}, %q : i64) outs(%d : {mat})
    pto.tmov ins(%s : {acc}, %w : {words}) outs(%d : {mat}) {{reluPreMode = #pto<relu_pre_mode normal_relu>}}
    pto.tmov.fp ins(%s, %w : {acc}, {words}) outs(%d : {mat})
    return
  }}
}}
"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    body = parsed.module.functions[0].body
    assert body is not None
    moves = [op for op in body.walk() if op.name.startswith("pto.tmov")]
    scalar, vector = ["dst", "quant", "src"], ["dst", "fp", "src"]
    assert [sorted(op.operands) for op in moves] == [scalar, vector, vector]
    assert moves[1].attrs == {"relu": ReluPreMode.NormalRelu}
