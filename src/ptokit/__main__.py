"""``python -m ptokit`` is the ``ptokit`` command."""

import os
import signal

INTERRUPTED = 130


def _leave(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)


_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _interruptible and __name__ in ("__main__", "ptokit.__main__"):
    signal.signal(signal.SIGINT, _leave)  # while modules are imported there is nothing to tidy up


def main() -> None:
    """Run the command line, see `ptokit.cli.main`."""
    import gc

    from ptokit.cli.collector import spare_start

    spare_start()  # before anything large is imported

    from ptokit.cli import main as command

    if _interruptible:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command.main()
    finally:
        if _interruptible:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and the status is known
        gc.freeze()  # the process ends: what is left need not be searched for cycles


if __name__ == "__main__":
    main()
