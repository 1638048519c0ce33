"""Whole programs as cases: arguments and what they hold afterwards, or the findings of the sanitizer."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.asm import read_module
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.records import dataclass
from ptokit.run.program import Program, compile_program
from ptokit.sanitize import sanitize, uninit
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.choices import Order
from ptokit.types.dtypes import DType, dtype

from .cases import MANIFEST, MAX_BYTES, Init, cases_of, parse_init, read_arrays
from .compare import STORED, Outcome, Output, OutputError, Ran, Result

# Whole programs as cases: `.pto` text, generated arguments, expected contents of the arguments afterwards.


ROLES = ("in", "out", "inout", "unused")
UNIMPLEMENTED = "TEXT-UNIMPLEMENTED"


@dataclass(frozen=True)
class Pointer:
    """An argument in global memory: ``elements`` of a type and what they hold at first."""

    dtype: DType
    elements: int
    init: Init

    def make(self) -> np.ndarray:
        """Bits of the elements."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.init.make(self.dtype, self.elements).view(self.dtype.storage)


Argument = Pointer | int | float


@dataclass(frozen=True)
class ProgramCase:
    """A kernel, its arguments and what it leaves in them.

    ``strict``: the kernel must be accepted; otherwise a refusal is as good. ``expected``: file of stored values.
    """

    id: str
    file: str
    entry: str
    target: Target
    blocks: int
    args: tuple[Argument, ...]
    outputs: tuple[Output, ...]
    expected: str
    strict: bool
    ops: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the case is listed under: the kernel."""
        return self.entry.removeprefix("@") or Path(self.file).stem


def read_case(entry: Mapping[str, Any]) -> ProgramCase:
    """A case of a manifest. Raises `KeyError`, `TypeError` or `ValueError`."""
    args = tuple(_argument(a, i) for i, a in enumerate(entry["args"]))
    outputs = tuple(_output(o, args) for o in entry["outputs"])
    try:
        target = target_named(entry["arch"])
    except (KeyError, AttributeError):
        raise ValueError(f"{entry['arch']!r} is no architecture") from None
    return ProgramCase(
        id=_text(entry, "id"),
        file=_text(entry, "file"),
        entry=_text(entry, "entry"),
        target=target,
        blocks=_count(entry.get("blocks", 1), "blocks", 1),
        args=args,
        outputs=outputs,
        expected=_text(entry, "expected"),
        strict=entry.get("strict", True) is not False,
        ops=tuple(map(str, entry.get("ops", ()))),
    )


def _text(entry: Mapping[str, Any], key: str) -> str:
    if not isinstance(entry[key], str):
        raise ValueError(f"{key} is {entry[key]!r}, not a text")
    return entry[key]


def _count(value: Any, what: str, least: int = 0) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MAX_BYTES:
        raise ValueError(f"{what} is {value!r}, not a number from {least} on")
    return value


def _argument(a: Mapping[str, Any], position: int) -> Argument:
    what = f"argument {position}"
    if a.get("index", position) != position:
        raise ValueError(f"{what} has index {a['index']}")
    if a["kind"] == "scalar":
        if not isinstance(a["value"], (int, float)):
            raise ValueError(f"{what} has the value {a['value']!r}")
        return a["value"]
    if a["kind"] != "ptr" or a.get("role", "in") not in ROLES:
        raise ValueError(f"{what} is neither a scalar nor a pointer with a role of {', '.join(ROLES)}")
    element = dtype(a["dtype"])
    if element.value is None or element.packed:
        raise ValueError(f"{what}: there is no data of type {element.name}")
    elements = _count(a["elements"], f"elements of {what}")
    if element.nbytes(elements) > MAX_BYTES:
        raise ValueError(f"{what} has {element.nbytes(elements)} bytes, more than {MAX_BYTES}")
    return Pointer(element, elements, parse_init(a.get("init", {"kind": "const", "value": 0})))


def _output(o: Mapping[str, Any], args: Sequence[Argument]) -> Output:
    index = _count(o["index"], "index of an output")
    if index >= len(args) or not isinstance(args[index], Pointer):
        raise ValueError(f"output {index} is no pointer argument")
    if o["stored"] not in STORED:
        raise ValueError(f"output {index} is stored as {o['stored']!r}")
    touched = o.get("touched")
    size = args[index].elements  # type: ignore[union-attr]
    if touched is not None:
        touched = tuple(_count(touched[key], f"touched.{key}") for key in ("elements", "first", "last"))
        if touched[0] and not touched[1] <= touched[2] < size:
            raise ValueError(f"output {index} has touched elements beyond its {size}")
    sums = (float(o["sum"]), float(o["abs_sum"])) if "sum" in o and "abs_sum" in o else None
    return Output(
        index,
        o["stored"],
        _count(o["written"], "written"),
        _count(o.get("undefined", 0), "undefined"),
        float(o.get("atol", 0)),
        float(o.get("rtol", 0)),
        sums,
        o.get("crc32"),
        touched,
    )


class ProgramSuite:
    """All programs of a folder. ``root``: where files are looked for that the folder does not have."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], root: Path | None = None) -> None:
        """Raises `DiagnosticError` (CONF-FILE)."""
        self.folder, self.root = folder, root
        self.cases = tuple(cases_of(folder / MANIFEST, manifest, read_case))
        self._compiled = lru_cache(maxsize=64)(self._compile)
        self._arrays = lru_cache(maxsize=4)(self._read_arrays)

    def replay(self, case: ProgramCase) -> Result:
        """Run and judge one case. Never raises."""
        start = time.perf_counter()
        try:
            outcome, message, reported = self._judge(case)
        except OutputError as problem:
            outcome, message, reported = Outcome.FAILED, f"{case.expected}: {problem}", ()
        except DiagnosticError as error:
            outcome, message, reported = Outcome.FAILED, _shown(error.diagnostics), ()
        except Exception as bug:  # one broken case must not end the run of all others
            outcome, message, reported = Outcome.FAILED, f"internal error: {type(bug).__name__}: {bug}", ()
        return Result(case.id, case.name, case.target.name, outcome, message, reported, time.perf_counter() - start)

    def _judge(self, case: ProgramCase) -> tuple[Outcome, str, tuple[str, ...]]:
        path = self._find(case.file)
        if path is None:
            where = f"{self.folder} or {self.root}" if self.root else f"{self.folder} (see --root)"
            return Outcome.FAILED, f"there is no program {case.file} in {where}", ()
        expected = self._parts(case)
        try:
            program = self._compiled(path, case.entry, case.target.name)
            before = [arg.make() if isinstance(arg, Pointer) else arg for arg in case.args]
            after = _launch(program, case, before)
        except DiagnosticError as error:
            return _refusal(case, error.diagnostics)
        return _verdict(case, program, expected, before, after)

    def _find(self, name: str) -> Path | None:
        """The file a case names: in the folder, else below the root."""
        places = [folder / name for folder in (self.folder, self.root) if folder is not None]
        return next((place for place in places if place.is_file()), None)

    def _parts(self, case: ProgramCase) -> list[dict[str, np.ndarray]]:
        """Stored values of each output. Raises `DiagnosticError`."""
        if not case.outputs:
            return []
        arrays = self._arrays(self._find(case.expected) or self.folder / case.expected)
        prefixes = [f"{case.id}/{output.index}/" for output in case.outputs]
        return [{k.removeprefix(p): v for k, v in arrays.items() if k.startswith(p)} for p in prefixes]

    @staticmethod
    def _read_arrays(path: Path) -> dict[str, np.ndarray]:
        return read_arrays(path)

    @staticmethod
    def _compile(path: Path, entry: str, target_name: str) -> Program:
        target = target_named(target_name)
        read = read_module(path, target=target)
        read.diagnostics.raise_if_errors()
        return compile_program(read.module, target, entry=entry or None)


