"""`read`, `check`, `format` and `convert`: a program, what targets refuse in it, and its text in other forms."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from ptokit.arguments.grammar import make, read_arguments
from ptokit.diagnostics import DiagnosticError, Diagnostics, Scope, UsageError, lookup
from ptokit.diagnostics.diagnostic import html_of
from ptokit.diagnostics.finding import edited, keep_text, lines_of, together
from ptokit.ir.functions import assume, readable_functions, stated_level
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.choices import CheckKeywords, CheckOptions, TextForm

from .findings import Found, as_json, counts, labels, merged, reported, selection
from .parts import checked, find_target, keywords, one_of
from .program import CPP, PYTHON, STDIN, TEXT, Origin, Program, Source, Text, split
from .program import read_input as read_file

if TYPE_CHECKING:
    from ptokit.targets import Target


# `read`: a program as the other functions take it.


def read(program: Program, *, name: str | None = None, target: str | Target | None = None) -> Source:
    """Read a program: a path, ``-`` for stdin, a text, or a kernel in Python.

    A string with a line break is a text, any other a path. ``kernels.py:name`` is a kernel in a Python file, which is
    executed; its target is the kernel's own. ``name``: the string is a text, which findings call so.
    ``target``: what decides about block layouts that a tile type leaves open; by default the target that the text
    states. What is wrong with the text is in the result's ``diagnostics``: nothing is raised for it. Raises
    `UsageError` for an unknown target, or where a file has several kernels in Python and none is named, `TypeError`
    for what is no program.
    """
    wanted = find_target(target)
    return replace(origin(program, name).read(wanted), read_for=wanted)


def origin(program: Program, name: str | None = None, entry: str | None = None) -> Origin:
    """What a program is read from; ``entry``: the kernel of a Python file.

    Raises `TypeError` for what is no program, `UsageError` where it is not said which kernel is meant.
    """
    found = origins(program, name, entry)
    if len(found) > 1:
        file, names = found[0].file, [each.kernel.function.__name__ for each in found]
        message = f"{file} has several kernels; name one, for example {file}:{names[0]}.\nIt has {', '.join(names)}."
        raise UsageError(message, "file")
    return found[0].single()


def origins(program: Program, name: str | None = None, entry: str | None = None) -> list[Any]:
    """`origin` of every kernel of a Python file that names none; one of anything else."""
    if isinstance(program, Source):
        return [program.origin or Text(program.file, program.text, program.diagnostics)]
    if isinstance(program, Origin):
        return [program]
    if isinstance(program, At):
        found = at_path(program.path, entry)
        return [_Assuming(each, program.assume) for each in found] if program.assume else found
    if isinstance(program, str) and ("\n" in program or name is not None):
        keep_text(name or TEXT, program)
        return [Text(name or TEXT, program)]
    path = os.fspath(program) if isinstance(program, str | os.PathLike) else None
    if isinstance(path, str):
        return at_path(path, entry)
    if "ptokit.lang.kernels" in sys.modules:  # else there are no kernels
        from ptokit.lang.kernels import Kernel

        from .files import PythonKernel

        if isinstance(program, Kernel):
            return [PythonKernel(program, program.location.file or "")]
    raise TypeError(f"a program is a path, a text or a kernel, not {program!r:.80}")


@dataclass(frozen=True)
class At:
    """A path, whatever is in it. ``assume``: by kernel, what a project assumes of its launches."""

    path: str
    assume: Mapping[str, Sequence[str]] = field(default_factory=dict)


class _Assuming(Origin):
    """A program whose kernels carry assumptions that its text does not have."""

    def __init__(self, origin: Origin, assumed: Mapping[str, Sequence[str]]) -> None:
        self._origin, self._assumed = origin, assumed
        self.file, self.called = origin.file, origin.called

    def __getattr__(self, name: str) -> Any:
        return getattr(self._origin, name)

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        source = self._origin.read(target, args)
        for function in source.module.functions:
            if function.name in self._assumed:
                assume(function, self._assumed[function.name])
        return source

    def passed(self, args: Sequence[Any]) -> list[Any]:
        return self._origin.passed(args)

    def single(self) -> Origin:
        return _Assuming(self._origin.single(), self._assumed)


def at_path(path: str, entry: str | None = None) -> list[Any]:
    """What the file at a path holds, ``-`` for stdin."""
    if split(path)[0].endswith(CPP):
        from .files import program_at

        return [program_at(path, entry)]
    if split(path)[0].endswith(PYTHON):
        from .files import kernels_at

        return list(kernels_at(path, entry or ""))
    return [text_at(path)]


def text_at(path: str) -> Text:
    """The text in a file, ``-`` for stdin."""
    text, found = read_file(path)
    return Text(STDIN if path == "-" else path, text, found)


# `format` and `convert`: texts laid out anew, and in other forms.


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
    from ptokit.asm.convert import format_text

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
    """The text of a program in another form: ``dps``, ``ssa``, ``sync``, ``generic``, or ``cpp`` for C++.

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
    if form == TextForm.CPP:
        return _as_cpp(source, target)
    if not source.module.text:
        kernel_text(source.module, source.target_or(None))
    result = printed(source.module, form)
    found = Diagnostics()
    found.extend([*source.diagnostics, *result.diagnostics])
    return Rewritten(source.file, source.text, result.text, found)


