"""`kernel`: a Python function as a kernel. Traced once per signature, checked, compiled, launched over blocks."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, update_wrapper
from importlib import import_module
from pickle import PicklingError
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, SupportsIndex

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, KernelWarning, Location
from ptokit.diagnostics.diagnostic import ignores_of_python
from ptokit.ir import Function as IrFunction
from ptokit.ir import Module, Value
from ptokit.ir.launch import MOST_RANKS
from ptokit.ir.pipe_ends import sections_of_first_core
from ptokit.ir.verify import verify
from ptokit.machine.chunk import Chunk
from ptokit.machine.observer import Observer
from ptokit.run import MATMUL_MODES, Program, choose_entry, compile_program
from ptokit.run.arguments import bind_arguments, bind_devices, divided, sample
from ptokit.run.tensors import constants, remarks
from ptokit.sanitize import Report, sanitize_launch
from ptokit.targets import TARGETS, Target
from ptokit.targets import target as find_target
from ptokit.types.choices import LaunchOptions, SanitizeOptions, taken
from ptokit.types.values import Ptr as PtrType
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .launching import Compiled, P, States, Timer, Watcher, given, interpret, selections, wanted
from .launching import Launcher as Launcher
from .mistakes import refuse_result
from .outside import names_reached
from .params import Constant, Parameters, Signature, checked, is_count, refuses
from .rules import refusal, user_frame
from .scalar import Scalar
from .source import keep, with_text
from .syntax import run
from .tensors import Pointer
from .trace import Trace, tracing

if TYPE_CHECKING:
    from concurrent.futures import Executor

Function = FunctionType


@refuses
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    target: str | Target | None = None,
    matmul: str = "exact",
    extended: bool = False,
    name: str | None = None,
) -> Callable[[Callable[P, Any]], Kernel[P]]:
    """Decorator that makes a kernel of a function: ``@pto.kernel(target="a5")``.

    ``target``: ``cpu``, ``a2a3`` or ``a5``. ``matmul``: ``exact``, ``fast`` or ``ref``, see `Program.launch`.
    ``extended`` lets the cpu target run device-only element types. ``name`` is the kernel's name in `.pto` text.
    Raises `DiagnosticError` (LANG-TARGET, LANG-PARAM).
    """
    profile = _target(target if function is None or not isinstance(function, str) else function)
    if matmul not in MATMUL_MODES:
        raise refusal(rules.TARGET, f"matmul is one of {', '.join(MATMUL_MODES)}, not {matmul!r}")

    @refuses
    def decorate(function: Callable[P, Any]) -> Kernel[P]:
        made = Kernel(function, profile, matmul=matmul, extended=extended, name=name)
        keep(made.function)
        return made

    return decorate  # type: ignore[return-value]  # its P is its own


def _target(name: Any) -> Target:
    known = ", ".join(TARGETS)
    if name is None:
        raise refusal(rules.TARGET, "the kernel names no target", hint=f'@pto.kernel(target="...") with one of {known}')
    try:
        return find_target(name)
    except (KeyError, AttributeError):
        raise refusal(rules.TARGET, f"there is no target {name!r}", hint=f"one of {known}") from None


class Kernel(Generic[P]):
    """A kernel made by `kernel`. ``k[blocks](x, y, n)`` launches it; ``k(x, y, n)`` launches one block."""

    def __init__(
        self, function: Callable[P, Any], target: Target, *, matmul: str, extended: bool, name: str | None
    ) -> None:
        self.function = function = checked(function)
        update_wrapper(self, function)
        self.target = target
        self.matmul = matmul
        self.extended = extended
        self.name = re.sub(r"\W", "_", name or function.__name__, flags=re.ASCII)
        self.location = Location(function.__code__.co_filename, function.__code__.co_firstlineno, 1)
        frame = user_frame()
        self.parameters = Parameters(function, self.location, {} if frame is None else frame.f_locals)
        self._states = States(function)
        self._last: Signature | None = None
        self._told: set[Diagnostic] = set()  # what launches have warned of

    # --- launching -----------------------------------------------------------------------------------------------

    def __getitem__(self, blocks: SupportsIndex) -> Launcher[P]:
        """The kernel for a number of blocks."""
        return Launcher(self, blocks)

    @refuses
    def __call__(self, *args: P.args, **named: P.kwargs) -> None:
        """Launch one block."""
        self.launch(1, args, named)

    @property
    def interpret(self) -> Launcher[P]:
        """The kernel run as Python code: ``k.interpret[blocks](x, y, n)``.

        Python executes the function itself, block by block, and every instruction at once: ``breakpoint()``,
        ``print(t)``, ``t.numpy()`` and exceptions work as in any function. The results are those of a compiled run.
        """
        return Launcher(self, interpreted=True)

    def ranks(self, count: SupportsIndex) -> Launcher[...]:
        """The kernel on several devices: ``k.ranks(4)[blocks](x, y, n)``, each with memory and arguments of its own.

        Arrays have a leading axis for the ranks, a list or tuple has an argument for each, numbers are the same for
        all; ``pto.RANK``, ``pto.RANKS``, ``pto.COMM`` and ``pto.Peer("x", 1)`` are what each rank has of its own.
        Raises `DiagnosticError` (RUN-RANKS).
        """
        if not is_count(count) or count > MOST_RANKS:
            raise refusal(rules.BLOCKS, f"kernel {self.name} cannot be launched on {count!r} ranks")
        return Launcher(self, ranks=int(count))

    @refuses
    def watch(self, *chosen: str) -> Watcher[P]:
        """The kernel with tiles to look at: ``seen = k.watch("acc", "acc@31")[blocks](x, y, n)``.

        Launches return a list of `ptokit.watch.Seen`: what the chosen tiles, views and registers hold after each
        instruction that writes them (``acc``), after the instructions in a line (``acc@31``), or what the instructions
        in a line write (``@31``). ``:block=0,i=3`` after it: only in that block, and for that value of a loop
        variable. Without any choice: all that is written. Raises `DiagnosticError` (LANG-WATCH).
        """
        return Watcher(self, selections(chosen))

    @property
    def time(self) -> Timer:
        """The kernel timed: ``k.time[blocks](x, y, n)`` returns a `ptokit.timing.report.Timing`; see `Timer`."""
        return Timer(self)

    @refuses
    def launch(
        self,
        blocks: int,
        args: tuple[Any, ...],
        named: dict[str, Any],
        *,
        interpreted: bool | None = None,
        observer: Observer | None = None,
        executor: Executor | str | None = None,
        ranks: int = 0,
    ) -> None:
        """Run blocks 0 .. blocks-1 on the arguments; arrays are used in place.

        ``interpreted``: as `interpret` does; the default is whether the environment has ``PTOKIT_INTERPRET=1``.
        ``observer``: is told every step (`ptokit.machine.observer`). ``executor``: its workers run the blocks
        (`ptokit.launches.launch`), not this process. ``ranks``: on how many devices, 0 for a launch on one.
        Raises `DiagnosticError`: LANG-ARG and RUN-ARG-* for arguments, findings about the kernel before anything runs,
        and what goes wrong while it runs.
        """
        trace = tracing()
        if trace is not None and (not trace.eager or trace.of_kernel):
            raise refusal(
                rules.CONTEXT,
                f"kernel {self.name} is launched inside of a kernel",
                hint="share code between kernels in plain Python functions",
            )
        for watch in watchers:
            watch(self, blocks, args, named)
        bound = self.parameters.bind(args, named)
        signature = self._signature(sample(bound) if ranks else bound)
        by_python = wanted() if interpreted is None else interpreted
        known = set if by_python else partial(self._stated, signature)
        values = given(bound, signature, ranks, known)
        try:
            if by_python:
                self._interpret(bound, signature, values, blocks, observer, ranks)
                return
            program = self._program(signature)
            self._warn(remarks(program.entry, values))
            if ranks:
                devices = divided(program.entry, values, ranks)
                program.launch_ranks(devices, blocks, matmul=self.matmul, observer=observer)
            elif executor is not None:
                distribute(program, values, blocks, executor=executor, matmul=self.matmul)
            else:
                program.launch(values, blocks, matmul=self.matmul, observer=observer)
        except DiagnosticError as error:
            raise DiagnosticError(self.parameters.at_the_call(d, args) for d in error.diagnostics) from None

    def _interpret(
        self,
        bound: dict[str, Any],
        signature: Signature,
        values: list[Any],
        blocks: int,
        observer: Observer | None = None,
        ranks: int = 0,
    ) -> None:
        types = {name: entry for name, entry in zip(bound, signature) if not isinstance(entry, Constant)}
        params = [Value(t, name, location=self.parameters.place(name), called=name) for name, t in types.items()]
        assumes = "assume" in names_reached(self.function)
        attrs = choose_entry(self._module(signature), self.name).attrs if assumes else {}
        entry = IrFunction(self.name, params, attrs=attrs, location=self.location)
        if not ranks:
            bind_arguments(entry, values, set(), blocks)
        devices = bind_devices(entry, divided(entry, values, ranks), set(params), blocks, None) if ranks else [values]

        def machine(total: int) -> Chunk:
            chunk = Chunk(self.target, 1, total, self.matmul, extended=self.extended)
            chunk.observer = observer
            return chunk

        def left_alone() -> set[int]:
            return sections_of_first_core(self._module(signature), self.name, self.target)

        arguments = [{**bound, **dict(zip(types, device))} for device in devices]
        interpret(self.function, machine, arguments, types, blocks, left_alone, ranks)

    @refuses
    def sanitize(self, *args: Any, blocks: int = 1, ranks: int = 0, **named: Any) -> Report:
        """Run blocks 0 .. blocks-1 under observation: races, flags, deadlocks, uninitialised data, bounds.

        Arguments as for a launch; arrays made by `uninit` are output only. ``order``: ``strict``, or ``profile`` for
        the order inside a pipe that the target promises. ``witness``: show for each race what changes if its first
        access comes late. ``seed``: also run in another legal order, drawn with that seed. ``explain_sync``: find the
        flags and barriers that a kernel without any needs. ``mode``: ``auto``, ``auto-sync`` or ``manual``,
        where the kernel does not tell. ``also``: rules that are off by default. ``ranks``: on how many devices, 0 for a
        launch on one. Raises `DiagnosticError` for arguments that cannot be used.
        """
        how = taken(SanitizeOptions, named)
        bound = self.parameters.bind(args, named)
        signature = self._signature(sample(bound) if ranks else bound)
        values = given(bound, signature, ranks, partial(self._stated, signature))
        module = self._module(signature)
        launch = LaunchOptions(self.name, blocks, ranks or None, extended=self.extended)
        try:
            return sanitize_launch(module, self.target, values, launch, how)
        except DiagnosticError as error:
            raise DiagnosticError(self.parameters.at_the_call(d, args) for d in error.diagnostics) from None

    @refuses
    def prove(self, *args: Any, assume: Sequence[str] = (), blocks: int | None = None, **named: Any) -> Any:
        """What holds for all arguments: flags, pipes, blocks, bounds, initialised data; a `ptokit.prove.report.Proof`.

        ``args``: as for a launch, where annotations do not say which types the parameters have; only their types count.
        ``assume``: comparisons of parameters and ``blocks``, "n % 16 == 0". ``blocks``: None for any number of them.
        Raises `DiagnosticError` for arguments that cannot be used and `UsageError` for assumptions that say nothing.
        """
        module = self.trace(*args, **named)
        return prover(module, self.target, entry=self.name, assume=assume, blocks=blocks, extended=self.extended)

    @refuses
    def tune(self, *args: Any, space: Mapping[str, Iterable[Any]], **options: Any) -> Any:
        """Rank values of `Static` parameters that are right by the timing model: a `ptokit.api.tune.Tuned`.

        ``space``: values of each, {"BLOCK": [64, 128]}. ``args``: of the other parameters, in order. Options: as of
        `ptokit.tune`.
        """
        return tuner(self, args, space=space, **options)

    def on(self, target: str | Target) -> Kernel[P]:
        """The same kernel for another target. Raises `DiagnosticError` (LANG-TARGET)."""
        function: Callable[P, Any] = self.function
        other = Kernel(function, _target(target), matmul=self.matmul, extended=self.extended, name=self.name)
        other.location, other.parameters = self.location, self.parameters
        return other

    @refuses
    def synchronised(self, *args: Any, **options: Any) -> Synchronised[P]:
        """The kernel with the flags that it lacks between the pipes of a core, proved; see `ptokit.synchronise`.

        ``args``: as for `prove`. ``options``: of `ptokit.synchronise`. It is launched as this one; `text` is the file
        with the flags, `edits` what changes, `report` the whole. Raises `DiagnosticError` where no flag can be written
        (SYNC-PLACE).
        """
        return Synchronised(self, synchroniser(self, args, **options))

    def with_text(self, text: str) -> Kernel[P]:
        """The same kernel as another text of its file has it."""
        function: Callable[P, Any] = with_text(self.function, text)
        other = Kernel(function, self.target, matmul=self.matmul, extended=self.extended, name=self.name)
        other.parameters = self.parameters
        return other

    # --- copies --------------------------------------------------------------------------------------------------

    def __copy__(self) -> Kernel:
        """The same kernel, with traces and programs of its own."""
        return self.on(self.target)

    def __deepcopy__(self, memo: dict[int, Any]) -> Kernel:
        return self.on(self.target)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled by module and name, as functions are. Raises `pickle.PicklingError` for one that has none."""
        module, path = self.function.__module__, self.function.__qualname__
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        if not isinstance(found, Kernel) or found.function is not self.function:
            raise PicklingError(f"kernel {self.name} cannot be pickled: it is not {module}.{path}")
        return _unpickled, (module, path, self.target.name, self.matmul, self.extended, self.name)

    # --- looking at it -------------------------------------------------------------------------------------------

    @refuses
    def trace(self, *args: Any, **named: Any) -> Module:
        """The kernel as a module, for the signature of these arguments (arrays, numbers, or types in their place).

        Without arguments: the signature of the annotations, or the one last used. Not checked by rules yet.
        Raises `DiagnosticError` for what the trace itself refuses (LANG-*).
        """
        return self._module(self._chosen(args, named))

    @refuses
    def check(self, *args: Any, **named: Any) -> Diagnostics:
        """What the rules find in the kernel; arguments as for `trace`."""
        return verify(self.trace(*args, **named), self.target, extended=self.extended)

    @refuses
    def compile(self, *args: Any, **named: Any) -> Program:
        """The kernel checked and compiled; arguments as for `trace`. Raises `DiagnosticError`."""
        return self._program(self._chosen(args, named))

    @refuses
    def to_pto(self, *args: Any, **named: Any) -> str:
        """The kernel as `.pto` text, which reads back as the same program; arguments as for `trace`.

        Raises `DiagnosticError` for what text cannot say (TEXT-KERNEL).
        """
        return printer(self.trace(*args, **named), self.target)

    @refuses
    def to_cpp(self, *args: Any, **named: Any) -> str:
        """The kernel as a file of C++ for the PTO library, with a launcher; arguments as for `trace`.

        Raises `DiagnosticError` for what C++ does not have (CPP-WRITE).
        """
        return writer(self.trace(*args, **named), self.target)

    def __repr__(self) -> str:
        return f"<kernel {self.name}({self.parameters}) for {self.target.name}>"

    # --- signatures ----------------------------------------------------------------------------------------------

    def _signature(self, bound: dict[str, Any]) -> Signature:
        return tuple(self.parameters.entry(name, arg) for name, arg in bound.items())

    def _chosen(self, args: tuple[Any, ...], named: dict[str, Any]) -> Signature:
        if args or named or not self.parameters.kinds:
            return self._signature(self.parameters.bind(args, named))
        signature = self.parameters.annotated_signature()
        if signature is None and self._last is not None:
            entries = zip(self.parameters.kinds, self._last)
            return tuple(self.parameters.entry(n, e.value) if isinstance(e, Constant) else e for n, e in entries)
        if signature is None:
            names = ", ".join(self.parameters.undetermined())
            raise refusal(
                rules.PARAMETER,
                f"kernel {self.name} does not say what its parameters are: {names}",
                hint="annotate them, or give arguments or types: kernel.to_pto(pto.f32, pto.f32, 64)",
            )
        return signature

    def _program(self, signature: Signature) -> Program:
        compiled = self._states.now()
        program = compiled.programs.get(signature)
        if program is None:
            module = self._module(signature, compiled)
            program = compile_program(module, self.target, entry=self.name, extended=self.extended)
            self._warn(program.found.warnings)
            compiled.programs[signature] = program
        return program

    def _stated(self, signature: Signature) -> set[int]:
        """The whole numbers in the kernel."""
        return constants(choose_entry(self._module(signature), self.name))

    def _warn(self, found: Sequence[Diagnostic]) -> None:
        """Tell what the rules warn of, each finding once, except where a comment ignores it."""
        new = [finding for finding in found if finding not in self._told]
        comments = {file: ignores_of_python(file) for d in new if (file := d.location.file)}
        for finding in new:
            if not any(comment.hides(finding) for comment in comments.get(finding.location.file or "", ())):
                text = f"{finding.message} [{finding.rule}]{f'; {finding.hint}' if finding.hint else ''}"
                place = finding.location
                warnings.warn_explicit(text, KernelWarning, place.file or "<kernel>", place.line)
            self._told.add(finding)

    def _module(self, signature: Signature, compiled: Compiled | None = None) -> Module:
        compiled = compiled or self._states.now()
        module = compiled.modules.get(signature)
        if module is None:
            module = compiled.modules[signature] = self._traced(signature)
        self._last = signature
        return module

    def _traced(self, signature: Signature) -> Module:
        trace = Trace(self.name, self.target, self.location)
        values: list[Any] = []
        with trace.running():
            for name, entry in zip(self.parameters.kinds, signature):
                if isinstance(entry, Constant):
                    values.append(entry.value)
                else:
                    value = trace.parameter(entry, name, self.parameters.place(name))
                    values.append(Pointer(value) if isinstance(entry, PtrType) else Scalar(value))
                    assert isinstance(entry, PtrType | ScalarType)
            arguments = dict(zip(self.parameters.kinds, values))
            positional = [arguments.pop(p.name) for p in self._positional()]
            returned = run(self.function, tuple(positional), arguments)
            refuse_result(self.function, returned)
            return trace.finish(self.location.file)

    def _positional(self) -> list[Any]:
        parameters = self.parameters.signature.parameters.values()
        return [p for p in parameters if p.kind is not p.KEYWORD_ONLY]


