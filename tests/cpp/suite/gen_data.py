"""The data of the tests: what they read, and what they compare with."""

from pathlib import Path

import numpy as np

CASES = {
    "floats": (np.float32, (16, 64), 2.5),
    "few_rows": (np.float32, (5, 64), -3),
    "integers": (np.int32, (16, 32), -7),
    "wrong_golden": (np.int32, (16, 32), 4),
    "refused": (np.int64, (16, 16), 3),
}
for name, (dtype, shape, factor) in CASES.items():
    folder = Path(__file__).parent / f"ScaleTest.{name}"  # beside itself, as some scripts do
    folder.mkdir()
    x = np.random.default_rng(1).integers(-100, 100, shape).astype(dtype)
    x.tofile(folder / "x.bin")
    (x * dtype(factor)).tofile(folder / "golden.bin")