def _launch(program: Program, case: ProgramCase, given: Sequence[Any]) -> list[Any]:
    """The arguments after a run on copies of those given. Raises `DiagnosticError`."""
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
    passed = []
    for arg, param in zip(args, program.params):
        same_size = isinstance(arg, np.ndarray) and param.dtype is not None and arg.itemsize == param.dtype.size
        passed.append(arg.view(param.dtype.storage) if same_size and param.dtype is not None else arg)
    program.launch([*passed, *args[len(passed) :]], case.blocks)
    return args


def _refusal(case: ProgramCase, diagnostics: Sequence[Diagnostic]) -> tuple[Outcome, str, tuple[str, ...]]:
    """The verdict on a program that ptokit does not run."""
    errors = [d for d in diagnostics if d.severity is Severity.ERROR]
    reported = tuple(sorted({d.rule for d in errors}))
    missing = next((d for d in errors if d.rule == UNIMPLEMENTED), None)
    if missing is not None:
        return Outcome.SKIPPED, missing.message, reported
    if not case.strict:
        return Outcome.PASSED, f"refused, as the case allows: {_shown(errors)}", reported
    return Outcome.FAILED, f"refused: {_shown(errors)}", reported


def _shown(diagnostics: Sequence[Diagnostic]) -> str:
    """The first finding in one line, and how many more there are."""
    first = diagnostics[0]
    at = f"line {first.location.line}: " if first.location.line else ""
    more = f" (and {len(diagnostics) - 1} more)" if len(diagnostics) > 1 else ""
    return f"{at}{first.message} [{first.rule}]{more}"


