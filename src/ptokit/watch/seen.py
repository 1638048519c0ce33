"""What a watched run saw at each step, and `Stepper`: a run in a terminal, one instruction at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import file_lines
from ptokit.ir.core import Module
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine.global_memory import View
from ptokit.machine.loops import Loops
from ptokit.machine.observer import Moment, Observer, contents
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType
from ptokit.types.enums import TileType
from ptokit.types.values import Mask, Scalar

# `Seen`: what an operand held at one moment of a run, with where and when that was.


@dataclass(frozen=True, eq=False)
class Seen:
    """The contents of one operand right after an instruction.

    ``array`` is a copy: of a tile its valid region, of a view its rows and columns, of a register its lanes. Its
    dtype is that of the element type; float32 for types that NumPy and ml_dtypes lack, int8 for int4. It is None
    where nothing can be read. ``address`` is in bytes, and None for what has no address.
    """

    name: str  # as in the program, without %
    instruction: str
    operand: str  # its role in the instruction: dst, src0 …
    location: Location
    block: int
    core: int
    loops: Loops
    kind: str  # vec, mat, acc …; "view", "register", "predicate", "pointer" or "number"
    dtype: DType | None
    array: np.ndarray | None = field(repr=False)
    address: int | None = None
    buffer: str = ""
    rank: int = -1  # of the device, in a launch on several
    place: str = ""  # rank, block and core in words

    @property
    def line(self) -> int:
        """Line of the instruction."""
        return self.location.line

    @property
    def when(self) -> str:
        """Rank, block, core and loop variables in words."""
        return ", ".join([self.place, *(f"{name}={value}" for name, value in self.loops)])

    @property
    def what(self) -> str:
        """The type in words: ``vec 16x16xf32 at 0x100 of UB``."""
        if self.array is not None and not self.array.ndim:
            return f"{self.kind} {self.array}"
        shape = "" if self.array is None else "x".join(str(n) for n in self.array.shape)
        elements = "x".join(part for part in (shape, "" if self.dtype is None else str(self.dtype)) if part)
        at = "" if self.address is None else f"at {self.address:#x} of {self.buffer}"
        return " ".join(part for part in (self.kind, elements, at) if part)

    def table(self, width: int = 80, most: int = 256) -> str:
        """The elements as text, those in the middle left out of arrays with more than ``most``."""
        if self.array is None:
            return "cannot be read"
        if not self.array.size:
            return "empty"
        values = self.array
        if self.dtype is not None and self.dtype.is_float:
            values = values.astype(np.float32)
        values = values.astype(np.uint8) if values.dtype == np.bool_ else values
        finite = np.abs(values[np.isfinite(values) & (values != 0)]) if values.dtype.kind == "f" else values[:0]
        plain = bool(finite.size == 0 or (finite.min() >= 1e-3 and finite.max() < 1e6))
        style: Any = {"max_line_width": width, "precision": 4, "suppress_small": plain}
        if values.ndim == 2 and values.shape[1] == 1 < values.shape[0]:  # as a row: it is easier to read
            row = np.array2string(values[:, 0], threshold=most, edgeitems=4, **style)
            return f"column {row}"
        return np.array2string(values, threshold=most, edgeitems=4, **style)

    def __str__(self) -> str:
        return (
            f"{self.name or self.operand} after {self.instruction} in line {self.line} ({self.when}): {self.what}\n"
            f"{self.table()}"
        )

    def __repr__(self) -> str:
        return f"<{self.name or self.operand} after {self.instruction} in line {self.line}, {self.when}: {self.what}>"


@dataclass(frozen=True)
class Named:
    """An operand or a result of a step: what the program calls it, its type there, and the object itself."""

    name: str  # empty if it has none
    type: Any  # None where the program has no value for it
    value: Any


def named(moment: Moment) -> dict[str, Named]:
    """The operands of a step and, once it is done, its results, by their names in the instruction."""
    out = {}
    for operand, value in moment.given.items():
        declared = moment.op.get(operand)
        made = str(getattr(value, "name", "") or "").removeprefix("%")
        out[operand] = Named(
            made if declared is None else declared.name or made, None if declared is None else declared.type, value
        )
    for (operand, value), result in zip(moment.returned.items(), moment.op.results):
        out[operand] = Named(result.name, result.type, value)
    return out


def seen(moment: Moment, operand: str) -> Seen:
    """What an operand or a result of a step holds now."""
    return look(moment, operand, named(moment).get(operand, Named("", None, None)))


def look(moment: Moment, operand: str, it: Named) -> Seen:
    """What `it` holds at this moment, as that operand of the step; no operand of it if ``operand`` is empty."""
    value, type = it.value, it.type
    dtype, address, buffer, kind = None, None, "", "number"
    held = contents(value)
    if isinstance(value, Tile):
        dtype, kind, address = value.type.dtype, value.type.loc.text, value.address
        buffer = "" if value.type.loc is TileType.Ctrl else buffer_name(value.type.loc)
    elif isinstance(value, View):
        dtype, kind = value.dtype, "view"
    elif isinstance(type, Mask):
        kind = "predicate"
        held = None if held is None else held[:: max(1, type.bits // 8)]
    elif isinstance(value, np.ndarray) and not isinstance(type, Scalar):
        dtype, kind = getattr(type, "dtype", None), "register"
    elif held is None and value is not None:
        kind = "pointer"
    if dtype is not None and dtype.value is None and held is not None:
        held = decode(dtype, held).copy()
    array = None if held is None else np.asarray(held)
    where = (moment.location, moment.block, moment.core, moment.loops)
    return Seen(
        it.name, moment.name, operand, *where, kind, dtype, array, address, buffer, moment.machine.rank, moment.place
    )


class Known:
    """What the names of a program stood for when a step last used them, on each core."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], Named] = {}

    def remember(self, moment: Moment) -> None:
        """The step is done."""
        for it in named(moment).values():
            if it.name and it.value is not None:
                self._known[moment.core, it.name] = it

    def look(self, moment: Moment, name: str) -> Seen | None:
        """The contents of the named operand now; None if no step has used it."""
        it = self._known.get((moment.core, name))
        return None if it is None else look(moment, "", it)

    def names(self, core: int) -> list[str]:
        """The names that steps of the core have used."""
        return sorted(name for number, name in self._known if number == core)


