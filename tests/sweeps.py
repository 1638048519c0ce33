"""Sweeps over all 2**32 numbers, in parts on all cores, or on the executor that PTOKIT_TEST_EXECUTOR names."""

from __future__ import annotations

import os
from typing import Any

from ptokit.workers.executors import cores, drive, open_executor
from ptokit.workers.minder import How, Task

PART = 1 << 22


def swept(call: str, **given: Any) -> list[int]:
    """What ``call`` finds, sorted: a function ``module:name`` that gets ``given`` and the ``start`` of each part."""
    found: list[int] = []
    tasks = (Task(str(start), call, {**given, "start": start}) for start in range(0, 1 << 32, PART))
    with open_executor(os.environ.get("PTOKIT_TEST_EXECUTOR", "processes"), cores()) as (executor, workers):
        for answers in drive(tasks, executor, workers):
            for answer in answers:
                assert answer.how is How.DONE, answer.message
                found += answer.value
    return sorted(found)
