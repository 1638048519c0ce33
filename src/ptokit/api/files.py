"""Kernels in Python and C++ files: ``kernels.py:name``, ``kernels.cpp:name``, and `cpp`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import ptokit
from ptokit.asm.text.lexer import read_text
from ptokit.cpp.compiler import CORES, Options
from ptokit.cpp.kernels import CppFile, CppKernel
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity, UsageError
from ptokit.ir.core import Module
from ptokit.lang import rules
from ptokit.lang.kernels import Kernel
from ptokit.lang.mistakes import as_finding, said_by
from ptokit.lang.params import arrays_in
from ptokit.lang.rules import refusal
from ptokit.lang.source import tree_of
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.values import in_python

from .parts import find_target, one_of
from .program import Origin, Source, Text, split

if TYPE_CHECKING:
    from ptokit.cpp.replay import SuiteReport
    from ptokit.prove.report import Proof
    from ptokit.run import Program as Compiled
    from ptokit.sanitize import Report
    from ptokit.timing.report import Timing


# Kernels in Python files: ``kernels.py:name``.


class PythonKernel(Origin):
    """A kernel, and what it is called with."""

    called = True

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
            found.extend(at_the_kernel(kernel, d) for d in error.diagnostics)
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
            raise DiagnosticError(at_the_kernel(self.kernel, d) for d in error.diagnostics) from None
        return [bound[name] for name in bound if not self.kernel.parameters.is_static(name)]


def kernels_at(path: str, name: str = "") -> list[PythonKernel] | list[Text]:
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
        return [Text(file, None, found)]
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
        return [Text(file, None, found)]
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


def at_the_kernel(kernel: Kernel, finding: Diagnostic) -> Diagnostic:
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


# Kernels in C++ files: as programs for the other functions, and `cpp`, which compiles a file to launch its kernels.


@dataclass
class Stated:
    """How files are compiled where nobody says otherwise: what the options of the command say."""

    include: list[str] = field(default_factory=list)
    define: list[str] = field(default_factory=list)
    core: str = ""
    entry: str = ""


stated = Stated()


@dataclass(frozen=True)
class CppProgram(Origin):
    """A C++ file as a program: all of its kernels, or the one that is named, or has to be the only one."""

    file: str
    name: str = ""
    options: Options = Options()
    core: str = ""
    every: bool = True

    def single(self) -> CppProgram:
        """The kernel that is named, or has to be the only one."""
        return replace(self, every=False)

    def compiled(self, target: Target) -> CppFile:
        """The file compiled for a target. Raises `DiagnosticError` for what the compiler refuses."""
        instances = (self.name,) if "<" in self.name else ()
        options = Options(self.options.include, self.options.define, (*self.options.instances, *instances))
        return CppFile(self.file, target, options, self.core)

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The kernels for a target; without one nothing, since C++ states none."""
        if target is None:
            return Source(self.file, None, Module(file=self.file, text=False), origin=self)
        found = Diagnostics()
        module = Module(attrs={"pto.target_arch": target.arch}, file=self.file, text=False)
        try:
            file = self.compiled(target)
            found.extend(file.warnings)
            for kernel in file.kernels if self.every and not self.name else [file.kernel(self.name)]:
                _lift(file, kernel, module, found)
            if not file.kernels and not self.name:
                file.kernel()
        except DiagnosticError as error:
            found.extend(error.diagnostics)
        return Source(self.file, None, module, found, self, target)


def _lift(file: CppFile, kernel: CppKernel, module: Module, found: Diagnostics) -> None:
    try:
        module.functions += file.module(kernel).functions
    except DiagnosticError as error:
        found.extend(error.diagnostics)


def program_at(path: str, entry: str | None = None) -> CppProgram:
    """The program that a path names: ``kernel.cpp``, or ``kernel.cpp:NAME`` for one kernel."""
    file, named = split(path)
    if entry and named and entry != named:
        raise UsageError(f"{path} names the kernel {named} already.", "entry")
    options = Options(tuple(stated.include), tuple(stated.define))
    return CppProgram(file, named or entry or stated.entry, options, stated.core)


