"""Kernels in C++ files: as programs for the other functions, and `cpp`, which compiles a file to launch its kernels."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ptokit.cpp.compiler import CORES, Options
from ptokit.cpp.kernels import CppFile, CppKernel
from ptokit.diagnostics import DiagnosticError, Diagnostics
from ptokit.ir.core import Module
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.in_python import in_python

from .errors import UsageError
from .parts import find_target, one_of
from .program import Source, split

if TYPE_CHECKING:
    from ptokit.cpp.replay import SuiteReport
    from ptokit.run import Program as Compiled
    from ptokit.sanitize import Report


@dataclass
class Stated:
    """How files are compiled where nobody says otherwise: what the options of the command say."""

    include: list[str] = field(default_factory=list)
    define: list[str] = field(default_factory=list)
    core: str = ""
    entry: str = ""


stated = Stated()


@dataclass(frozen=True)
class CppProgram:
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

    def read(self, target: Target | None) -> Source:
        """The kernels for a target; without one nothing, since C++ states none."""
        if target is None:
            return Source(self.file, None, Module(file=self.file, text=False), origin=self)
        found = Diagnostics()
        module = Module(attrs={"pto.target_arch": target.arch}, file=self.file, text=False)
        try:
            file = self.compiled(target)
            for kernel in file.kernels if self.every and not self.name else [file.kernel(self.name)]:
                _lift(file, kernel, module, found)
            if not file.kernels:
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


def replayed(folder: str, target: str, names: Sequence[str], sanitize: bool) -> SuiteReport:
    """A suite of device tests replayed, as `ptokit.cpp.replay.replay`: its code is executed."""
    from ptokit.cpp.replay import replay

    chosen = find_target(target)
    assert chosen is not None
    return replay(folder, chosen, include=stated.include, names=names, sanitize=sanitize)


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


class CppLaunchable:
    """A kernel of a C++ file: ``k[blocks](x, y, n)`` launches it, arrays are used in place."""

    def __init__(self, file: CppFile, kernel: CppKernel) -> None:
        self.file, self.kernel = file, kernel
        self.name, self.target = kernel.name, file.target

    @cached_property
    def module(self) -> Module:
        """The kernel as operations. Raises `DiagnosticError` for what cannot be lifted."""
        return self.file.module(self.kernel)

    @cached_property
    def program(self) -> Compiled:
        """The kernel checked and compiled. Raises `DiagnosticError`."""
        from ptokit.run import compile_program

        return compile_program(self.module, self.target)

    def __getitem__(self, blocks: int) -> Any:
        """The kernel for a number of blocks."""
        return lambda *args, **how: self.program.launch(args, blocks, **how)

    def __call__(self, *args: Any, **how: Any) -> None:
        """Launch one block; ``how``: as for `Program.launch`."""
        self.program.launch(args, 1, **how)

    def check(self) -> Diagnostics:
        """What the rules find in the kernel."""
        from ptokit.ir.verify import verify

        return verify(self.module, self.target)

    def sanitize(self, *args: Any, blocks: int = 1, **options: Any) -> Report:
        """Run the kernel under observation; ``options``: as for `ptokit.sanitize`."""
        from ptokit.sanitize import sanitize

        return sanitize(self.module, self.target, args, blocks, **options)

    def to_pto(self) -> str:
        """The kernel as `.pto` text."""
        from ptokit.asm.convert import kernel_text

        return kernel_text(self.module, self.target)

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.file.file} for {self.target.name}>"
