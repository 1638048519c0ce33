"""Campaigns and launches on a real Dask cluster: results of one process, and none is lost with a worker."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.campaign.case import Action
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import of_paths
from ptokit.diagnostics import DiagnosticError
from ptokit.launches.launch import launch

from ..campaign.conftest import kernel, kernels
from ..campaign.test_campaign import outcome, told
from .cluster import Cluster, running

pytest.importorskip("distributed")

__all__ = ["kernels"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with running(tmp_path) as cluster:
        yield cluster


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


@pytest.mark.campaign
def test_a_scheduler_that_dies_ends_the_campaign_and_no_case(
    cluster: Cluster, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ptokit.workers.executors.CONNECT_SECONDS", 2)
    for i in range(12):
        (kernels / f"k{i:02}.pto").write_text(kernel(i + 2, turns=300))
    spec, out = of_paths([str(kernels)], [Action.CHECK, Action.RUN]), tmp_path / "dask.sqlite"

    def kill_the_scheduler(done: int, total: int) -> None:
        if done >= 4:
            cluster.scheduler.kill()

    with pytest.raises(DiagnosticError) as caught:
        run_campaign(spec, out, executor=cluster.address, progress=kill_the_scheduler)
    assert [d.rule for d in caught.value.diagnostics] == ["RUN-EXECUTOR"]
    kept = {r.id for r in outcome(out).rows if r.result}
    assert 4 <= len(kept) < 30
    with running(tmp_path) as other:
        run_campaign(spec, out, executor=other.address)
    run_campaign(spec, tmp_path / "one.sqlite")
    assert told(out) == told(tmp_path / "one.sqlite")


@pto.kernel(target="a5")
def slow(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], z: pto.Ptr[pto.f32], n: int) -> None:
    """y = exp(…exp(x)…), a row a block; z += y."""
    top = pto.get_block_idx()
    a = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    b = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    pto.TLOAD(a, pto.GlobalTensor(x, (n, 64))[top : top + 1])
    for _ in range(200):
        pto.TEXP(a, a)
        pto.TRECIP(a, a)
    pto.TSTORE(pto.GlobalTensor(y, (n, 64))[top : top + 1], a)
    pto.TLOAD(b, pto.GlobalTensor(z, (n, 64))[top : top + 1])
    pto.TADD(b, b, a)
    pto.TSTORE(pto.GlobalTensor(z, (n, 64))[top : top + 1], b)


BLOCKS = 4096


def test_4096_blocks_on_a_cluster_that_loses_a_worker(cluster: Cluster) -> None:
    x = np.random.default_rng(1).random((BLOCKS, 64), np.float32)
    program = slow.compile(x, x, x, BLOCKS)
    one = [x, np.zeros_like(x), np.ones_like(x), BLOCKS]
    program.launch(one, BLOCKS)
    other = [x, np.zeros_like(x), np.ones_like(x), BLOCKS]
    done: list[int] = []

    def progress(count: int, total: int) -> None:
        done.append(count)
        if len(done) == 2:
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    launch(program, other, BLOCKS, executor=cluster.address, progress=progress)
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert len(done) > 4
    assert done[-1] == BLOCKS
    for a, b in zip(one[:3], other[:3], strict=True):
        assert a.tobytes() == b.tobytes()
