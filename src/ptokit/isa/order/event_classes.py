"""Classes of operations that events and tokens name, and the pipe of each (memory-model-and-sync 2.1, assembly 8)."""

from __future__ import annotations

from ptokit.types.enums import Pipe

from ..cores import pipe_on

EVENT_CLASS_PIPE: dict[str, Pipe] = {
    "TLOAD": Pipe.MTE2,
    "TSTORE_VEC": Pipe.MTE3,
    "TSTORE_ACC": Pipe.FIX,
    "TMOV_M2L": Pipe.MTE1,
    "TMOV_M2B": Pipe.MTE1,
    "TMOV_M2S": Pipe.FIX,
    "TMOV_M2V": Pipe.V,
    "TMOV_V2M": Pipe.FIX,
    "TMATMUL": Pipe.M,
    "TVEC": Pipe.V,
    "TVECWAIT_EVENT": Pipe.V,
}
"""Pipe of each operation class of record_event, wait_event, barrier_sync, get_buf and rls_buf (assembly 8)."""

_PIPES = {pipe.text: pipe for pipe in Pipe}


def class_pipe(word: str | None, core: str = "") -> Pipe | None:
    """The pipe a class (or a pipe's own name) stands for on a kind of core; None if it stands for none."""
    if word is None:
        return None
    pipe = EVENT_CLASS_PIPE.get(word) or _PIPES.get(word)
    return pipe_on(pipe, core) if word == "TMOV_V2M" and pipe is not None else pipe
