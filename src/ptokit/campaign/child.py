"""A process that works on cases one after the other: JSON lines in on stdin, JSON lines out on stdout.

Started by `ptokit.campaign.minder`, which ends it where a case takes too long. What kernels print goes nowhere.
"""

from __future__ import annotations

import json
import os
import signal
import sys


def _limit_memory(limit: int) -> None:
    """Let allocations beyond `limit` bytes of address space fail; without effect where the system has no such limit."""
    try:
        import resource
    except ImportError:  # Windows
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit or hard, hard))


def main() -> None:
    """Answer every case until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent answers it
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    sys.path.insert(0, "")  # functions that cases name may stand in the folder where the campaign was started
    from .case import read_case
    from .work import work

    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        case = read_case(json.loads(line))
        _limit_memory(case.memory)
        answers.write(json.dumps(work(case).as_json()) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
