"""What the functions for tools raise."""

from __future__ import annotations


class UsageError(ValueError):
    """A parameter has a value that cannot be meant. ``parameter`` is its name; on the command line, exit status 2."""

    def __init__(self, message: str, parameter: str) -> None:
        super().__init__(message)
        self.parameter = parameter