# `Folder`: everything that a run writes, instruction by instruction, as files in a directory.


INDEX = "index.jsonl"


class Folder:
    """Call it with every `Seen`: contents go to ``NUMBER-INSTRUCTION-NAME.npy``, a line about each to ``index.jsonl``.

    Elements of types that NumPy cannot save (bf16, f8) are saved as float32, which holds them exactly; the index
    names the element type. A context manager; the index is complete when it is left, also by an exception.
    """

    def __init__(self, directory: Path) -> None:
        self.directory, self.count, self.bytes = directory, 0, 0
        directory.mkdir(parents=True, exist_ok=True)
        self._index = (directory / INDEX).open("x", encoding="utf-8")

    def __enter__(self) -> Folder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._index.close()

    def __call__(self, seen: Seen) -> None:
        self.count += 1
        file = None
        if seen.array is not None:
            array = seen.array if seen.array.dtype.kind in "biuf" else seen.array.astype(np.float32)
            name = re.sub(r"[^\w.-]+", "_", seen.name or seen.operand)[:60]
            file = f"{self.count:06}-{seen.instruction}-{name}.npy"
            np.save(self.directory / file, array, allow_pickle=False)
            self.bytes += array.nbytes
        line: dict[str, Any] = {"number": self.count, "file": file, "name": seen.name, "instruction": seen.instruction}
        line |= {"operand": seen.operand, "source": seen.location.file, "line": seen.line, "block": seen.block}
        line |= {"rank": seen.rank} if seen.rank >= 0 else {}
        line |= {"core": seen.core, "loops": {name: int(value) for name, value in seen.loops}, "kind": seen.kind}
        line |= {"dtype": None if seen.dtype is None else str(seen.dtype), "address": seen.address}
        self._index.write(json.dumps(line) + "\n")


# Which contents to look at: ``acc``, ``acc@12``, ``@12``, ``acc@12:block=0,i=3``.


_FORM = re.compile(r"%?(?P<name>[\w.$-]*(?:\[\d+\])*)(?:@(?P<line>\d+))?(?::(?P<when>[^:]*))?")
_FIXED = re.compile(r"(?P<name>[\w.$-]+)\s*=\s*(?P<value>-?\d+)")


