"""A process that works on tasks one after the other: messages in on stdin, messages out on stdout.

Started by `ptokit.workers.minder`, which ends it where a task takes too long. What tasks print goes nowhere. It leads a
group of its own, and takes all processes that tasks have started along when it ends, or when the one that started it is
gone.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
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
    most = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    resource.setrlimit(resource.RLIMIT_AS, (limit if 0 < limit < most else hard, hard))


WATCH_SECONDS = 0.5
"""How often to look whether the process that started this one is there."""


def _end_group() -> None:
    """End this process and all of its group."""
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def _watch(parent: int) -> None:
    """A task that runs would not notice that nobody waits for it any more."""
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
    _end_group()


def main() -> None:
    """Answer every task until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent answers it
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # tasks, and what they start, cannot disturb the messages
        os.dup2(nowhere, stream)
    sys.path.insert(0, "")  # functions that tasks name may stand in the folder where the work was started
    from .minder import How, receive, send, work_on

    send(answers, "ready")
    while (message := receive(messages)) is not None:
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
            json.dumps(value)
        except Exception as error:  # one task must not end the others
            answer = {"how": How.FAILED, "message": " ".join(f"{type(error).__name__}: {error}".split())[:500]}
            out = []
        with suppress(OSError):  # the other end is gone, which the next message tells, too
            send(answers, {**answer, "seconds": time.perf_counter() - start}, out)
    _end_group()


if __name__ == "__main__":
    main()
