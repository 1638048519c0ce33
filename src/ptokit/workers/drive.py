"""Tasks to an executor, answers back: batches that take a moment each, a bounded number on their way at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from itertools import islice
from typing import Any

from .minder import work_batch
from .task import Answer, How, Task, read_answer

BATCH_SECONDS = 0.25
"""How long a batch should take: long against the way there and back, short against all of the work."""

LARGEST_BATCH = 256

AHEAD = 2
"""Batches for each worker that are on their way, so that none waits."""


def drive(
    tasks: Iterable[Task], executor: Executor, workers: int, *, together: int = LARGEST_BATCH
) -> Iterator[list[Answer]]:
    """The answers to all tasks, in groups, as they come.

    ``together``: the most tasks of a batch. A batch whose worker is lost is tried once more, its tasks one by one; one
    that is lost again is `How.LOST`. Tasks are taken from the iterable when there is a worker for them.
    """
    waiting = iter(tasks)
    second: deque[Task] = deque()  # those that were lost once
    lost: set[str] = set()
    flying: dict[Future[list[dict[str, Any]]], list[Task]] = {}
    size, spent, done = 1, 0.0, 0
    while True:
        while len(flying) < AHEAD * workers:
            batch = [second.popleft()] if second else list(islice(waiting, min(size, together)))
            if not batch:
                break
            flying[executor.submit(work_batch, [task.as_plain() for task in batch])] = batch
        if not flying:
            return
        ready, _ = wait(list(flying), return_when=FIRST_COMPLETED)
        for future in ready:
            batch = flying.pop(future)
            try:
                answers = [read_answer(entry) for entry in future.result()]
            except (KeyboardInterrupt, SystemExit):
                raise
            except (Exception, CancelledError) as error:  # whatever the executor raises where a worker dies
                second.extend(task for task in batch if task.id not in lost)
                answers = [_gone(task, error) for task in batch if task.id in lost]
                lost.update(task.id for task in batch)
            if answers:
                spent += sum(a.seconds for a in answers)
                done += len(answers)
                size = max(1, min(LARGEST_BATCH, int(BATCH_SECONDS * done / max(spent, 1e-9))))
                yield answers


def _gone(task: Task, error: BaseException) -> Answer:
    how = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return Answer(task.id, How.LOST, message=f"its worker was lost twice: {how}", attempt=2)
