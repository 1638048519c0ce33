"""Settings for all tests: they run in parallel processes, on machines that may be busy."""

import os

from hypothesis import settings

# Tile products are too small to share among threads.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# Tests leave nothing after in the home of who runs them.
os.environ["PTOKIT_CACHE"] = "off"

# How long an example takes says nothing about whether it is right.
settings.register_profile("ptokit", deadline=None)
settings.load_profile("ptokit")

from ptokit.isa.registry import bring_all  # noqa: E402  reads the environment

bring_all()  # tests look instructions up by what they are, not by name
