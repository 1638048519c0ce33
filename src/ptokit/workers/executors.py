"""Tasks to processes of this machine, a Dask cluster, Ray or any executor, in batches, and their answers.

An executor runs `ptokit.workers.minder.work_batch`; it needs nothing but `submit` and `shutdown`.
"""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Scope, Severity, define

from .minder import Answer, Crew, How, StartError, Task, join, read_answer, work_batch

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


# Tasks to an executor, answers back: batches that take a moment each, a bounded number on their way at a time.


BATCH_SECONDS = 0.25
"""How long a batch should take: long against the way there and back, short against all of the work."""

LARGEST_BATCH = 256

AHEAD = 2
"""Batches for each worker that are on their way, so that none waits."""


POLL_SECONDS = 1.0
"""How often to look whether an executor that says nothing can be reached."""

WITHDRAWN = 5
"""How often an executor may take back the same task: while it finds its scheduler again, for example."""

Plain = list[dict[str, Any]]


def drive(
    tasks: Iterable[Task], executor: Executor, workers: int, *, together: int = LARGEST_BATCH
) -> Iterator[list[Answer]]:
    """The answers to all tasks, in groups, as they come.

    ``together``: the most tasks of a batch. A batch whose worker is lost is tried once more, its tasks one by one; one
    that is lost again is `How.LOST`, as long as the executor does other work. Tasks are taken from the iterable when
    there is a worker for them. Raises `DiagnosticError` where the executor itself is lost: what comes of the tasks that
    it had is not known.
    """
    waiting = iter(tasks)
    second: deque[Task] = deque()  # those that came back once
    struck: set[str] = set()  # those whose worker was lost once
    withdrawn: Counter[str] = Counter()
    flying: dict[Future[Plain], list[Task]] = {}
    asked: dict[Future[Plain], Answer] = {}  # whether the executor does work at all, and what it means if so
    size, spent, done = 1, 0.0, 0

    def finished() -> list[Answer]:
        """Whatever else is there, for the end."""
        found = []
        for future, batch in flying.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                with suppress(_UnreadableError):
                    found += _answers(future, batch)
        return found

    while True:
        trouble: object = ""
        try:
            while len(flying) < AHEAD * workers:
                batch = [second.popleft()] if second else list(islice(waiting, min(size, together)))
                if not batch:
                    break
                flying[_submit(executor, batch)] = batch
            if not flying and not asked:
                return
            ready, _ = wait([*flying, *asked], POLL_SECONDS, FIRST_COMPLETED)
            if not ready and isinstance(executor, Remote):
                trouble = executor.gone()
        except _LostError as error:
            ready, trouble = set(), error
        for future in ready:
            batch, verdict = flying.pop(future, []), asked.pop(future, None)
            answers: list[Answer] = []
            try:
                answers = _answers(future, batch)
                if verdict is not None:
                    answers = [verdict]
            except (KeyboardInterrupt, SystemExit):
                raise
            except (CancelledError, BrokenExecutor) as error:  # no task can help it
                second.extend(batch)
                withdrawn.update(task.id for task in batch)
                if verdict is not None or any(withdrawn[task.id] >= WITHDRAWN for task in batch):
                    trouble = repr(error)
            except Exception as error:  # whatever the executor raises where a worker dies
                again = [task for task in batch if task.id not in struck]
                second.extend(again)
                if verdict is not None or (isinstance(error, StartError) and not again):
                    trouble = error
                else:
                    try:
                        asked.update((_submit(executor, []), _gone(t, error)) for t in batch if t.id in struck)
                    except _LostError as why:
                        trouble = why
                struck.update(task.id for task in batch)
            if answers:
                spent += sum(a.seconds for a in answers)
                done += len(answers)
                size = max(1, min(LARGEST_BATCH, int(BATCH_SECONDS * done / max(spent, 1e-9))))
                yield answers
        if trouble:
            if rest := finished():
                yield rest
            raise lost(trouble)


class _LostError(Exception):
    """The executor takes no work any more."""


class _UnreadableError(Exception):
    """What a worker says is no list of the answers to its tasks."""


def _submit(executor: Executor, batch: Sequence[Task]) -> Future[Plain]:
    try:
        return executor.submit(work_batch, [task.as_plain() for task in batch])
    except Exception as error:  # of many kinds: it is shut down, or broken, or cannot be reached
        raise _LostError(f"{type(error).__name__}: {error}") from None


def _answers(future: Future[Plain], batch: Sequence[Task]) -> list[Answer]:
    """What came of a batch. Raises `_UnreadableError`, and whatever the executor raises where a worker dies."""
    entries = future.result()
    try:
        answers = [read_answer(entry) for entry in entries]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise _UnreadableError(f"malformed reply: {error}") from None
    if [a.id for a in answers] != [task.id for task in batch]:
        raise _UnreadableError("malformed reply: it is about other tasks")
    return answers


def _gone(task: Task, error: BaseException) -> Answer:
    how = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return Answer(task.id, How.LOST, message=f"its worker was lost twice: {how}", attempt=2)