def listed(path: str, target: str, found: Diagnostics) -> Iterator[str]:
    """The kernels of a file, a line each; what is wrong with the file or a kernel goes to `found`."""
    program = program_at(path)
    chosen = find_target(target)
    assert chosen is not None
    try:
        file = program.compiled(chosen)
        kernels = [file.kernel(program.name)] if program.name else file.kernels
        if not kernels:
            file.kernel()
    except DiagnosticError as error:
        found.extend(error.diagnostics)
        return
    for kernel in kernels:
        try:
            module = file.module(kernel)
        except DiagnosticError as error:
            found.extend(error.diagnostics)
            continue
        entry, *parts = module.functions
        cores = " and ".join(part.core for part in parts) or entry.core
        params = ", ".join(f"{in_python(p.type)} {p.name}" for p in entry.params)
        yield f"{kernel.name}({params}){f'  on {cores} cores' if cores else ''}"


def replayed(
    folder: str, target: str, names: Sequence[str], sanitize: bool, progress: Callable[[int, int], None]
) -> SuiteReport:
    """A suite of device tests replayed, as `ptokit.cpp.replay.replay`: its code is executed."""
    from ptokit.cpp.replay import replay

    chosen = find_target(target)
    assert chosen is not None
    return replay(folder, chosen, include=stated.include, names=names, sanitize=sanitize, progress=progress)


def cpp(
    path: str | os.PathLike[str],
    *,
    target: str | Target,
    include: Sequence[str | os.PathLike[str]] = (),
    define: Sequence[str] = (),
    core: str = "",
) -> CppKernels:
    """The kernels of a C++ file: ``ptokit.cpp("gemm.cpp", target="a2a3")["Gemm<float, 64>"][blocks](c, a, b)``.

    ``include``: folders of headers; ``define``: macros, ``NAME`` or ``NAME=VALUE``. ``core``: ``vector`` or ``cube``
    for files that are of one kind of core, ``mix`` for both; by default what the file is. Nothing of the file is
    executed but on ptokit's machine. Raises `DiagnosticError` (CPP-*), `UsageError` for an unknown target.
    """
    if core:
        one_of(core, (*CORES, "mix"), "core")
    chosen = find_target(target)
    if chosen is None:
        raise UsageError("a file in C++ states no target.", "target")
    return CppKernels(os.fspath(path), chosen, Options(tuple(os.fspath(each) for each in include), tuple(define)), core)


class CppKernels:
    """The kernels of a file, by their names; a template by its name with arguments."""

    def __init__(self, file: str, target: Target, options: Options, core: str) -> None:
        self.file, self.target, self.options, self.core = file, target, options, core

    @cached_property
    def _compiled(self) -> CppFile:
        return CppFile(self.file, self.target, self.options, self.core)

    def __getitem__(self, name: str) -> CppLaunchable:
        """The kernel with that name. Raises `DiagnosticError` (CPP-KERNEL, CPP-COMPILE)."""
        if "<" not in name or any(_plain(name) == _plain(k.name) for k in self._compiled.kernels):
            return CppLaunchable(self._compiled, self._compiled.kernel(name))
        options = Options(self.options.include, self.options.define, (*self.options.instances, name))
        file = CppFile(self.file, self.target, options, self.core)
        return CppLaunchable(file, file.kernel(name))

    def __iter__(self) -> Iterator[str]:
        return (kernel.name for kernel in self._compiled.kernels)

    def __len__(self) -> int:
        return len(self._compiled.kernels)

    def __repr__(self) -> str:
        return f"<kernels of {self.file} for {self.target.name}>"


def _plain(name: str) -> str:
    return re.sub(r"\s+", "", name)


Pieces = list[tuple[np.ndarray, np.ndarray]]
"""Arrays of a list of words, each with its bytes in the memory that was made of the list."""


