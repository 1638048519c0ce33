"""What a campaign is to do, as TOML, and the cases that follow from it.

name = "nightly"
programs = ["kernels/**/*.pto"]        # paths and patterns, from the folder of the file; also kernels.py:name
exclude = ["kernels/old/*"]            # of those
targets = ["a5"]                       # default: what each text states, or default_target = "a5" where one states none
do = ["check", "run", "sanitize"]      # also compare, compare-order, time, prove
blocks = [1, 8]
ranks = []                             # devices of a launch; default one
seeds = [0, 1]                         # of random arguments
recorded = "device.json"               # outcomes that are known: {"kernels/old*.pto": {"check": "refused"}}
seconds = 60                           # limits of one case
memory = "4GiB"

[[set]]                                # arguments of the programs that match; others get some from their text
match = "kernels/softmax*.pto"
args = ["random:f32:200x512", "zeros:f32:200x512", "200"]
expected = ["", "softmax.npy", ""]     # or function = "golden:softmax", or program = "old/softmax.pto"
tolerance = { ulp = 2 }
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path
from typing import Any

from ptokit.api.program import CPP, PYTHON, below, has_kernels, split
from ptokit.arguments.grammar import ArgumentSyntaxError, parse_argument
from ptokit.conformance.compare import tolerance
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Rule, Severity
from ptokit.records import dataclass
from ptokit.targets import TARGETS
from ptokit.targets.base import PARTS
from ptokit.types.choices import Backend, Matmul, Order, RuleSet

from .case import PROGRAMS, SPEC, Action, Case, CppFile, Given, PythonFile, Status, TextFile, programs_in

DEFAULT_DO = (Action.CHECK, Action.RUN, Action.SANITIZE)
DEFAULT_SECONDS = 300.0
_UNITS = {"": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_MODE: dict[str, tuple[Any, ...]] = {
    "matmul": tuple(map(str, Matmul)),
    "backend": tuple(map(str, Backend)),
    "order": tuple(map(str, Order)),
    "rules": tuple(map(str, RuleSet)),
    "vector_cores": (1, 2),
    "sync": ("auto", "manual"),
    "part": tuple(PARTS),
}
_LAUNCHED = frozenset(("matmul", "backend", "vector_cores"))
_OF = {
    Action.CHECK: frozenset(("rules",)),
    Action.RUN: _LAUNCHED,
    Action.SANITIZE: frozenset(("order", "vector_cores", "sync")),
    Action.COMPARE: _LAUNCHED,
    Action.TIME: frozenset(("vector_cores", "part")),
    Action.COMPARE_ORDER: frozenset(),
    Action.PROVE: frozenset(),
}
"""What of a mode concerns which action."""


@dataclass(frozen=True)
class ArgumentSet:
    """Arguments for programs that match, and what they must be afterwards. Fields as those of `Case`."""

    match: str = "*"
    name: str = ""
    entry: str = ""
    args: tuple[str, ...] | None = None
    blocks: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    expected: tuple[str, ...] = ()
    function: str = ""
    program: str = ""
    against: str = ""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    default_target: str = ""


@dataclass(frozen=True)
class Spec:
    """A campaign. ``programs`` are files; ``sets`` are tried in order, all that match a program count.

    A Python file is each of its kernels, ``kernels.py:name`` one of them. ``ranks``: 0 is a launch on one device.
    ``targets``: by default the one that a text states, or ``default_target``. Of ``modes`` each case is done in all.
    """

    name: str
    programs: tuple[Path, ...]
    folder: Path
    targets: tuple[str, ...] = ()
    do: tuple[Action, ...] = DEFAULT_DO
    blocks: tuple[int, ...] = (1,)
    seeds: tuple[int, ...] = (0,)
    seconds: float = DEFAULT_SECONDS
    memory: int = 0
    modes: tuple[Mapping[str, Any], ...] = ({},)
    default_target: str = ""
    sets: tuple[ArgumentSet, ...] = ()
    ranks: tuple[int, ...] = (0,)
    recorded: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)

    def cases(self) -> Iterator[Case]:
        """Every case: those of one program follow each other. Python files are executed, and their kernels compiled.

        Raises `DiagnosticError` for a file it cannot read, `UsageError` for a kernel that there is not.
        """
        for path in self.programs:
            for program in programs_in(path, lambda file: _shown(Path(file), self.folder)):
                yield from self._of_program(program)

    def _of_program(self, program: TextFile | PythonFile | CppFile) -> Iterator[Case]:
        names = (program.shown, *program.also)
        fitting = [s for s in self.sets if any(fnmatchcase(name, s.match) for name in names)] or [ArgumentSet()]
        default = next((s.default_target for s in fitting if s.default_target), self.default_target)
        for target in self.targets or ("",):
            stated = target or (default if isinstance(program, CppFile) else "")
            given = [program.on(stated, s.args, s.expected) for s in fitting]
            for action in self.do:
                common: dict[str, Any] = {"program": program.shown, "action": action, "target": target}
                common |= {"seconds": self.seconds, "memory": self.memory, "default_target": default}
                common["recorded"] = self._recorded(names, action)
                for mode in _distinct(self.modes, _OF[action]):
                    if action in (Action.CHECK, Action.PROVE):
                        text, compiled = given[0][:2]
                        yield Case(id=self._id(common, mode), mode=mode, text=text, compiled=compiled, **common)
                        continue
                    for chosen, worked_on in zip(fitting, given):
                        yield from self._of_set(chosen, {**common, "mode": mode}, worked_on)

    def _recorded(self, names: Sequence[str], action: Action) -> Mapping[str, str]:
        """What is recorded for a program and an action, or for all actions; the first pattern that fits counts."""
        for pattern, by_action in self.recorded.items():
            if any(fnmatchcase(name, pattern) for name in names):
                return by_action.get(action.value, by_action.get("*", {}))
        return {}

    def _of_set(self, chosen: ArgumentSet, common: dict[str, Any], given: Given) -> Iterator[Case]:
        compares = chosen.expected or chosen.function or chosen.program or chosen.against
        if common["action"] is Action.COMPARE and not compares:
            return
        if common["action"] is Action.COMPARE_ORDER:
            if chosen.program:
                which = self._id(common, common["mode"], chosen.name)
                shown = {"entry": chosen.entry, **given._asdict(), "expected": (), "other": self._other(chosen)}
                yield Case(id=which, **common, **shown)
            return
        more: dict[str, Any] = {"entry": chosen.entry, **given._asdict(), "expected": ()}
        if common["action"] is Action.COMPARE:
            expected = tuple(str(self.folder / name) if name else "" for name in given.expected)
            more |= {"expected": expected, "function": chosen.function, "tolerance": chosen.tolerance}
            more["against"] = chosen.against
            if chosen.program:
                more["other"] = self._other(chosen)
        for blocks, ranks, seed in product(chosen.blocks or self.blocks, chosen.ranks or self.ranks, self.seeds):
            which = self._id(common, common["mode"], chosen.name, blocks=blocks, ranks=ranks, seed=seed)
            yield Case(id=which, blocks=blocks, ranks=ranks, seed=seed, **common, **more)

    def _other(self, chosen: ArgumentSet) -> str:
        """The text of the other version of a program."""
        return TextFile(self.folder / chosen.program, chosen.program).on("", None, ()).text

    def _id(
        self,
        common: Mapping[str, Any],
        mode: Mapping[str, Any],
        name: str = "",
        *,
        blocks: int = 1,
        ranks: int = 0,
        seed: int = 0,
    ) -> str:
        parts = [
            common["program"],
            common["target"],
            common["action"].value,
            name,
            f"blocks={blocks}" if blocks != 1 else "",
            f"ranks={ranks}" if ranks else "",
            f"seed={seed}" if seed else "",
            *(f"{key}={value}" for key, value in mode.items() if any(m.get(key) != value for m in self.modes)),
        ]
        return " ".join(filter(None, parts))


def _distinct(modes: Sequence[Mapping[str, Any]], keys: AbstractSet[str]) -> list[dict[str, Any]]:
    """The modes as far as they concern an action, each once."""
    found = [{key: value for key, value in mode.items() if key in keys} for mode in modes]
    return [mode for i, mode in enumerate(found) if mode not in found[:i]]


def _shown(path: Path, folder: Path) -> str:
    try:
        return _utf8(path.relative_to(folder).as_posix())
    except ValueError:
        return _utf8(path.as_posix())


def _utf8(name: str) -> str:
    """A name as results can keep it: bytes that are not UTF-8 are written with backslashes."""
    return name.encode("utf-8", "backslashreplace").decode()


# --- reading ---------------------------------------------------------------------------------------------------------


def read_spec(path: Path) -> Spec:
    """The campaign that a TOML file describes. Raises `DiagnosticError` (CAMP-SPEC, CAMP-PROGRAMS)."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _refused(SPEC, path, error.strerror or str(error)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _refused(SPEC, path, str(error)) from None
    try:
        return _spec(content, path)
    except ValueError as error:
        raise _refused(SPEC, path, str(error)) from None


