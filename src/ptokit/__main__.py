"""``python -m ptokit`` is the ``ptokit`` command."""

from __future__ import annotations

import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130


def _leave(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise `KeyboardInterrupt`; but not inside of an import, which libraries would report as an error of their own."""
    inner = frame
    while inner is not None:
        if inner.f_code.co_filename.startswith("<frozen importlib"):
            _leave(number, frame)
        inner = inner.f_back
    raise KeyboardInterrupt


_interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _interruptible and __name__ in ("__main__", "ptokit.__main__"):
    signal.signal(signal.SIGINT, _leave)  # while modules are imported there is nothing to tidy up


def main() -> None:
    """Run the command line, see `ptokit.cli.main`."""
    import gc

    from ptokit.cli.main import spare_start

    spare_start()  # before anything large is imported

    from ptokit.cli import main as command

    if _interruptible:
        signal.signal(signal.SIGINT, _interrupt)
    try:
        command.main()
    finally:
        if _interruptible:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done, and the status is known
        gc.freeze()  # the process ends: what is left need not be searched for cycles


if __name__ == "__main__":
    main()
