"""Memory that processes share is gone when the launch is over, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ptokit.launches import arrays
from ptokit.launches.arrays import MissingError, opened, shared

from .conftest import Inline
from .test_launch import RNG, columns, launch

pytestmark = pytest.mark.skipif(not arrays.SHARED.is_dir(), reason="the system does not show shared memory")


def test_what_is_written_here_is_read_there() -> None:
    with shared(1000) as memory:
        assert memory is not None
        name, mine = memory
        mine[:] = 7
        with opened(name, 1000) as theirs:
            assert (theirs == 7).all()
            theirs[3] = 9
        assert mine[3] == 9
    with pytest.raises(MissingError), opened(name, 1000):
        pass


def test_without_room_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ptokit.launches.arrays.shutil.disk_usage", lambda _: _Usage())
    with shared(1000) as memory:
        assert memory is None
    x, y = RNG.random((16, 4096), np.float32), RNG.random((16, 4096), np.float32)
    wanted = x + y
    launch(columns.compile(x, y, 16, 4096), [x, y, 16, 4096], 512, executor=Inline(), jobs=2)
    assert (y == wanted).all()


class _Usage:
    free = 100


def test_nothing_is_left_behind_by_a_launch(memories: list[str]) -> None:
    x, y = RNG.random((16, 4096), np.float32), RNG.random((16, 4096), np.float32)
    launch(columns.compile(x, y, 16, 4096), [x, y, 16, 4096], 512, executor=Inline(), jobs=2)
    assert memories
    assert not any((arrays.SHARED / name).exists() for name in memories)


def test_nothing_is_left_behind_by_a_process_that_is_killed(tmp_path: Path) -> None:
    code = tmp_path / "k.py"
    code.write_text(
        "import time\nfrom ptokit.launches.arrays import shared\n"
        "with shared(1 << 20) as memory:\n    print(memory[0], flush=True)\n    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    name = process.stdout.readline().strip()
    assert (arrays.SHARED / name).exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 30
    while (arrays.SHARED / name).exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