def _verdict(
    case: ProgramCase,
    program: Program,
    expected: Sequence[Mapping[str, np.ndarray]],
    before: Sequence[Any],
    after: Sequence[Any],
) -> tuple[Outcome, str, tuple[str, ...]]:
    """Every output as stored, every other pointer argument unchanged."""
    outputs = {output.index: (output, parts) for output, parts in zip(case.outputs, expected)}
    for index, arg in enumerate(case.args):
        if not isinstance(arg, Pointer):
            continue
        ran = Ran(arg.dtype, before[index], after[index], _second_run(program, case, before, index))
        if index in outputs:
            output, parts = outputs[index]
            problem = output.check(parts, ran)
        else:
            problem = ran.check_kept(ran.changed)
        if problem:
            param = program.params[index].name
            name = f"%{param} (argument {index})" if param and not param.isdigit() else f"argument {index}"
            return Outcome.FAILED, f"{name}, {problem}", ()
    return Outcome.PASSED, "", ()


def _second_run(program: Program, case: ProgramCase, before: Sequence[Any], index: int) -> Callable[[], np.ndarray]:
    """Where a run from inverted initial contents of one argument changes that argument."""

    def again() -> np.ndarray:
        given = list(before)
        given[index] = ~before[index]
        return _launch(program, case, given)[index] != given[index]

    return again


# Synchronisation cases: small programs with the findings that the sanitizer has to make, and no others.


PLACES = ("in", "inout", "out")


@dataclass(frozen=True)
class Place:
    """Where a finding has to be: a rule, and lines of the program (from 1), on one target or (None) on all."""

    rule: str
    lines: tuple[int, ...]
    target: str | None = None

    def satisfied(self, findings: list[Diagnostic]) -> bool:
        """True if one finding of the rule names all of the lines (races), or at least one of them (others)."""
        for finding in findings:
            if finding.rule != self.rule:
                continue
            named = [finding.location.line, *(note.location.line for note in finding.notes)]
            if self.rule.startswith("RACE-"):
                if all(named.count(line) >= self.lines.count(line) for line in self.lines):
                    return True
            elif any(line in named for line in self.lines):
                return True
        return False


@dataclass(frozen=True)
class Buffer:
    """A memory argument of `elements` elements; ``out`` ones start uninitialised."""

    element: DType
    elements: int
    role: str

    def make(self) -> np.ndarray:
        """The array. Elements of input are 1, so that any conversion and quotient is defined."""
        if self.role == "out":
            return uninit(self.elements, self.element)
        if self.element.value is None:
            return np.zeros(self.element.nbytes(self.elements), np.uint8)
        return np.ones(self.elements, self.element.value)


