"""`format` and `convert`: texts laid out anew, and in other forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.diagnostics import DiagnosticError, Diagnostics
from ptokit.records import dataclass
from ptokit.types.choices import TextForm

from .errors import UsageError
from .parts import one_of
from .program import PYTHON, Program
from .source import At, Text, origin, read, text_at

if TYPE_CHECKING:
    from ptokit.targets import Target

FORMS = tuple(TextForm)
"""Text forms of a program."""


@dataclass(frozen=True)
class Rewritten:
    """A new text, or None and the findings that say why; ``file`` is where the old one was."""

    file: str
    old: str | None
    text: str | None
    diagnostics: Diagnostics

    def text_or_raise(self) -> str:
        """The text. Raises `DiagnosticError` where there is none."""
        if self.text is None:
            raise DiagnosticError(self.diagnostics.sorted())
        return self.text


def format(program: Program) -> str:
    """The text of a program laid out anew: one operation per line, indented, comments kept.

    Only blanks, line breaks and the places of comments change. Raises `DiagnosticError` for a text that cannot be read.
    """
    return formatted(program).text_or_raise()


def formatted(program: Program) -> Rewritten:
    """`format`, with the findings."""
    from ptokit.asm.format import format_text

    path = program.path if isinstance(program, At) else program
    if isinstance(path, str) and path.endswith(PYTHON):
        raise UsageError(f"{path} is Python; what is laid out is .pto text.", "file")
    source = text_at(path) if isinstance(program, At) else origin(program)
    if not isinstance(source, Text):
        raise TypeError("what is laid out is .pto text")
    if source.text is None:
        return Rewritten(source.file, None, None, source.found)
    result = format_text(source.text, source.file)
    return Rewritten(source.file, source.text, result.text, result.diagnostics)


def convert(program: Program, form: str, *, target: str | Target | None = None) -> str:
    """The text of a program in another form: ``dps``, ``ssa``, ``sync`` or ``generic``.

    It means the same program. ``target``: of a program that states none. Raises `DiagnosticError` for a program
    with errors, and where the form cannot express something in it; `UsageError` for a form that there is not.
    """
    return converted(program, form, target).text_or_raise()


def converted(program: Program, form: str, target: str | Target | None = None) -> Rewritten:
    """`convert`, with the findings."""
    from ptokit.asm.convert import convert as printed
    from ptokit.asm.convert import kernel_text

    one_of(form, FORMS, "form")
    source = read(program, target=target)
    if source.diagnostics.errors:
        return Rewritten(source.file, source.text, None, source.diagnostics)
    if not source.module.text:
        kernel_text(source.module, source.target_or(None))
    result = printed(source.module, form)
    found = Diagnostics()
    found.extend([*source.diagnostics, *result.diagnostics])
    return Rewritten(source.file, source.text, result.text, found)
