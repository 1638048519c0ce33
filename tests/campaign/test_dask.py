"""Campaigns on a real Dask cluster of this machine: a scheduler and two workers, each a process."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptokit.campaign.case import Action
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import of_paths

from .conftest import kernel
from .test_campaign import told

pytest.importorskip("distributed")


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
        return subprocess.Popen(command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ready(self) -> None:
        from distributed import Client

        with Client(f"tcp://127.0.0.1:{self.port}", timeout=60, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path)
    try:
        cluster.ready()
        yield cluster
    finally:
        cluster.end()


def test_a_cluster_gives_what_one_process_gives_and_loses_nothing_with_a_worker(
    cluster: Cluster, kernels: Path, tmp_path: Path
) -> None:
    for i in range(12):
        (kernels / f"k{i:02}.pto").write_text(kernel(i + 2, turns=300))
    spec = of_paths([str(kernels)], [Action.CHECK, Action.RUN])
    run_campaign(spec, tmp_path / "one.sqlite")

    came = threading.Event()

    def kill_a_worker() -> None:
        came.wait(60)
        os.kill(cluster.workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_a_worker)
    killer.start()

    def progress(done: int, total: int) -> None:
        if done >= 4:
            came.set()
            time.sleep(0.05)

    run_campaign(spec, tmp_path / "dask.sqlite", executor=cluster.address, progress=progress)
    killer.join()
    assert cluster.workers[0].poll() == -signal.SIGKILL
    assert told(tmp_path / "dask.sqlite") == told(tmp_path / "one.sqlite")