def _as_cpp(source: Source, target: str | Target | None) -> Rewritten:
    """A program as C++."""
    from ptokit.cpp.writing.file import cpp_text

    found = Diagnostics()
    found.extend(source.diagnostics)
    try:
        text = cpp_text(source.module, source.target_or(find_target(target)))
    except DiagnosticError as error:
        found.extend(error.diagnostics)
        return Rewritten(source.file, source.text, None, found)
    return Rewritten(source.file, source.text, text, found)


# Several targets at once: a result for each, and findings that name their targets.


T = TypeVar("T")

SeveralTargets = list[str] | list[Target] | tuple[str | Target, ...]
"""Targets to look at one after the other."""


class PerTarget(dict[str, T]):
    """What there is for every target, by its name, in the order in which targets were asked for."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.values()))

    def __repr__(self) -> str:
        return str(self)


def is_several(named: Any) -> bool:
    """True for a collection of targets."""
    return named is not None and not isinstance(named, str | Target)


def named_targets(named: str | Target | Iterable[str | Target] | None) -> list[Target]:
    """The targets that are named, each once. Raises `UsageError` for an unknown one and an empty collection."""
    several = [named] if isinstance(named, str) or not isinstance(named, Iterable) else list(named)
    if not several:
        raise UsageError("no target is named.", "target")
    return [target for target in dict.fromkeys(map(find_target, several)) if target is not None]


def to_look_at(
    program: Program, named: Sequence[str], defaults: Sequence[str], entry: str | None
) -> tuple[Origin, list[Target | None], Target | None]:
    """What a program is read from, the targets to do something for, and the one to take where it states none.

    ``named``: on the command line; ``defaults``: of the project, for programs that state none. None among the targets
    is the one that the program states.
    """
    found = origin(program, entry=entry)
    wanted: list[Target | None] = [*named_targets(named or None)]
    usual = named_targets(defaults or None)
    if not wanted and len(usual) > 1 and not found.called and found.read(None).target is None:
        wanted = [*usual]
    return found, wanted or [None], usual[0] if len(usual) == 1 else None


def for_each(targets: Sequence[Target | None], act: Callable[[Target | None], T]) -> PerTarget[T]:
    """What `act` gives for every target.

    Raises `DiagnosticError` with the findings of all that are refused; of several, with their targets.
    """
    if len(targets) == 1:
        return PerTarget({_name(targets[0]): act(targets[0])})
    done: PerTarget[T] = PerTarget()
    refused: dict[str, Diagnostics] = {}
    for target in targets:
        try:
            done[_name(target)] = act(target)
        except DiagnosticError as error:
            refused[_name(target)] = found = Diagnostics()
            found.extend(error.diagnostics)
    if refused:
        told = labels(refused) or {each: f"on {target}" for target, found in refused.items() for each in found}
        raise DiagnosticError(merged(refused), labels=told)
    return done


def _name(target: Target | None) -> str:
    return "" if target is None else target.name


# `check`: everything that a target would refuse in a program.


@dataclass
class CheckReport(Found):
    """What was found in one program.

    ``findings``: by target, in the order in which targets were asked for; the key is "" where the program could not be
    read and no target was known. ``level``: the level of automation it was checked for.
    """

    file: str
    level: int
    findings: dict[str, Diagnostics] = field(default_factory=dict)
    accepts: list[Callable[[], bool]] = field(default_factory=list, repr=False, compare=False)

    @property
    def targets(self) -> list[str]:
        """Names of the targets that were looked at."""
        return [target for target in self.findings if target]

    @property
    def ok(self) -> bool:
        """True without errors."""
        return not self.errors

    @property
    def accepted(self) -> bool:
        """True if there are errors, and the reference assembler lets all of them pass."""
        return not self.ok and bool(self.accepts) and all(accepts() for accepts in self.accepts)

    def extend(self, other: CheckReport) -> None:
        """Add the findings of another report."""
        for target, found in other.findings.items():
            self.findings.setdefault(target, Diagnostics()).extend(found)
        self.accepts += other.accepts

    def fix(self, source: str, file: str | None = None) -> str:
        """A text with what its findings propose ("did you mean"); ``source``: the text that was looked at, ``file``:
        its name, where that is not the one of the report."""
        name, lines = file or self.file, lines_of(source)
        return edited(source, together(self.diagnostics, lambda other: lines if other == name else ()))

    def as_json(self) -> dict[str, Any]:
        """The JSON object of docs/formats.md."""
        return as_json([self.findings])

    @property
    def verdict(self) -> str:
        """How many findings there are, in one line."""
        return counts(self.findings) or f"no findings for {', '.join(self.targets)}, level {self.level}"

    def __str__(self) -> str:
        """What the terminal shows."""
        return self.shown(f"{self.file}: {self.verdict}")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_of(self.diagnostics, labels=labels(self.findings))


@keywords(CheckOptions)
def check(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | Iterable[str | Target] | None = None,
    default_target: str | Target | Iterable[str | Target] | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    **options: Unpack[CheckKeywords],
) -> CheckReport:
    """Report everything that a target would refuse in a program: a path, a text, a kernel, or what `read` returned.

    All kernels of a Python file are checked, unless ``kernels.py:name`` names one. ``args``: arguments of a kernel in
    Python that does not say what its parameters are, as for `ptokit.run`. ``target``: ``cpu``, ``a2a3`` or ``a5``, or
    several of them; by default what the program states. ``level``: 1, 2 or
    3, who places tiles; by default as the text does it. ``auto_sync``: the assembler is to insert synchronisation.
    ``rules``: ``all``, or ``assembler`` for what the reference assembler refuses. ``extended``: the cpu target takes
    element types that only devices have. ``select``, ``ignore``: report only these rules, and not those, by the
    beginnings of their ids; errors that keep a program from being read are always reported. ``default_target``: for
    programs that state none. Raises `UsageError` for a value that there is not, and where no target is
    known; errors in the program are in the report.
    """
    how = checked(CheckOptions(**options))
    chosen = selection(select, ignore)
    wanted: Sequence[Target | None] = named_targets(target) or [None]
    defaults = named_targets(default_target)
    kernels = origins(program) if not args else [_of_python(origin(program))]
    values = make(read_arguments(args))
    read: list[tuple[Source, Target | None]] = []
    for each in wanted:
        for kernel in kernels:
            read += _sources(kernel, each, defaults, values)
    reports = [_checked(source, each, how) for source, each in read]
    report = reports[0]
    for other in reports[1:]:
        report.extend(other)
    report.findings = reported(report.findings, [source for source, _ in read], chosen)
    return report


def _sources(
    kernel: Origin, target: Target | None, defaults: Sequence[Target], args: Sequence[Any]
) -> list[tuple[Source, Target | None]]:
    """A program as it is read for a target, and the target; for the default ones, where it states none."""
    source = kernel.read(target, args)
    if target is not None or source.target is not None or not defaults:
        return [(source, target)]
    return [(kernel.read(each, args), each) for each in defaults]


def _of_python(found: Origin) -> Origin:
    """A kernel whose parameters arguments decide. Raises `UsageError` for a text."""
    if not found.called:
        raise UsageError("arguments are for kernels in Python; a text says what its parameters are.", "arg")
    return found


def _checked(source: Source, wanted: Target | None, how: CheckOptions) -> CheckReport:
    from ptokit.ir.verify import verify

    assembler = how.rules == "assembler"
    module, found = source.module, Diagnostics()
    found.extend(source.diagnostics)
    report = CheckReport(source.file, how.level or stated_level(module))
    if wanted is None and source.target is None and found.errors:
        report.findings[""] = found
        return report
    target = source.target_or(wanted)
    if assembler and not target.assembled:
        raise UsageError(f"the reference assembler has no target {target.name}.", "rules")
    functions = readable_functions(module, found)
    check = partial(verify, module, target, level=how.level, auto_sync=how.auto_sync)
    found.extend(check(extended=how.extended, assembler=assembler, functions=functions))
    report.findings |= {target.name: found}

    def accepts() -> bool:
        """True if the reference assembler refuses nothing."""
        unread = source.diagnostics.errors
        refused = any(lookup(d.rule).scope in (Scope.TEXT, Scope.ASSEMBLER) for d in found.errors)
        return not (assembler or unread or refused or check(assembler=True).errors)

    report.accepts.append(accepts if target.assembled else bool)
    return report