class CppLaunchable(Origin):
    """A kernel of a C++ file: ``k[blocks](x, y, n)`` launches it; None is a null pointer. It is a program, too.

    Arrays are used in place, those of NumPy and what others share by ``__array_interface__`` or DLPack.

    A list or tuple is memory of 64-bit words, each a number, or the address of an array or of another list: the
    arguments of kernels that get them in memory, ``k([[x, x.nbytes], [y, y.nbytes], 128])``. All that a list points to
    is one memory for the sanitizer, so that bounds between its arrays are not checked.
    """

    def __init__(self, file: CppFile, kernel: CppKernel) -> None:
        self.file, self.compiled, self.kernel = file.file, file, kernel
        self.name, self.target = kernel.name, file.target
        self._programs: dict[frozenset[int], Compiled] = {}  # by the parameters that are null pointers

    @cached_property
    def module(self) -> Module:
        """The kernel as operations. Raises `DiagnosticError` for what cannot be lifted."""
        return self.compiled.module(self.kernel)

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The kernel as a program; for another target it is compiled anew."""
        if target not in (None, self.target):
            return CppProgram(self.file, self.name, self.compiled.options, self.compiled.core).read(target)
        found, module = Diagnostics(self.compiled.warnings), Module(file=self.file, text=False)
        try:
            module = self.compiled.module(self.kernel)
        except DiagnosticError as error:
            found.extend(error.diagnostics)
        return Source(self.file, None, module, found, self, self.target)

    @cached_property
    def program(self) -> Compiled:
        """The kernel checked and compiled. Raises `DiagnosticError`."""
        return self._compiled(frozenset())

    def _compiled(self, null: frozenset[int]) -> Compiled:
        from ptokit.run import compile_program

        found = self._programs.get(null)
        if found is None:
            module = self.compiled.module(self.kernel, null) if null else self.module
            found = self._programs[null] = compile_program(module, self.target)
        return found

    def __getitem__(self, blocks: int) -> Any:
        """The kernel for a number of blocks."""
        return lambda *args, **how: self._launch(args, blocks, how)

    def __call__(self, *args: Any, **how: Any) -> None:
        """Launch one block; ``how``: as for `Program.launch`, and on how many devices, ``ranks``."""
        self._launch(args, 1, how)

    def _launch(self, args: Sequence[Any], blocks: int, how: dict[str, Any]) -> None:
        ranks = how.pop("ranks", None)
        program, given, pieces = self._bound(args, ranks is None)
        if ranks is None:
            program.launch(given, blocks, **how)
            for array, there in pieces:
                if array.flags.writeable:
                    np.copyto(array, there.view(array.dtype).reshape(array.shape))
            return
        from ptokit.run.arguments import divided

        program.launch_ranks(divided(program.entry, given, ranks), blocks, **how)

    def _bound(self, args: Sequence[Any], nested: bool = True) -> tuple[Compiled, list[Any], Pieces]:
        """The kernel for the null pointers among its arguments, what it is launched with, and the arrays in lists."""
        from ptokit.run.tensors import constants, spans, words_in_memory

        program = self._compiled(frozenset(k for k, arg in enumerate(args) if arg is None))
        types = (*(param.dtype for param in program.params), *[None] * len(args))
        names = (*(param.name for param in program.params), *[""] * len(args))
        args = spans(arrays_in(zip(names, args)), lambda: constants(program.entry))
        given: list[Any] = []
        pieces: Pieces = []
        for k, (arg, type) in enumerate(zip(args, types)):
            if type is not None and arg is None:
                given.append(np.zeros(1, type.storage))
            elif type is not None and nested and isinstance(arg, list | tuple):
                memory, found = words_in_memory(arg, sum(other is not None for other in types[:k]))
                given.append(memory)
                pieces += found
            else:
                given.append(arg)
        return program, given, pieces

    def check(self) -> Diagnostics:
        """What the rules find in the kernel."""
        from ptokit.ir.verify import verify

        found = Diagnostics(self.compiled.warnings)
        found.extend(verify(self.module, self.target))
        return found

    def sanitize(self, *args: Any, blocks: int = 1, **options: Any) -> Report:
        """Run the kernel under observation; ``options``: as for `ptokit.sanitize`."""
        from ptokit.sanitize import sanitize

        program, given, _ = self._bound(args, not options.get("ranks"))
        return sanitize(program.module, self.target, given, blocks, **options)

    def prove(self, *, assume: Sequence[str] = (), blocks: int | None = None, limit: int | None = None) -> Proof:
        """What holds for all arguments; `ptokit.prove` says what may be assumed."""
        return ptokit.prove(self, assume=assume, blocks=blocks, limit=limit)

    def time(self, *args: Any, blocks: int = 1, **options: Any) -> Timing:
        """Time a launch; ``options``: as for `ptokit.time`. Arrays are not written."""
        return ptokit.time(self, args, blocks=blocks, **options)

    def to_pto(self) -> str:
        """The kernel as `.pto` text."""
        from ptokit.asm.convert import kernel_text

        return kernel_text(self.module, self.target)

    def to_cpp(self) -> str:
        """The kernel as a file of C++ without templates. Raises `DiagnosticError` (CPP-WRITE)."""
        from ptokit.cpp.writing.file import cpp_text

        return cpp_text(self.module, self.target)

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.file} for {self.target.name}>"
