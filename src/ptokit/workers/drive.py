"""Tasks to an executor, answers back: batches that take a moment each, a bounded number on their way at a time."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from itertools import islice
from typing import Any

from .executors import Remote, lost
from .minder import StartError, work_batch
from .task import Answer, How, Task, read_answer

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