def of_paths(names: Sequence[str], do: Sequence[Action] = DEFAULT_DO, targets: Sequence[str] = ()) -> Spec:
    """The campaign over files and all ``.pto`` files and Python files with kernels below folders.

    Raises `DiagnosticError` (CAMP-PROGRAMS).

    ``targets``: by default those that the texts state.
    """
    first = Path(names[0])
    folder = first if first.is_dir() else first.parent
    programs = tuple(dict.fromkeys(p for name in names for p in _programs(name, Path())))
    return Spec(_utf8(folder.resolve().name), programs, folder, tuple(targets), do=tuple(do))


def _spec(content: Mapping[str, Any], path: Path) -> Spec:
    folder = path.parent
    read = _Reader(content, "")
    patterns = read.texts("programs")
    left_out = read.texts("exclude")
    programs = tuple(
        path
        for path in dict.fromkeys(p for pattern in patterns for p in _programs(pattern, folder))
        if not any(fnmatchcase(_shown(path, folder), pattern) for pattern in left_out)
    )
    if not programs:
        raise ValueError('it names no programs; write programs = ["kernels/*.pto"]')
    values: dict[str, Any] = {
        "name": read.text("name", path.stem),
        "targets": read.choice("targets", tuple(TARGETS)),
        "do": tuple(map(Action, read.choice("do", tuple(a.value for a in Action)))) or DEFAULT_DO,
        "blocks": read.numbers("blocks", 1) or (1,),
        "ranks": read.numbers("ranks", 1) or (0,),
        "seeds": read.numbers("seeds", 0) or (0,),
        "seconds": float(read.number("seconds", DEFAULT_SECONDS)),
        "memory": read_bytes(read.take("memory", 0)),
        "modes": _modes(read.take("mode", {})),
        "default_target": read.one_of("default_target", tuple(TARGETS)),
        "sets": tuple(_set(entry, i) for i, entry in enumerate(read.tables("set"))),
        "recorded": _recorded(folder, read.text("recorded", "")),
    }
    read.finish()
    return Spec(programs=programs, folder=folder, **values)


