"""A real Dask cluster of this machine: a scheduler and two workers, each a process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any


class Cluster:
    """A scheduler and its workers."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._folder = folder
        self.address = f"dask://127.0.0.1:{self.port}"
        self.scheduler = self._start(
            "dask_scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        self.workers = [self.worker() for _ in range(2)]

    def worker(self) -> subprocess.Popen[bytes]:
        limits = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        return self._start("dask_worker", f"tcp://127.0.0.1:{self.port}", *limits)

    def _start(self, what: str, *args: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{what}", *args]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # cases name functions of the tests
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self._folder, env=environment, stdout=quiet, stderr=quiet)

    def ready(self) -> None:
        from distributed import Client

        with Client(f"tcp://127.0.0.1:{self.port}", timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


def processes() -> Iterator[tuple[int, int, int, str]]:
    """Each process that runs: its number, parent, group and command."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, parent, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
            if state not in "ZX":
                yield int(folder.name), int(parent), int(group), (folder / "cmdline").read_text()


def children(parent: int) -> list[int]:
    """The processes for tasks that a process has started."""
    return [pid for pid, by, _, command in processes() if by == parent and "ptokit.workers.child" in command]


def until(reached: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait for something true, and return it; the last of what it was otherwise."""
    end = time.monotonic() + seconds
    while not (found := reached()) and time.monotonic() < end:
        time.sleep(0.05)
    return found


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster that is ready, ended afterwards."""
    cluster = Cluster(folder)
    try:
        cluster.ready()
        yield cluster
    finally:
        cluster.end()
