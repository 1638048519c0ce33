"""One BLAS thread for the tests: they run in parallel processes, and tile products are too small to share."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