_OUTCOMES = tuple(s.value for s in (Status.PASSED, Status.REFUSED, Status.FINDING, Status.WRONG))


def _recorded(folder: Path, name: str) -> dict[str, dict[str, dict[str, str]]]:
    """The outcomes in a file: by pattern of programs and by action, each with ``outcome``, ``rule`` and ``source``."""
    if not name:
        return {}
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"recorded: {name}: {error.strerror or error}") from None
    except ValueError as error:
        raise ValueError(f"recorded: {name} is no JSON: {error}") from None
    actions = (*(a.value for a in Action), "*")
    found: dict[str, dict[str, dict[str, str]]] = {}
    for pattern, entry in content.items() if isinstance(content, dict) else [("", None)]:
        by_action = {"*": entry} if isinstance(entry, str) else entry
        if not isinstance(by_action, dict) or not set(by_action) <= set(actions):
            raise ValueError(f"recorded: {name}: {pattern!r} has an outcome, or one for each of {', '.join(actions)}")
        for action, told in by_action.items():
            one = {"outcome": told} if isinstance(told, str) else told
            if (
                not isinstance(one, dict)
                or not set(one) <= {"outcome", "rule", "source"}
                or one.get("outcome") not in _OUTCOMES
            ):
                raise ValueError(
                    f"recorded: {name}: {pattern!r}, {action}: the outcome is one of {', '.join(_OUTCOMES)}"
                )
            found.setdefault(pattern, {})[action] = {key: str(value) for key, value in one.items()}
    return found


def _set(entry: Mapping[str, Any], number: int) -> ArgumentSet:
    read = _Reader(entry, f"set {number + 1}: ")
    args = read.texts("args") if "args" in entry else None
    for position, text in enumerate(args or ()):
        try:
            changes = parse_argument(text, position).changes
        except ArgumentSyntaxError as error:
            raise ValueError(f"set {number + 1}: args: {error}") from None
        if changes:
            why = "a case that changes a file changes what the next one reads"
            raise ValueError(f"set {number + 1}: args: {text!r}: {why}; write mmap:PATH.npy, or zeros:DTYPE:SHAPE")
    bound = read.take("tolerance", {})
    if not isinstance(bound, dict):
        raise ValueError(f"set {number + 1}: tolerance is not a table")
    if bound:
        tolerance(bound)
    out = ArgumentSet(
        read.text("match", "*"),
        read.text("name", f"set{number + 1}"),
        read.text("entry", ""),
        args,
        read.numbers("blocks", 1),
        read.numbers("ranks", 1),
        read.texts("expected"),
        read.text("function", ""),
        read.text("program", ""),
        read.text("against", ""),
        bound,
        read.one_of("default_target", tuple(TARGETS)),
    )
    read.finish()
    if out.against and out.against not in _MODE["backend"]:
        raise ValueError(f"set {number + 1}: against is {out.against!r}; there are {', '.join(_MODE['backend'])}")
    if out.function and not re.fullmatch(r"[\w.]+:\w+", out.function):
        raise ValueError(f"set {number + 1}: function is {out.function!r}, not module:name")
    return out