class SelectionError(ValueError):
    """A text that selects nothing, with what is wrong about it."""


@dataclass(frozen=True)
class Selection:
    """One choice: a tile, view or register by name, a line, or both; and when.

    Without a line: after every instruction that writes or returns the named one. Without a name: what the
    instructions in that line write and return. With both: what the named one holds after each instruction in that
    line, whoever has written it. ``when`` has the values that ``block`` and loop variables must have.
    """

    name: str
    line: int | None = None
    when: Mapping[str, int] = field(default_factory=dict)
    text: str = ""

    @staticmethod
    def of(text: str) -> Selection:
        """Read one. Raises `SelectionError`."""
        match = _FORM.fullmatch(text.strip())
        if match is None or not (match["name"] or match["line"]):
            raise SelectionError(f"{text!r} is not NAME, NAME@LINE or @LINE, perhaps with :block=0,i=3 after it")
        when = {}
        for part in (match["when"] or "").split(",") if match["when"] is not None else ():
            fixed = _FIXED.fullmatch(part.strip())
            if fixed is None:
                raise SelectionError(f"{part!r} in {text!r} is not block=NUMBER or VARIABLE=NUMBER")
            when[fixed["name"]] = int(fixed["value"])
        return Selection(match["name"], int(match["line"]) if match["line"] else None, when, text.strip())

    def at(self, moment: Moment) -> bool:
        """True at a step that stands in the line, at a moment that fits."""
        if self.line is not None and moment.location.line != self.line:
            return False
        if not self.when:
            return True
        now = {**dict(moment.loops), "block": moment.block, "core": moment.core, "rank": moment.machine.rank}
        return all(now.get(name) == value for name, value in self.when.items())

    def missing(self, module: Module) -> str:
        """What the module lacks that the choice names; empty if it has all of it."""
        names, lines = set(), set()
        for function in module.functions:
            for op in function.body.walk() if function.body is not None else ():
                lines.add(op.location.line)
                names |= {value.name for value in (*op.values, *op.results)}
        if self.line is not None and self.line not in lines:
            after = min((line for line in lines if line > self.line), default=None)
            near = "" if after is None else f"; the next one is in line {after}"
            return f"there is no operation in line {self.line}{near}"
        if self.name and self.name not in names:
            return f"nothing is called {self.name!r}{_near(self.name, names)}"
        return ""


def _near(name: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, [n for n in names if n and not n.isdigit()], 3)
    return f"; did you mean {', '.join(close)}?" if close else ""


# `Recorder`: an observer that keeps, or hands on, what the chosen operands hold after each instruction.


class Recorder(Observer):
    """Calls ``found`` with every `Seen` that one of the selections chooses; without selections, all that is written.

    ``hits`` counts for each selection how often it applied.
    """

    def __init__(self, selections: Sequence[Selection], found: Callable[[Seen], None]) -> None:
        self.selections, self.found = selections, found
        self.hits = [0] * len(selections)
        self._known = Known() if any(choice.name and choice.line is not None for choice in selections) else None

    def after(self, moment: Moment) -> None:
        if self._known is not None:
            self._known.remember(moment)
        if not self.selections:
            for operand in moment.left:
                self.found(seen(moment, operand))
            return
        chosen: dict[str, Seen] = {}
        for number, selection in enumerate(self.selections):
            if selection.at(moment):
                some = self._chosen(moment, selection)
                self.hits[number] += len(some)
                chosen |= {s.name or s.operand: s for s in some}
        for each in chosen.values():
            self.found(each)

    def _chosen(self, moment: Moment, selection: Selection) -> list[Seen]:
        if not selection.name:
            return [seen(moment, operand) for operand in moment.left]
        known = named(moment)
        if selection.line is None:
            return [look(moment, o, known[o]) for o in moment.left if known[o].name == selection.name]
        for operand, it in known.items():
            if it.name == selection.name:
                return [look(moment, operand, it)]
        used = self._known.look(moment, selection.name) if self._known is not None else None
        return [] if used is None else [used]


# `Stepper`: a run in a terminal, one instruction at a time.


