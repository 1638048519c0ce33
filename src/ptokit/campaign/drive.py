"""Cases to an executor, results back: batches that take a moment each, a bounded number on their way at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from typing import Any

from .case import Case, Result, Status, read_result
from .minder import work_batch

BATCH_SECONDS = 0.25
"""How long a batch should take: long against the way there and back, short against a campaign."""

LARGEST_BATCH = 256

AHEAD = 2
"""Batches for each worker that are on their way, so that none waits."""

Batch = Sequence[Case]


def drive(cases: Sequence[Case], executor: Executor, workers: int) -> Iterator[list[Result]]:
    """The results of all cases, in groups, as they come.

    A batch whose worker is lost is tried once more, its cases one by one; one that is lost again is `Status.LOST`.
    """
    waiting = deque(cases)
    second: deque[Case] = deque()  # those that were lost once
    lost: set[str] = set()
    flying: dict[Future[list[dict[str, Any]]], Batch] = {}
    size, spent, done = 1, 0.0, 0
    while waiting or second or flying:
        while (waiting or second) and len(flying) < AHEAD * workers:
            batch: Batch = [second.popleft()] if second else [waiting.popleft() for _ in range(min(size, len(waiting)))]
            flying[executor.submit(work_batch, [case.as_json() for case in batch])] = batch
        ready, _ = wait(list(flying), return_when=FIRST_COMPLETED)
        for future in ready:
            batch = flying.pop(future)
            try:
                results = [read_result(entry) for entry in future.result()]
            except (KeyboardInterrupt, SystemExit):
                raise
            except (Exception, CancelledError) as error:  # whatever the executor raises where a worker dies
                second.extend(case for case in batch if case.id not in lost)
                results = [_gone(case, error) for case in batch if case.id in lost]
                lost.update(case.id for case in batch)
            if results:
                spent += sum(r.seconds for r in results)
                done += len(results)
                size = max(1, min(LARGEST_BATCH, int(BATCH_SECONDS * done / max(spent, 1e-9))))
                yield results


def _gone(case: Case, error: BaseException) -> Result:
    how = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return Result(case.id, Status.LOST, f"its worker was lost twice: {how}", attempt=2)