@dataclass(frozen=True)
class SyncCase:
    """One program with its launch and verdicts by target."""

    file: str
    targets: tuple[str, ...]
    order: str
    blocks: int
    args: tuple[Any, ...]
    expect: Mapping[str, frozenset[str]]
    may: frozenset[str] = frozenset()
    at: tuple[Place, ...] = ()

    @property
    def name(self) -> str:
        """The file without its suffix."""
        return self.file.removesuffix(".pto")


@dataclass
class SyncSuite:
    """All cases of a folder."""

    folder: Path
    cases: list[SyncCase]

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> SyncSuite:
        """Raises `DiagnosticError` (CONF-FILE)."""
        return cls(folder, cases_of(folder / MANIFEST, manifest, _read_case, key="file"))

    def replay(self, case: SyncCase, target: str) -> Result:
        """Run and judge one case on one target. Never raises."""
        start = time.perf_counter()
        reported: tuple[str, ...] = ()
        try:
            findings = self._findings(case, target_named(target))
            reported = tuple(sorted({f.rule for f in findings}))
            message = judge(case, target, findings)
        except DiagnosticError as error:
            message = "; ".join(str(d) for d in error.diagnostics[:3])
        except Exception as bug:  # one broken case must not end the run of all others
            message = f"internal error: {type(bug).__name__}: {bug}"
        outcome = Outcome.FAILED if message else Outcome.PASSED
        return Result(case.file, case.name, target, outcome, message, reported, time.perf_counter() - start)

    def _findings(self, case: SyncCase, target: Target) -> list[Diagnostic]:
        """Errors and warnings; notes do not count."""
        result = read_module(self.folder / case.file, target=target)
        errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
        if errors:
            raise DiagnosticError(errors)
        args = [arg.make() if isinstance(arg, Buffer) else arg for arg in case.args]
        report = sanitize(result.module, target, args, case.blocks, order=case.order)
        return [found for found in report.symptoms if found.severity is not Severity.NOTE]


def judge(case: SyncCase, target: str, findings: list[Diagnostic]) -> str:
    """What is wrong with the findings; empty if nothing is."""
    found, wanted = {f.rule for f in findings}, case.expect[target]
    wrong = []
    if missing := wanted - found:
        wrong.append(f"not reported: {', '.join(sorted(missing))}")
    if extra := found - wanted - case.may:
        first = next(f for f in findings if f.rule in extra)
        wrong.append(f"reported, not expected: {', '.join(sorted(extra))} (line {first.location.line})")
    for place in case.at:
        if place.target in (None, target) and place.rule in found and not place.satisfied(findings):
            lines = ", ".join(map(str, place.lines))
            wrong.append(f"no {place.rule} names line{'s' if len(place.lines) > 1 else ''} {lines}")
    return "; ".join(wrong)


def _read_case(entry: Mapping[str, Any]) -> SyncCase:
    targets = tuple(target_named(name).name for name in entry["targets"])
    order = entry.get("mode", Order.STRICT)
    if order not in tuple(Order):
        raise ValueError(f"mode is one of {', '.join(Order)}, not {order!r}")
    return SyncCase(
        str(entry["file"]),
        targets,
        order,
        int(entry.get("blocks", 1)),
        tuple(_read_argument(name, arg) for name, arg in entry["args"].items()),
        {name: frozenset(entry["expect"][name]) for name in targets},
        frozenset(entry.get("may", ())),
        tuple(Place(p["id"], tuple(map(int, p["lines"])), p.get("target")) for p in entry.get("at", ())),
    )


def _read_argument(name: str, arg: Mapping[str, Any]) -> Any:
    match arg["kind"]:
        case "gm":
            buffer = Buffer(dtype(arg["dtype"]), int(arg["elems"]), arg["role"])
            if buffer.role not in PLACES:
                raise ValueError(f"argument {name}: role is one of {', '.join(PLACES)}, not {buffer.role!r}")
            if not 0 <= buffer.elements * buffer.element.size <= MAX_BYTES:
                raise ValueError(f"argument {name}: {buffer.elements} elements are too many")
            return buffer
        case "scalar":
            return arg["value"]
        case "ffts":
            return 0
        case kind:
            raise ValueError(f"argument {name}: unknown kind {kind!r}")
