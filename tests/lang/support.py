"""Helpers of the tests of the Python front end."""

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import ptokit as pto
from ptokit import DiagnosticError, f32
from ptokit.diagnostics import CATALOGUE, Diagnostic
from ptokit.ir import Op, Value


def kernel(function: Callable[..., None]) -> pto.Kernel:
    """The function as a kernel for a5."""
    return pto.kernel(target="a5")(function)


def ops(kernel: pto.Kernel, name: str = "") -> list[Op]:
    """Operations of the kernel, nested ones included, whose name begins with `name`."""
    body = kernel.trace().functions[0].body
    return [op for op in body.walk() if op.name.startswith(name)]


def constant(value: Value | None) -> Any:
    """The number of a constant."""
    assert value is not None
    assert isinstance(value.owner, Op)
    assert value.owner.name == "arith.constant"
    return value.owner.attrs["value"]


def finding_of(run: Callable[[], Any]) -> Diagnostic:
    """The only finding of an error that `run` raises."""
    with pytest.raises(DiagnosticError) as caught:
        run()
    (finding,) = caught.value.diagnostics
    assert finding.rule in CATALOGUE
    return finding


def refusal(run: Callable[[], Any]) -> Diagnostic:
    """The only finding of an error that `run` raises, in the file that holds `run`."""
    finding = finding_of(run)
    assert finding.location.file == run.__code__.co_filename
    return finding


def marked(function: Callable[..., Any]) -> int:
    """Line of the mark ``# here`` in a function."""
    lines, start = inspect.getsourcelines(function)
    (line,) = (start + i for i, text in enumerate(lines) if text.rstrip().endswith("# here"))
    return line


def check(function: Callable[..., None], rule: str, words: str, *args: Any) -> Diagnostic:
    """The one finding of a trace: its rule, a part of its message, and its place."""
    traced = kernel(function)
    finding = finding_of(lambda: traced.trace(*(args or (f32, f32, 8))))
    assert finding.rule == rule
    assert words in finding.message
    assert finding.location.line == marked(function)
    assert finding.location.file == function.__code__.co_filename
    return finding


_TEXT = re.compile(
    r"%[A-Za-z_?]|!pto\.|memref<|tensor_view|alloc_tile|\b(scf|arith|func)\.|row_major|col_major|EVENT_ID"
)
_NAME = re.compile(r"\bpto\.([a-z]\w*)")


def words_of_text(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """What findings say in the language of `.pto` text: names with %, types, operations that Python does not have."""
    said = [text for d in diagnostics for text in (d.message, d.hint or "", *(note.message for note in d.notes))]
    return [t for t in said if _TEXT.search(t) or not all(hasattr(pto, name) for name in _NAME.findall(t))]