def _modes(value: Any) -> tuple[dict[str, Any], ...]:
    """All combinations of what a table of modes says."""
    if not isinstance(value, dict):
        raise ValueError("mode is not a table")
    listed = {key: chosen if isinstance(chosen, list) and chosen else [chosen] for key, chosen in value.items()}
    for key, chosen in listed.items():
        for one in chosen:
            if key not in _MODE or not any(one == known and type(one) is type(known) for known in _MODE[key]):
                known = "; ".join(f"{k}: {', '.join(map(str, v))}" for k, v in _MODE.items())
                raise ValueError(f"mode has {key} = {one!r}; there are {known}")
    return tuple(dict(zip(listed, combination)) for combination in product(*listed.values()))


def read_bytes(value: Any) -> int:
    """A number of bytes, such as 4000000 or "4GiB". Raises `ValueError`."""
    found = re.fullmatch(r"(\d+)\s*([KMG]?I?B?)", str(value).upper())
    if isinstance(value, bool) or found is None or found[2] not in _UNITS:
        raise ValueError(f'memory is {value!r}, not bytes such as 4000000 or "4GiB"')
    return int(found[1]) * _UNITS[found[2]]


class _Reader:
    """Takes the entries of a table; what is left at the end is not known."""

    def __init__(self, content: Mapping[str, Any], where: str) -> None:
        self.rest, self.where, self.known = dict(content), where, list[str]()

    def take(self, key: str, default: Any) -> Any:
        self.known.append(key)
        return self.rest.pop(key, default)

    def text(self, key: str, default: str) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise ValueError(f"{self.where}{key} is {value!r}, not a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            raise ValueError(f"{self.where}{key} is {value!r}, not a list of texts")
        return tuple(value)

    def choice(self, key: str, known: Sequence[str]) -> tuple[str, ...]:
        values = self.texts(key)
        for value in values:
            if value not in known:
                raise ValueError(f"{self.where}{key} has {value!r}; there are {', '.join(known)}")
        return values

    def one_of(self, key: str, known: Sequence[str]) -> str:
        value = self.text(key, "")
        if value and value not in known:
            raise ValueError(f"{self.where}{key} is {value!r}; there are {', '.join(known)}")
        return value

    def number(self, key: str, default: float) -> float:
        value = self.take(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
            raise ValueError(f"{self.where}{key} is {value!r}, not a number from 0 on")
        return value

    def numbers(self, key: str, least: int) -> tuple[int, ...]:
        value = self.take(key, [])
        value = value if isinstance(value, list) else [value]
        if not all(isinstance(n, int) and not isinstance(n, bool) and n >= least for n in value):
            raise ValueError(f"{self.where}{key} is {value!r}, not a list of integers from {least} on")
        return tuple(value)

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
            raise ValueError(f"{self.where}{key} is not a list of tables; write [[{key}]]")
        return value

    def finish(self) -> None:
        if self.rest:
            raise ValueError(f"{self.where}unknown key {next(iter(self.rest))!r}; there are {', '.join(self.known)}")


def _programs(pattern: str, folder: Path) -> list[Path]:
    """The files that a path or a pattern means, sorted. Raises `DiagnosticError` if there are none."""
    path = folder / pattern
    if path.is_dir():
        found = below(path, kernels=True)
    elif path.is_file() or not any(c in pattern for c in "*?["):
        found = [path] if os.path.isfile(split(str(path))[0]) else []
    else:
        root = Path(Path(pattern).anchor or folder)
        try:
            found = sorted(p for p in root.glob(str(Path(pattern).relative_to(Path(pattern).anchor))) if p.is_file())
        except ValueError as error:
            raise _refused(PROGRAMS, path, str(error)) from None
        found = [p for p in found if p.suffix not in (PYTHON, *CPP) or has_kernels(p)]
    if not found:
        raise _refused(PROGRAMS, path, "there is no such program")
    return found


def _refused(rule: Rule, path: Path, why: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(rule.id, Severity.ERROR, why, Location(str(path))))
