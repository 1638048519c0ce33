"""What the tests read, and the answers they compare with."""

from pathlib import Path

import numpy as np

for name, rows in (("whole", 128), ("tail", 75)):
    folder = Path(f"Softmax.{name}")
    folder.mkdir()
    x = np.random.default_rng(rows).standard_normal((rows, 256)).astype(np.float32)
    x.tofile(folder / "x.bin")
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    (e / e.sum(axis=1, keepdims=True)).astype(np.float32).tofile(folder / "golden.bin")
