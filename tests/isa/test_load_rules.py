"""Every rule of TLOAD: a load that keeps it, one that breaks it, and what the message names."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.isa.site import UNKNOWN, TileInfo
from ptokit.isa.transfer.load import TLOAD
from ptokit.types.tile import TileSpec
from tests.each import each

from .transfer_sites import broken, conv, mat, site, spec, vec, view

Row = tuple[str, str, tuple[TileSpec, Any], tuple[TileSpec, Any], str]

V = vec("f32", 16, 16)
SCALES = spec("Mat", "e8m0", 32, 8, "Zz", fractal=32)

CASES: list[Row] = [
    ("LS-COM-03", "cpu", (V, view("f32", 16, 16)), (V, view("f32", 1, 0, 1, 16, 16)), "dimension 1"),
    ("LS-COM-03", "a5", (V, view("f32", 16, 16)), (vec("f32", 16, 16, valid=(16, 0)), view("f32", 16, 16)), "0 valid"),
    ("LS-COM-04", "a2a3", (vec("u8", 4, 32), view("i8", 4, 32)), (V, view("f16", 16, 16)), "2 (f16)"),
    (
        "LS-COM-05",
        "cpu",
        (V, view("f32", 16, 16, stride=(0, 0, 0, 0, 1))),
        (V, view("f32", 16, 16, stride=(0, 0, 0, -16, 1))),
        "stride 3 of the view is -16",
    ),
    (
        "LS-COM-05",
        "a2a3",
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 4, 4, 16, layout="NC1HWC0")),
        (conv("f16", "NC1HWC0", 1, 1, 5, 4, 16), view("f16", 1, 1, 4, 4, 16, layout="NC1HWC0")),
        "5 steps",
    ),
    (
        "LS-COM-09",
        "cpu",
        (SCALES, view("e8m0", 1, 1, 32, 4, 2, layout="MX_A_ND")),
        (SCALES, view("e8m0", 1, 1, 16, 4, 2, layout="MX_A_ND")),
        "16x8",
    ),
    # cpu
    ("LOAD-CPU-02", "cpu", (V, view("f32", 16, 16)), (V, view("f32", 16, 16, layout="NHWC")), "NHWC"),
    (
        "LOAD-CPU-03",
        "cpu",
        (vec("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (vec("f16", 48, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        "32x32",
    ),
    ("LOAD-CPU-04", "cpu", (V, view("f32", 2, 8, 16)), (V, view("f32", 8, 16)), "8x16"),
    (
        "LOAD-CPU-04",
        "cpu",
        (vec("f32", 16, 16, "DN"), view("f32", 16, 16)),
        (vec("f32", 16, 16, "DN"), view("f32", 2, 8, 16)),
        "column-major",
    ),
    (
        "LOAD-CPU-05",
        "cpu",
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 2, 4, 16, layout="NC1HWC0")),
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 2, 4, 16, layout="NHWC")),
        "NHWC",
    ),
    (
        "LOAD-CPU-05",
        "cpu",
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 2, 4, 16, layout="NC1HWC0")),
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16, loc="Vec"), view("f16", 1, 1, 2, 4, 16, layout="NC1HWC0")),
        "vec",
    ),
    (
        "LOAD-CPU-06",
        "cpu",
        (conv("f16", "FRACTAL_Z", 3, 2, 16, 16), view("f16", 1, 3, 2, 16, 16, layout="FRACTAL_Z")),
        (conv("f16", "FRACTAL_Z", 3, 2, 8, 16), view("f16", 1, 3, 2, 8, 16, layout="FRACTAL_Z")),
        "8, 16",
    ),
    (
        "LOAD-CPU-06",
        "cpu",
        (conv("f16", "FRACTAL_Z", 1, 2, 2, 16, 16), view("f16", 1, 2, 2, 16, 16, layout="FRACTAL_Z")),
        (conv("f16", "FRACTAL_Z", 1, 1, 2, 16, 16), view("f16", 1, 2, 2, 16, 16, layout="FRACTAL_Z")),
        "1x2",
    ),
    ("LOAD-CPU-07", "cpu", (V, view("f32", 16, 16)), (vec("hif8", 4, 32), view("hif8", 4, 32)), "hif8"),
    # a2a3
    ("LOAD-A3-01", "a2a3", (V, view("f32", 16, 16)), (vec("e4m3", 4, 32), view("e4m3", 4, 32)), "e4m3"),
    (
        "LOAD-A3-02",
        "a2a3",
        (V, view("f32", 16, 16)),
        (spec("Right", "f16", 16, 16, "Zn"), view("f16", 16, 16)),
        "right",
    ),
    (
        "LOAD-A3-04",
        "a2a3",
        (vec("u64", 16, 8), view("u64", 16, 8)),
        (vec("u64", 16, 8, "Nz"), view("u64", 1, 2, 1, 16, 4, layout="NZ")),
        "u64",
    ),
    ("LOAD-A3-06", "a2a3", (V, view("f32", 16, 16)), (vec("f32", 16, 16, "DN"), view("f32", 16, 16)), "ND view to DN"),
    (
        "LOAD-A3-06",
        "a2a3",
        (vec("f32", 16, 16, "Nz"), view("f32", 1, 2, 1, 16, 8, layout="NZ")),
        (vec("f32", 16, 16, "Nz", fractal=1024), view("f32", 1, 2, 1, 16, 8, layout="NZ")),
        "1024-byte boxes",
    ),
    (
        "LOAD-A3-07",
        "a2a3",
        (mat("f16", 32, 32, "Zn"), view("f16", 32, 32, layout="DN")),
        (mat("f16", 32, 32, "Nz"), view("f16", 32, 32, layout="DN")),
        "DN view to Nz",
    ),
    (
        "LOAD-A3-08",
        "a2a3",
        (vec("u8", 4095, 32, valid=(10, 32)), view("u8", 10, 32)),
        (vec("u8", 4096, 32, valid=(10, 32)), view("u8", 10, 32)),
        "4096",
    ),
    ("LOAD-A3-09", "a2a3", (V, view("f32", 2, 8, 16)), (V, view("f32", 15, 16)), "15x16"),
    (
        "LOAD-A3-09",
        "a2a3",
        (vec("u8", 4095, 32), view("u8", 4095, 32)),
        (vec("u8", 4096, 32), view("u8", 4096, 32)),
        "counts to 4095",
    ),
    (
        "LOAD-A3-10",
        "a2a3",
        (vec("f32", 8, 6, "DN"), view("f32", 2, 8, 3, layout="DN")),
        (vec("f32", 8, 6, "DN"), view("f32", 8, 5, layout="DN")),
        "8x5",
    ),
    (
        "LOAD-A3-11",
        "a2a3",
        (mat("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (mat("f16", 32, 32, "Nz"), view("f16", 1, 2, 4, 8, 16, layout="NZ")),
        "is 8; it must be 16",
    ),
    (
        "LOAD-A3-12",
        "a2a3",
        (mat("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (mat("f16", 32, 48, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        "32x48",
    ),
    (
        "LOAD-A3-13",
        "a2a3",
        (mat("u32", 7, 8), view("u32", 7, 8)),
        (mat("u32", 7, 8, valid=(7, 4)), view("u32", 7, 4)),
        "16 bytes",
    ),
    (
        "LOAD-A3-14",
        "a2a3",
        (mat("f16", 16, 6, "DN"), view("f16", 16, 6, layout="DN")),
        (mat("f16", 16, 6, "DN", valid=(4, 6)), view("f16", 4, 6, layout="DN")),
        "8 bytes",
    ),
    (
        "LOAD-A3-15",
        "a2a3",
        (mat("u32", 1, 8), view("u32", 1, 8)),
        (mat("u32", 1, 8), view("u32", 2, 1, 1, 1, 8)),
        "dimension 0 of the view is 2",
    ),
    (
        "LOAD-A3-15",
        "a2a3",
        (mat("u32", 8, 1, "DN"), view("u32", 8, 1, layout="DN")),
        (mat("u32", 8, 1, "DN", valid=(7, 1)), view("u32", 8, 1, layout="DN")),
        "7x1",
    ),
    (
        "LOAD-A3-16",
        "a2a3",
        (mat("f16", 48, 16, "Nz"), view("f16", 48, 16)),
        (mat("f16", 48, 16, "Nz"), view("f16", 3, 16, 16)),
        "dimension 2",
    ),
    (
        "LOAD-A3-16",
        "a2a3",
        (mat("f32", 48, 16, "Nz"), view("f32", 48, 16)),
        (mat("f32", 48, 16, "Nz", fractal=1024), view("f32", 48, 16)),
        "1024",
    ),
    (
        "LOAD-A3-17",
        "a2a3",
        (mat("u8", 16, 32, "Nz"), view("u8", 16, 32, stride=(1, 1, 1, 65535, 1))),
        (mat("u8", 16, 32, "Nz"), view("u8", 16, 32, stride=(1, 1, 1, 65536, 1))),
        "65536",
    ),
    (
        "LOAD-A3-17",
        "a2a3",
        (mat("u8", 16384, 32, "Nz", valid=(16, 32)), view("u8", 16, 32)),
        (mat("u8", 16400, 32, "Nz", valid=(16, 32)), view("u8", 16, 32)),
        "16400 rows",
    ),
    (
        "LOAD-A3-17",
        "a2a3",
        (mat("u8", 16, 65536, "Nz", valid=(16, 65535)), view("u8", 16, 65535, stride=(1, 1, 1, 65535, 1))),
        (mat("u8", 16, 65536, "Nz", valid=(16, 65536)), view("u8", 16, 65536, stride=(1, 1, 1, 65535, 1))),
        "dimension 4 of the view is 65536",
    ),
    (
        "LOAD-A3-18",
        "a2a3",
        (mat("i8", 65536, 16, "Zn", valid=(65535, 16)), view("i8", 65535, 16, layout="DN", stride=(1, 1, 1, 1, 65535))),
        (mat("i8", 65536, 16, "Zn", valid=(65536, 16)), view("i8", 65536, 16, layout="DN", stride=(1, 1, 1, 1, 65535))),
        "dimension 3 of the view is 65536",
    ),
    (
        "LOAD-A3-18",
        "a2a3",
        (mat("i8", 32, 16, "Zn"), view("i8", 32, 16, layout="DN", stride=(1, 1, 1, 1, 65535))),
        (mat("i8", 32, 16, "Zn"), view("i8", 32, 16, layout="DN", stride=(1, 1, 1, 1, 65536))),
        "65536",
    ),
    (
        "LOAD-A3-19",
        "a2a3",
        (conv("f16", "FRACTAL_Z_3D", 3, 2, 16, 16), view("f16", 1, 3, 2, 16, 16, layout="FRACTAL_Z_3D")),
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 16, 2, 4, layout="NCHW")),
        "NCHW",
    ),
    (
        "LOAD-A3-20",
        "a2a3",
        (conv("i8", "NC1HWC0", 1, 1, 4095, 1, 32), view("i8", 1, 1, 4095, 1, 32, layout="NC1HWC0")),
        (conv("i8", "NC1HWC0", 1, 1, 4096, 1, 32), view("i8", 1, 1, 4096, 1, 32, layout="NC1HWC0")),
        "4096x1",
    ),
    (
        "LOAD-A3-20",
        "a2a3",
        (conv("f16", "FRACTAL_Z", 3, 2, 16, 16), view("f16", 1, 3, 2, 16, 16, layout="FRACTAL_Z")),
        (conv("f16", "FRACTAL_Z", 3, 2, 16, 8), view("f16", 1, 3, 2, 16, 8, layout="FRACTAL_Z")),
        "16, 8",
    ),
    (
        "LOAD-A3-21",
        "a2a3",
        (mat("u8", 16384, 32, valid=(16, 32)), view("u8", 16, 32)),
        (mat("u8", 16385, 32, valid=(16, 32)), view("u8", 16, 32)),
        "16385",
    ),
    (
        "LOAD-A3-D1",
        "a2a3",
        (V, view("f32", 16, 16, stride=(0, 0, 0, 40, 1))),
        (V, view("f32", 16, 16, stride=(0, 0, 0, 40, 2))),
        "stride 4 of the view is 2",
    ),
    (
        "LOAD-A3-D1",
        "a2a3",
        (vec("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ", stride=(0, 600, 256, 16, 1))),
        (vec("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ", stride=(0, 600, 300, 16, 1))),
        "takes 256",
    ),
    (
        "LOAD-A3-D1",
        "a2a3",
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 4, 4, 16, layout="NC1HWC0")),
        (conv("f16", "NC1HWC0", 1, 1, 2, 3, 16), view("f16", 1, 1, 4, 4, 16, layout="NC1HWC0")),
        "W is 3",
    ),
    (
        "LOAD-A3-D2",
        "a2a3",
        (mat("bf16", 3, 48), view("bf16", 3, 48, stride=(0, 0, 0, 64, 1))),
        (mat("bf16", 3, 48), view("bf16", 3, 48, stride=(0, 0, 0, 62, 1))),
        "124 bytes",
    ),
    (
        "LOAD-A3-D2",
        "a2a3",
        (V, view("f32", 16, 16)),
        (V, view("f32", 16, 16, stride=(0, 0, 0, 0, 1))),
        "negative gap",
    ),
    (
        "LOAD-A3-D2",
        "a2a3",
        (mat("f32", 6, 16), view("f32", 2, 3, 16, stride=(0, 0, 56, 16, 1))),
        (mat("f32", 6, 16), view("f32", 2, 3, 16, stride=(0, 0, 54, 16, 1))),
        "216 bytes",
    ),
    (
        "LOAD-A3-D2",
        "a2a3",
        (mat("f32", 16, 16, "Nz"), view("f32", 16, 16, stride=(0, 0, 0, 17, 1))),
        (mat("f32", 3, 16), view("f32", 3, 16, stride=(0, 0, 0, 16 + 65536 * 8, 1))),
        "gap of 2097152 bytes",
    ),
    (
        "LOAD-A3-D3",
        "a2a3",
        (mat("f32", 32, 16, "Nz", valid=(15, 16)), view("f32", 15, 16)),
        (mat("f32", 32, 16, "Nz", valid=(15, 16)), view("f32", 32, 16)),
        "32x16",
    ),
    # a5
    (
        "LOAD-A5-02",
        "a5",
        (vec("u64", 4, 16, pad=1), view("u64", 4, 16)),
        (vec("u64", 4, 16, pad=3), view("u64", 4, 16)),
        "Min",
    ),
    ("LOAD-A5-04", "a5", (V, view("f32", 16, 16)), (vec("f32", 16, 16, "Nz"), view("f32", 16, 16)), "ND view to Nz"),
    ("LOAD-A5-05", "a5", (V, view("f32", 2, 8, 16)), (V, view("f32", 15, 16)), "15x16"),
    (
        "LOAD-A5-06",
        "a5",
        (vec("i8", 32, 64, "Nz"), view("i8", 1, 2, 2, 16, 32, layout="NZ")),
        (vec("i8", 32, 64, "Nz"), view("i8", 1, 4, 2, 16, 16, layout="NZ")),
        "is 16; it must be 32",
    ),
    (
        "LOAD-A5-07",
        "a5",
        (mat("f16", 32, 32, "Nz"), view("f16", 32, 32, layout="DN")),
        (mat("f16", 32, 32, "Zz"), view("f16", 32, 32)),
        "ND view to Zz",
    ),
    (
        "LOAD-A5-08",
        "a5",
        (mat("u8", 16384, 32, valid=(16, 32)), view("u8", 16, 32)),
        (mat("u8", 16385, 32, valid=(16, 32)), view("u8", 16, 32)),
        "16385",
    ),
    (
        "LOAD-A5-09",
        "a5",
        (mat("u8", 8192, 64, valid=(16, 64)), view("u8", 16, 64)),
        (mat("u8", 8193, 64, valid=(16, 64)), view("u8", 16, 64)),
        "524352",
    ),
    (
        "LOAD-A5-10",
        "a5",
        (mat("f16", 48, 16, "Nz"), view("f16", 48, 16)),
        (mat("f16", 48, 16, "Nz"), view("f16", 3, 16, 16)),
        "dimension 2",
    ),
    (
        "LOAD-A5-10",
        "a5",
        (mat("u32", 16, 16, "Nz"), view("u32", 16, 16)),
        (mat("u64", 16, 16, "Nz"), view("u64", 16, 16)),
        "u64",
    ),
    (
        "LOAD-A5-11",
        "a5",
        (mat("i8", 64, 64, "Nz"), view("i8", 64, 64, layout="DN")),
        (mat("e2m1", 64, 64, "Nz"), view("e2m1", 64, 64, layout="DN")),
        "e2m1",
    ),
    (
        "LOAD-A5-12",
        "a5",
        (mat("f16", 32, 32, "Nz"), view("f16", 1, 2, 2, 16, 16, layout="NZ")),
        (mat("f16", 32, 32, "Nz"), view("f16", 1, 2, 4, 8, 16, layout="NZ")),
        "is 8",
    ),
    (
        "LOAD-A5-13",
        "a5",
        (SCALES, view("e8m0", 1, 1, 32, 4, 2, layout="MX_A_ND")),
        (spec("Mat", "e8m0", 32, 16, "Nn", fractal=32), view("e8m0", 1, 1, 32, 8, 2, layout="MX_A_ND")),
        "Nn",
    ),
    (
        "LOAD-A5-14",
        "a5",
        (SCALES, view("e8m0", 1, 1, 32, 4, 2, layout="MX_A_ND")),
        (spec("Mat", "i8", 32, 8, "Zz", fractal=32), view("i8", 1, 1, 32, 4, 2, layout="MX_A_ND")),
        "i8",
    ),
    (
        "LOAD-A5-15",
        "a5",
        (SCALES, view("e8m0", 1, 2, 4, 16, 2, layout="MX_A_ZZ")),
        (SCALES, view("e8m0", 1, 3, 4, 16, 2, layout="MX_A_ZZ")),
        "48x8",
    ),
    (
        "LOAD-A5-16",
        "a5",
        (SCALES, view("e8m0", 1, 1, 32, 4, 2, layout="MX_A_ND")),
        (SCALES, view("e8m0", 1, 2, 32, 4, 2, layout="MX_A_ND")),
        "dimension 1",
    ),
    (
        "LOAD-A5-17",
        "a5",
        (spec("Mat", "e8m0", 1, 32, "Zz", fractal=32), view("e8m0", 1, 32)),
        (spec("Mat", "e8m0", 1, 32, "Zz", fractal=32), view("e8m0", 1, 1, 1, 16, 2, layout="MX_A_ND")),
        "dimension 3",
    ),
    (
        "LOAD-A5-18",
        "a5",
        (spec("Mat", "e8m0", 6, 16, "Nn", fractal=32), view("e8m0", 1, 1, 3, 16, 2, layout="MX_B_ND")),
        (
            spec("Mat", "e8m0", 6, 16, "Nn", fractal=32, valid=(5, 16)),
            view("e8m0", 1, 1, 3, 16, 2, layout="MX_B_ND"),
        ),
        "5 valid rows",
    ),
    (
        "LOAD-A5-19",
        "a5",
        (conv("e4m3", "NC1HWC0", 1, 1, 2, 4, 32), view("e4m3", 1, 1, 2, 4, 20, layout="NHWC")),
        (conv("f16", "NDC1HWC0", 1, 1, 1, 2, 4, 16), view("f16", 1, 1, 1, 2, 4, layout="NDC1HWC0")),
        "NDC1HWC0",
    ),
    (
        "LOAD-A5-20",
        "a5",
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 2, 4, 10, layout="NHWC")),
        (conv("f16", "NC1HWC0", 1, 1, 2, 4, 16), view("f16", 1, 1, 2, 4, 17, layout="NHWC")),
        "17 channels",
    ),
    (
        "LOAD-A5-20",
        "a5",
        (conv("f16", "FRACTAL_Z", 4, 1, 16, 16), view("f16", 1, 5, 9, 2, 2, layout="NCHW")),
        (
            conv("f16", "FRACTAL_Z", 4, 1, 16, 16),
            view("f16", 1, 5, 9, 2, 2, layout="NCHW", stride=(300, 60, 6, 2, 1)),
        ),
        "stride 2 of the view is 6",
    ),
    ("LOAD-A5-21", "a5", (V, view("f32", 16, 16)), (spec("Right", "f16", 16, 16, "Zn"), view("f16", 16, 16)), "right"),
    (
        "LOAD-A5-22",
        "a5",
        (vec("e4m3", 4, 32, pad=0x1_0000_007E), view("e4m3", 4, 32)),
        (vec("e4m3", 4, 32, pad=3), view("e4m3", 4, 32)),
        "Min",
    ),
    (
        "LOAD-A5-23",
        "a5",
        (vec("u64", 16, 8), view("u64", 16, 8)),
        (vec("u64", 16, 8, "Nz"), view("u64", 1, 2, 1, 16, 4, layout="NZ")),
        "u64",
    ),
    (
        "LOAD-A5-D1",
        "a5",
        (vec("f32", 16, 7, "DN"), view("f32", 16, 7, layout="DN")),
        (vec("f32", 16, 7, "DN", valid=(15, 7)), view("f32", 16, 7, layout="DN")),
        "15x7",
    ),
    (
        "LOAD-A5-D1",
        "a5",
        (V, view("f32", 16, 16, stride=(0, 0, 0, 0, 1))),
        (V, view("f32", 16, 16, stride=(0, 0, 0, 48, 3))),
        "stride 4 of the view is 3",
    ),
    (
        "LOAD-A5-D1",
        "a5",
        (SCALES, view("e8m0", 1, 2, 4, 16, 2, layout="MX_A_ZZ")),
        (SCALES, view("e8m0", 1, 2, 4, 16, 2, layout="MX_A_ZZ", stride=(0, 160, 40, 2, 1))),
        "takes 32",
    ),
    (
        "LOAD-A5-D2",
        "a5",
        (vec("e1m2", 9, 64, valid=(9, 14)), view("e1m2", 9, 14, stride=(0, 0, 0, 16, 1))),
        (vec("e1m2", 9, 64, valid=(9, 14)), view("e1m2", 9, 14, stride=(0, 0, 0, 15, 1))),
        "15",
    ),
    (
        "LOAD-A5-D2",
        "a5",
        (vec("e1m2", 64, 9, "DN", valid=(14, 9)), view("e1m2", 14, 9, stride=(0, 0, 0, 1, 16), layout="DN")),
        (vec("e1m2", 64, 9, "DN", valid=(14, 9)), view("e1m2", 14, 9, stride=(0, 0, 0, 1, 15), layout="DN")),
        "stride 4 of the view is 15",
    ),
    (
        "LOAD-A5-20",
        "a5",
        (
            conv("f16", "FRACTAL_Z_3D", 8, 1, 16, 16),
            view("f16", 5, 9, 2, 2, 2, layout="NCDHW", stride=(300, 20, 4, 2, 1)),
        ),
        (
            conv("f16", "FRACTAL_Z_3D", 8, 1, 16, 16),
            view("f16", 5, 9, 2, 2, 2, layout="NCDHW", stride=(300, 20, 6, 2, 1)),
        ),
        "stride 2 of the view is 6",
    ),
    (
        "LOAD-A5-D3",
        "a5",
        (vec("u8", 2, 65536, valid=(2, 65535)), view("u8", 2, 65535)),
        (vec("u8", 2, 65536), view("u8", 2, 65536)),
        "65536 bytes",
    ),
]


@each("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule(case: Row) -> None:
    rule, on, good, bad, text = case
    assert rule not in broken(site("TLOAD", on, *good))
    found = broken(site("TLOAD", on, *bad))
    assert rule in found, found
    assert text in found[rule]
    assert on in CATALOGUE[rule].targets


# Pairs that pass above on every count: no other rule may fire. (Some good sites keep one rule and break another.)
@each("on", ["cpu", "a2a3", "a5"])
@each(
    "tile, g",
    [
        (V, view("f32", 16, 16)),
        (V, view("f32", 2, 2, 2, 2, 16)),
        (vec("f16", 16, 3, "DN"), view("f16", 16, 3, layout="DN")),
        (mat("bf16", 32, 32, "Nz"), view("bf16", 32, 32)),
        (mat("bf16", 32, 32, "Nz"), view("bf16", 1, 2, 2, 16, 16, layout="NZ")),
        (conv("f16", "NC1HWC0", 2, 1, 2, 4, 16), view("f16", 2, 1, 2, 4, 16, layout="NC1HWC0")),
    ],
)
def test_ordinary_loads_break_nothing(on: str, tile: TileSpec, g: Any) -> None:
    assert broken(site("TLOAD", on, tile, g)) == {}


def test_every_rule_has_a_case() -> None:
    checked = {r.id for r in TLOAD.rules if r.check is not None and r.scope is Scope.ISA}
    assert checked == {c[0] for c in CASES}


def test_rules_without_a_check_say_who_enforces_them() -> None:
    for rule in CATALOGUE.values():
        if rule.id.startswith(("LOAD-", "STORE-", "LS-COM", "PREF", "TILE-", "SA-")) and rule.check is None:
            assert rule.reported_as or rule.why, rule.id


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@each("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_unknown_sizes_break_no_rule_about_sizes(case: Row, on: str) -> None:
    """With sizes open, what remains is only what types and layouts say."""
    tile, g = case[3]
    unknown = (UNKNOWN,) * 5
    open_tile = TileInfo("t", tile, UNKNOWN, UNKNOWN)
    open_view = type(g)("g", g.dtype, unknown, unknown, g.layout)
    for message in broken(site("TLOAD", on, open_tile, open_view)).values():
        assert "?" not in message


def test_extended_cpu_loads_device_types() -> None:
    tile, g = vec("hif8", 4, 32), view("hif8", 4, 32)
    assert "LOAD-CPU-07" in broken(site("TLOAD", "cpu", tile, g))
    assert broken(site("TLOAD", "cpu", tile, g, extended=True)) == {}
