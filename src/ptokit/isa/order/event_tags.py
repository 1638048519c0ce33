"""Names of operations in events and the pipe of each: the library's tags, the assembler's classes.

Source: memory-model-and-sync 2.1, assembly 8.
"""

from __future__ import annotations

from ptokit.targets import A5, Target
from ptokit.types.enums import Pipe

from ..checks.cores import pipe_on
from ..table import TABLE

TAG_PIPE: dict[str, Pipe] = {
    **dict.fromkeys(("TEXPANDS_MAT", "TFILLPAD_MAT", "MGATHER_MAT"), Pipe.MTE2),
    **dict.fromkeys(("TSTORE_VEC", "TSTORE_MAT"), Pipe.MTE3),
    **dict.fromkeys(
        "TSTORE_ACC TMOV_A2V TMOV_A2M TMOV_V2M TMOV_M2S TEXTRACT_A2M TEXTRACT_V2M TINSERT_A2M".split(), Pipe.FIX
    ),
    **dict.fromkeys("TMOV_M2L TMOV_M2R TMOV_M2B TEXTRACT_M2LR TIMG2COL".split(), Pipe.MTE1),
    **dict.fromkeys(("TMATMUL", "TGEMV"), Pipe.M),
    **dict.fromkeys("SCALAR TRESHAPE TCI SETFMATRIX SET_IMG2COL_RPT SET_IMG2COL_PADDING".split(), Pipe.S),
    **dict.fromkeys("VECTOR TMOV_V2V TEXPANDS TFILLPAD_VEC MGATHER_VEC MSCATTER TPAIRREDUCESUM".split(), Pipe.V),
}
"""Tags that are not the name of one instruction with one pipe."""

BETWEEN_CORES = frozenset(("TMOV_A2V", "TMOV_V2M", "TEXTRACT_V2M"))
"""Source operations of events between cores (memory-model-and-sync 5.1)."""


def tag_pipe(tag: str) -> Pipe | None:
    """The pipe of an operation tag; None if there is no such tag, or it names instructions of several pipes."""
    found = TAG_PIPE.get(tag)
    if found is None and tag in TABLE:
        pipe = TABLE[tag].pipe
        found = pipe if isinstance(pipe, Pipe) else None
    return None if found is Pipe.ALL else found


EVENT_CLASSES = tuple(
    "TLOAD TSTORE_VEC TSTORE_ACC TMOV_M2L TMOV_M2B TMOV_M2S TMOV_M2V TMOV_V2M TMATMUL TVEC TVECWAIT_EVENT".split()
)
"""Operation classes of record_event, wait_event, barrier_sync, get_buf and rls_buf (assembly 8)."""

_NO_TAGS = dict.fromkeys(("TMOV_M2V", "TVEC", "TVECWAIT_EVENT"), Pipe.V)
_PIPES = {pipe.text: pipe for pipe in Pipe}


def class_pipe(word: str | None, core: str = "") -> Pipe | None:
    """The pipe a class (or a pipe's own name) stands for on a kind of core; None if it stands for none."""
    if word not in EVENT_CLASSES:
        return None if word is None else _PIPES.get(word)
    pipe = _NO_TAGS.get(word) or tag_pipe(word)
    return pipe_on(pipe, core) if word == "TMOV_V2M" and pipe is not None else pipe


def between_cores(src: str, dst: Pipe, target: Target) -> bool:
    """True if an event from operation `src` to a pipe crosses cores (memory-model-and-sync 5.1)."""
    if target.is_a(A5):
        return src in BETWEEN_CORES
    return (src == "TMOV_A2V" and dst is Pipe.V) or (src in ("TMOV_V2M", "TEXTRACT_V2M") and dst is Pipe.MTE1)
