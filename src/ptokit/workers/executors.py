"""Where work is done: processes of this machine, a Dask cluster, Ray, or any executor of `concurrent.futures`.

An executor runs `ptokit.workers.minder.work_batch`; it needs nothing but `submit` and `shutdown`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Scope, Severity, define

from .minder import Crew, join

# Rules of work on other processes.


EXECUTOR = define(
    "RUN-EXECUTOR",
    "The executor can be reached, and what it needs is installed.",
    scope=Scope.RUN,
    why="The work is done elsewhere: a cluster that does not answer can give no results.",
    source="docs/campaigns.md",
    example="{--executor dask://127.0.0.1:8786     with pip install distributed, and a scheduler there|--executor "
    "dask                      without an address}",
    unrun="it is about other processes and machines",
)


# Where work is done: processes of this machine, a Dask cluster, Ray, or any executor of `concurrent.futures`.


CONNECT_SECONDS = 10


@contextmanager
def open_executor(where: Executor | str, jobs: int) -> Iterator[tuple[Executor, int]]:
    """An executor and how many workers it has, closed at the end.

    ``where``: ``processes`` (`jobs` of them, spawned), ``dask://HOST:PORT``, ``ray``, or an executor with `jobs`
    workers, which stays open. Raises `DiagnosticError` (RUN-EXECUTOR).
    """
    if not isinstance(where, str):
        yield where, jobs
    elif where == "processes":
        # Each thread watches over a process of its own, which does the work.
        crew = Crew()
        pool = ThreadPoolExecutor(jobs, "ptokit-worker", join, (crew,))
        try:
            yield pool, jobs
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            crew.end()
    elif found := re.fullmatch(r"dask://([^/]+:\d+)", where):
        with _dask(found[1]) as opened:
            yield opened
    elif where == "ray":
        with _ray() as opened:
            yield opened
    else:
        raise _unusable(f"{where!r} is no executor; there are processes, dask://HOST:PORT and ray")


@contextmanager
def _dask(address: str) -> Iterator[tuple[Executor, int]]:
    try:
        from distributed import Client
    except ImportError:
        raise _unusable("Dask is not installed: pip install distributed") from None
    try:
        client = Client(f"tcp://{address}", timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise _unusable(f"there is no Dask scheduler at {address}: {error}") from None
    try:
        try:
            workers = sum(client.nthreads().values())
        except Exception as error:  # of many kinds, where it has gone since
            raise _unusable(f"the Dask scheduler at {address} does not answer: {error}") from None
        if not workers:
            raise _unusable(f"the Dask scheduler at {address} has no workers")
        yield _Dask(client, address), workers
    finally:
        with suppress(Exception):  # nobody to say goodbye to
            client.close(CONNECT_SECONDS)


class Remote(Executor):
    """An executor that may be out of reach one day, and then keeps tasks for ever."""

    def gone(self) -> str:
        """Why it can do no work any more; "" while it can."""
        raise NotImplementedError


class _Dask(Remote):
    """The workers of a Dask scheduler."""

    def __init__(self, client: Any, address: str) -> None:
        self._client, self._address = client, address
        self._executor = client.get_executor(pure=False)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = self._executor.submit(fn, *args, **kwargs)
        return future

    def gone(self) -> str:
        # It is "connecting" for a while, and may come back from there.
        return "" if self._client.status in ("running", "connecting") else f"no Dask scheduler at {self._address}"


class _Ray(Executor):
    """Ray's remote functions as an executor."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._remote: dict[Callable[..., Any], Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if fn not in self._remote:
            self._remote[fn] = self._ray.remote(max_retries=0)(fn)
        future: Future[Any] = self._remote[fn].remote(*args, **kwargs).future()
        return future


@contextmanager
def _ray() -> Iterator[tuple[Executor, int]]:
    try:
        import ray
    except ImportError:
        raise _unusable("Ray is not installed: pip install ray") from None
    ray.init(ignore_reinit_error=True, log_to_driver=False)
    try:
        yield _Ray(ray), int(ray.cluster_resources().get("CPU", 1))
    finally:
        ray.shutdown()


def lost(why: object) -> DiagnosticError:
    """The executor does no work any more."""
    return _unusable(f"the executor is lost, and with it the work that it had: {' '.join(str(why).split())[:300]}")


def _unusable(why: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(EXECUTOR.id, Severity.ERROR, why))


def cores() -> int:
    """Cores that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def workers_of(executor: Executor | str) -> int:
    """How many workers an executor has, as far as it tells; of processes one for each core."""
    told = getattr(executor, "_max_workers", None)
    return told if isinstance(told, int) else cores()
