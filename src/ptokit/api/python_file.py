"""Kernels in Python files: ``kernels.py:name``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from ptokit.asm.text.lexer import read_text
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity
from ptokit.ir.core import Module
from ptokit.lang import rules
from ptokit.lang.kernels import Kernel
from ptokit.lang.mistakes import as_finding, said_by
from ptokit.lang.source import tree_of
from ptokit.lang.where import refusal
from ptokit.targets import Target

from .errors import UsageError
from .program import Source, split


class PythonKernel:
    """A kernel, and what it is called with."""

    def __init__(self, kernel: Kernel, file: str) -> None:
        self.kernel, self.file = kernel, file

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The kernel for a target, by default its own, and the signature of these arguments."""
        kernel = self.kernel if target is None else self.kernel.on(target)
        found = Diagnostics()
        try:
            if not args and kernel.parameters.annotated_signature() is None:
                raise DiagnosticError(_undetermined(kernel))
            module = kernel.trace(*args)
        except DiagnosticError as error:
            module = Module(file=self.file)
            found.extend(_at_the_kernel(kernel, d) for d in error.diagnostics)
        except Exception as error:  # of a raise in the kernel
            raised = as_finding(error, f"compiling kernel {kernel.name}")
            if raised is None:
                raise
            module = Module(file=self.file)
            found.extend(raised.diagnostics)
        return Source(self.file, None, module, found, self, kernel.target, self._lines())

    def _lines(self) -> range:
        """The lines of the function."""
        first = self.kernel.location.line
        tree = tree_of(self.kernel.function.__code__)
        last = max((getattr(node, "end_lineno", 0) for node in tree.body), default=first) if tree else first
        return range(first, last + 1)

    def passed(self, args: Sequence[Any]) -> list[Any]:
        """The arguments that a launch hands over: defaults filled in, without those that are compiled in."""
        try:
            bound = self.kernel.parameters.bind(tuple(args), {})
        except DiagnosticError as error:
            raise DiagnosticError(_at_the_kernel(self.kernel, d) for d in error.diagnostics) from None
        return [bound[name] for name in bound if not self.kernel.parameters.is_static(name)]


class Unusable:
    """A Python file without kernels to look at, and why."""

    def __init__(self, file: str, found: Diagnostics) -> None:
        self.file, self.found = file, found

    def read(self, target: Target | None) -> Source:
        """An empty program with the findings of reading the file."""
        return Source(self.file, None, Module(file=self.file), self.found, self)


def kernels_at(path: str, name: str = "") -> list[PythonKernel] | list[Unusable]:
    """The kernels that a path names, in the order of the file; ``name`` is another way to name one.

    The file is executed as a module: what it does under ``if __name__ == "__main__"`` is left out, and what it prints
    goes to stderr. Raises `UsageError` for a kernel that there is not.
    """
    file, named = split(path)
    if name and named and name != named:
        raise UsageError(f"{path} names the kernel {named} already.", "entry")
    named = named or name
    try:
        module = _executed(file)
    except DiagnosticError as error:
        found = Diagnostics()
        found.extend(error.diagnostics)
        return [Unusable(file, found)]
    every = {key: value for key, value in vars(module).items() if isinstance(value, Kernel)}
    own = {key: k for key, k in every.items() if k.location.file == file and key == k.function.__name__} or every
    if named:
        kernel = every.get(named) or next((k for k in every.values() if k.name == named), None)
        if kernel is None:
            raise UsageError(_no_such(file, named, list(own)), "file")
        return [PythonKernel(kernel, file)]
    if not own:
        found = Diagnostics()
        hint = 'a kernel is a function with @pto.kernel(target="a5"), at the top level of the file'
        found.error(rules.FILE.id, "there is no kernel in this file", Location(file), hint=hint)
        return [Unusable(file, found)]
    once = {id(kernel): kernel for kernel in own.values()}
    return [PythonKernel(kernel, file) for kernel in sorted(once.values(), key=lambda kernel: kernel.location.line)]


def _no_such(file: str, name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, 3)
    guess = f"\nDid you mean {' or '.join(close)}?" if close else ""
    return f"there is no kernel {name!r} in {file}.{guess}\nIt has {', '.join(known) or 'none'}."


def _undetermined(kernel: Kernel) -> Diagnostic:
    names = ", ".join(kernel.parameters.undetermined())
    message = f"kernel {kernel.name} does not say what its parameters are: {names}"
    hint = "annotate them, or give arguments, on the command line with --arg"
    return Diagnostic(rules.PARAMETER.id, Severity.ERROR, message, kernel.location, hint)


def _at_the_kernel(kernel: Kernel, finding: Diagnostic) -> Diagnostic:
    """A finding about a launch, which has no place in the file, at the kernel."""
    launch = finding.rule in (rules.ARGUMENT.id, rules.PARAMETER.id)
    return replace(finding, location=kernel.location) if launch else finding


def _executed(file: str) -> ModuleType:
    """The module that a file makes. Raises `DiagnosticError` with what it raises."""
    text, found = read_text(file)
    if text is None:
        raise DiagnosticError(found.sorted())
    module = ModuleType(_module_name(Path(file).stem))
    module.__file__ = file
    with _importable(module, Path(file).resolve().parent), redirect_stdout(sys.stderr):
        try:
            exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
        except DiagnosticError:
            raise
        except SyntaxError as error:
            raise DiagnosticError(_syntax(error, file)) from None
        except KeyboardInterrupt:  # of the user's, at the keyboard
            raise
        except BaseException as error:  # whatever a file raises, it is the file's
            raise _raised(error, file) from None
    return module


def _module_name(stem: str) -> str:
    """That of the file, unless another module has it."""
    taken = stem in sys.modules or stem in sys.stdlib_module_names or not stem.isidentifier()
    return "_kernels_of_" + stem if taken else stem


@contextmanager
def _importable(module: ModuleType, folder: Path) -> Iterator[None]:
    """Let the file import its neighbours, as Python does for a script."""
    sys.path.insert(0, str(folder))
    sys.modules[module.__name__] = module
    try:
        yield
    finally:
        sys.modules.pop(module.__name__, None)
        if str(folder) in sys.path:
            sys.path.remove(str(folder))


def _syntax(error: SyntaxError, file: str) -> Diagnostic:
    line, column = error.lineno or 0, error.offset or 1
    same = error.end_lineno in (None, error.lineno) and error.end_offset is not None
    length = max(1, (error.end_offset or 0) - column) if same else 1
    at = Location(file, line, max(1, column), length)
    return Diagnostic(rules.FILE.id, Severity.ERROR, f"this is no Python: {error.msg}", at)


def _raised(error: BaseException, file: str) -> DiagnosticError:
    """What executing the file raised."""
    found = as_finding(error, "executing the file")
    if found is not None:
        by_rule = {rules.RAISES.id: rules.FILE.id}
        return DiagnosticError(replace(d, rule=by_rule.get(d.rule, d.rule)) for d in found.diagnostics)
    said = next(iter(said_by(error).splitlines()), "")
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return refusal(rules.FILE, f"executing the file raises {what}", location=Location(file))