class Synchronised(Kernel[P]):
    """A kernel with flags: the `text` of its file, the `edits` that made it, whether it is `proved`, and a `report`."""

    def __init__(self, kernel: Kernel[P], report: Any) -> None:
        self.__dict__ |= kernel.with_text(report.text).__dict__
        self.report, self.text, self.edits, self.proved = report, report.text, report.edits, report.proved


def _unpickled(module: str, path: str, target: str, matmul: str, extended: bool, name: str) -> Kernel:
    """The kernel with this name in a module; for another target, or with other options, if it is so there."""
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    assert isinstance(found, Kernel)
    if (found.target.name, found.matmul, found.extended, found.name) == (target, matmul, extended, name):
        return found
    other = Kernel(found.function, _target(target), matmul=matmul, extended=extended, name=name)
    other.location, other.parameters = found.location, found.parameters
    return other


watchers: list[Callable[[Kernel, int, tuple[Any, ...], dict[str, Any]], None]] = []
"""Called before every launch with the kernel, the number of blocks and the arguments."""


def _unset(*_: Any, **__: Any) -> Any:
    raise RuntimeError("kernels are printed, divided and proved through `import ptokit`")


printer: Callable[..., str] = _unset
writer: Callable[..., str] = _unset
"""Print a module as `.pto` text, and write it as C++. The package sets them: this layer knows nothing of texts."""

prover: Callable[..., Any] = _unset
tuner: Callable[..., Any] = _unset
synchroniser: Callable[..., Any] = _unset
distribute: Callable[..., None] = _unset
"""Prove a module, tune a kernel, write flags into one, launch a program on other workers, for the same reason."""
