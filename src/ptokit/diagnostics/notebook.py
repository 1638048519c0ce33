"""Diagnostics in a notebook: the findings with their lines, and only the user's own part of the traceback."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from types import TracebackType

from .finding import Diagnostic
from .shown import text_of

_MACHINERY = ("ptokit", "IPython", "ipykernel", "runpy", "asyncio", "contextlib")


def notebook_lines(trace: TracebackType | None, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Lines to show for an error: how the user's code got there, if through several calls, and every finding."""
    calls = _user_calls(trace)
    lines = [f"{call.filename}:{call.lineno}: in {call.name}" for call in calls] if len(calls) > 1 else []
    return [*lines, *text_of(diagnostics, color=True).splitlines()]


def _user_calls(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    """The calls outside of ptokit and of the notebook itself, outermost first."""
    frames = []
    for frame, line in traceback.walk_tb(trace):
        module = frame.f_globals.get("__name__", "")
        if module.split(".")[0] not in _MACHINERY:
            frames.append(
                traceback.FrameSummary(frame.f_code.co_filename, line, frame.f_code.co_name, lookup_line=False)
            )
    return frames
