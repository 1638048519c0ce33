"""Exit statuses of the command line (docs/cli.md)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EXIT_ERRORS = 1
"""The input was refused."""

EXIT_UNCHECKED = 3
"""`sanitize` found nothing, and did not check everything."""

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


@contextmanager
def said_when_interrupted(kept: Callable[[], str]) -> Iterator[None]:
    """Ends the command with `EXIT_INTERRUPTED` at Ctrl-C, and says what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\nptokit: interrupted: {kept()}\n")
        sys.exit(EXIT_INTERRUPTED)