HELP = """\
  Enter, n      the next instruction
  c             on to the end
  u LINE        on until an instruction in that line
  b             on to the next block
  p NAME        what a tile, view or register holds
  l             the lines around
  q             quit: nothing is saved"""


class Quit(Exception):
    """The user has had enough: the run ends without results."""


class Stepper(Observer):
    """Stops after every instruction, says what it has changed, and asks what to do.

    ``ask()`` returns a line, or None at the end of input, which quits; ``tell`` prints. Raises `Quit` from the launch.
    """

    def __init__(self, ask: Callable[[], str | None], tell: Callable[[str], None]) -> None:
        self._ask, self._tell = ask, tell
        self._stops: Callable[[Moment], bool] = lambda moment: True
        self._before: dict[str, Seen] = {}
        self._known = Known()

    def before(self, moment: Moment) -> None:
        if self._stops(moment):
            self._before = {name: seen(moment, name) for name in moment.written}

    def after(self, moment: Moment) -> None:
        self._known.remember(moment)
        if self._stops(moment):
            self._show(moment)
            self._prompt(moment)

    def _show(self, moment: Moment) -> None:
        self._tell(f"{moment.name} ({seen(moment, '').when})")
        for line in _source(moment.location, 0):
            self._tell(line)
        for operand, it in named(moment).items():
            if it.value is not None:
                now = look(moment, operand, it)
                changed = _changed(self._before.get(operand), now) if operand in moment.written else ""
                self._tell(f"     {operand:<6} {now.name:<10} {now.what}{changed}".rstrip())

    def _prompt(self, moment: Moment) -> None:
        while True:
            answer = self._ask()
            if answer is None:
                raise Quit
            word, _, rest = answer.strip().partition(" ")
            rest = rest.strip().removeprefix("%")
            match word:
                case "" | "n" | "next" | "s" | "step":
                    self._stops = lambda other: True
                    return
                case "c" | "continue":
                    self._stops = lambda other: False
                    return
                case "b" | "block":
                    self._stops = _in_another_block(moment.block)
                    return
                case "u" | "until" if rest.isdigit():
                    self._stops = _in_line(int(rest))
                    return
                case "p" | "print" if rest:
                    self._print(moment, rest)
                case "l" | "list":
                    for line in _source(moment.location, 4):
                        self._tell(line)
                case "q" | "quit":
                    raise Quit
                case _:
                    self._tell(HELP)

    def _print(self, moment: Moment, name: str) -> None:
        now = self._known.look(moment, name)
        if now is None:
            names = ", ".join(self._known.names(moment.core))
            self._tell(f"no instruction has used {name!r} so far; used: {names}")
            return
        self._tell(f"{name}: {now.what}" + ("" if now.array is None or not now.array.ndim else f"\n{now.table()}"))


def _source(at: Location, around: int) -> list[str]:
    """The lines of a place, an arrow at its own."""
    lines = file_lines(at.file) if at.file is not None else []
    shown = range(max(1, at.line - around), min(len(lines), at.line + around) + 1)
    return [f"{'->' if n == at.line else '':>3}{n:5} | {lines[n - 1].rstrip()}" for n in shown]


def _in_another_block(block: int) -> Callable[[Moment], bool]:
    return lambda moment: moment.block != block


def _in_line(line: int) -> Callable[[Moment], bool]:
    return lambda moment: moment.location.line == line


def _changed(before: Seen | None, now: Seen) -> str:
    """How many elements have become others, and the first of them."""
    if before is None or before.array is None or now.array is None or before.array.shape != now.array.shape:
        return ""
    a, b = before.array, now.array
    bits = np.dtype(f"u{a.dtype.itemsize}")
    places = np.argwhere(np.ascontiguousarray(a).view(bits) != np.ascontiguousarray(b).view(bits))
    if not len(places):
        return ", no element changed"
    first = tuple(int(i) for i in places[0])
    at = ", ".join(str(i) for i in first)
    return f", {len(places)} of {a.size} changed; at ({at}): {_short(a[first])} -> {_short(b[first])}"


def _short(value: Any) -> str:
    """A number: integers whole, others with six digits."""
    return str(value) if isinstance(value, np.bool_ | np.integer) else f"{float(value):.6g}"
