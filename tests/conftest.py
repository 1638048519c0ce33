"""Settings for all tests: they run in parallel processes, on machines that may be busy."""

import atexit
import gc
import importlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

# Byte code is not to be left beside the sources, or there is none yet: one process of all compiles each module.
if sys.dont_write_bytecode and "PYTHONPYCACHEPREFIX" not in os.environ:
    _folder = tempfile.mkdtemp(prefix="ptokit-tests-")
    atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = _folder
    del os.environ["PYTHONDONTWRITEBYTECODE"]
    sys.dont_write_bytecode = False

import pytest
from hypothesis import settings

# Tile products are too small to share among threads.
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# What one test has compiled the others find, and nothing stays in the home of who runs them.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["PTOKIT_CACHE"] = tempfile.mkdtemp(prefix="ptokit-tests-")
    atexit.register(shutil.rmtree, os.environ["PTOKIT_CACHE"], ignore_errors=True)

# How long an example takes says nothing about whether it is right.
settings.register_profile("ptokit", deadline=None)
settings.load_profile("ptokit")

from ptokit.isa.table import bring_all  # noqa: E402  reads the environment

bring_all()  # tests look instructions up by what they are, not by name


def pytest_collection(session: pytest.Session) -> None:
    """Every other process imports the modules of the tests from the last to the first, to meet the others half way.

    What one has compiled, with its assertions, the others find as byte code.
    """
    worker, chosen = os.environ.get("PYTEST_XDIST_WORKER", ""), session.config.args
    here = Path(__file__).parent
    if worker[2:].isdecimal() and int(worker[2:]) % 2 and [Path(path).resolve() for path in chosen] == [here]:
        for file in sorted(here.rglob("test_*.py"), reverse=True):
            try:
                importlib.import_module(".".join(file.relative_to(here.parent).with_suffix("").parts))
            except (Exception, pytest.skip.Exception):  # it is reported where it is collected
                continue


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is imported stays: the collector need not go through it again in each test."""
    gc.collect()
    gc.freeze()
