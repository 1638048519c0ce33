"""A campaign on a cluster of which something is killed again and again: nothing is lost but what dies by itself."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from ptokit.campaign.run import summarise
from ptokit.campaign.store import Store
from ptokit.diagnostics import DiagnosticError

from ..campaign.conftest import kernel
from ..campaign.here import outcome
from .cluster import Cluster, children

pytest.importorskip("distributed")

KILLS = 20
KERNELS = 160
DEADLY = 20  # kernels with a case that kills its process


def deadly(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Soak:
    """A campaign, a cluster, and what happens to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.rng, self.out = folder, random.Random(seed), folder / "r.sqlite"
        self.killed = dict.fromkeys(("campaign", "scheduler", "worker", "work"), 0)
        self.spared = 0  # results by which the process of a case may be killed again: no case is to be hit twice
        self.ended: list[int] = []  # exit status of each time that the campaign went on
        (folder / "kernels").mkdir()
        for i in range(KERNELS):
            (folder / "kernels" / f"k{i:03}.pto").write_text(kernel(i + 2, turns=200))
        (folder / "c.toml").write_text(f"""
programs = ["kernels/*.pto"]
do = ["check", "run", "sanitize", "compare"]
[[set]]
match = "*/k0[01]*.pto"
name = "deadly"
args = ["zeros:f32:1024", "zeros:f32:1024", "0"]
function = "{__name__}:deadly"
""")
        self.cluster = Cluster(folder)
        self.cluster.ready()

    def go_on(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ptokit", "campaign", "c.toml", "-o", str(self.out)]
        command += ["--executor", self.cluster.address]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, env=environment, stdout=quiet, stderr=quiet)

    def again(self) -> None:
        """A new cluster at the place of the old one."""
        self.cluster.end()
        self.cluster = Cluster(self.folder)
        self.cluster.ready()

    def kill(self, campaign: subprocess.Popen[bytes]) -> None:
        """Kill something."""
        what, done = self.rng.choice(list(self.killed)), self.results()
        at = self.rng.randrange(len(self.cluster.workers))
        worker = self.cluster.workers[at]
        found = children(worker.pid) if done >= self.spared else []
        if what == "work" and not found:
            what = "worker"
        if what == "campaign":
            campaign.kill()
        elif what == "scheduler":
            self.cluster.scheduler.kill()
        elif what == "worker":
            worker.kill()
            worker.wait()
            self.cluster.workers[at] = self.cluster.worker()
        else:
            self.spared = done + 10
            with suppress(ProcessLookupError):
                os.kill(found[0], signal.SIGKILL)
        self.killed[what] += 1

    def results(self) -> int:
        with suppress(DiagnosticError), Store(self.out, create=False) as store:  # it may be in the making
            found = summarise(store)
            return 0 if found is None else found.counts.total() - found.counts["missing"]
        return 0

    def run(self) -> None:
        """Go on until the campaign ends by itself."""
        steps = [KERNELS * 3 * n // (KILLS + 2) for n in range(KILLS)]  # results by which something is killed
        while True:
            campaign = self.go_on()
            try:
                while campaign.poll() is None:
                    done = sum(self.killed.values())
                    if done < KILLS and self.results() > steps[done]:
                        self.kill(campaign)
                    with suppress(subprocess.TimeoutExpired):
                        campaign.wait(0.5)
            finally:
                campaign.kill()
            self.ended.append(campaign.returncode)
            if self.cluster.scheduler.poll() is not None:
                self.again()
            elif self.out.exists() and outcome(self.out).finished:
                return
            assert len(self.ended) < 3 * KILLS


@pytest.mark.campaign
@pytest.mark.parametrize("seed", [24, 25, 26, 27])
def test_everything_has_its_result_whatever_is_killed(seed: int, tmp_path: Path) -> None:
    soak = Soak(tmp_path, seed)
    try:
        soak.run()
    finally:
        soak.cluster.end()
    print(soak.killed, soak.ended)
    found = outcome(soak.out)
    assert sum(soak.killed.values()) == KILLS
    assert set(soak.ended) <= {1, -signal.SIGKILL}  # the executor was lost, or cases were
    assert (found.run, found.finished) == (1, True)
    assert len({row.id for row in found.rows}) == len(found.rows) == KERNELS * 3 + DEADLY
    lost = {row.id for row in found.rows if row.result is None or row.result.status.value != "passed"}
    assert lost == {f"kernels/k{i:03}.pto compare deadly" for i in range(DEADLY)}
