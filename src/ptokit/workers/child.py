"""A process that works on tasks one after the other: messages in on stdin, messages out on stdout.

Started by `ptokit.workers.minder`, which ends it where a task takes too long. What tasks print goes nowhere.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module


def _limit_memory(limit: int) -> None:
    """Let allocations beyond `limit` bytes of address space fail; without effect where the system has no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit or hard, hard))


def main() -> None:
    """Answer every task until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent answers it
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.path.insert(0, "")  # functions that tasks name may stand in the folder where the work was started
    from .task import How, work_on
    from .wire import receive, send

    send(answers, "ready")
    while (message := receive(sys.stdin.buffer)) is not None:
        task, data = message
        if "import" in task:
            with suppress(Exception):  # the call will say what is wrong
                import_module(task["import"])
            send(answers, None)
            continue
        _limit_memory(task["memory"])
        start = time.perf_counter()
        out: list[bytes] = []
        try:
            value, out = work_on(task["call"], task["given"], data)
            answer = {"how": How.DONE, "value": value}
        except Exception as error:  # one task must not end the others
            answer = {"how": How.FAILED, "message": " ".join(f"{type(error).__name__}: {error}".split())[:500]}
        send(answers, {**answer, "seconds": time.perf_counter() - start}, out)


if __name__ == "__main__":
    main()
