"""Random kernels that change objects of Python: compiled and interpreted they do what Python does, or are refused.

The same text runs as plain Python on numbers, with tiles that are mere objects, and says what is right.
"""

from __future__ import annotations

import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import DiagnosticError

OUT = 64
SIZES = (0, 3)

HEAD = """
import contextlib, dataclasses, functools, itertools, random
import numpy as np
from array import array
from collections import deque
from types import SimpleNamespace

class Box:
    total = 0

    def __init__(self):
        self.c, self.items, self.inner, self.level = 0, [], SimpleNamespace(c=1), 0

    def tick(self, by=1):
        self.c += by
        return self.c

    def maybe(self, k, by):
        if k > 3:
            return by
        self.items.append(by)
        return self.c

    @property
    def asked(self):
        self.inner.c += 1
        return self.inner.c

    def __getitem__(self, k):
        self.level += k
        return self.level

    def __enter__(self):
        self.level += 1
        return self

    def __exit__(self, *error):
        self.level -= 1

@dataclasses.dataclass
class Data:
    at: int = 0
    all: list = dataclasses.field(default_factory=list)

class Entered:
    def __init__(self):
        self.times = 0

    def __enter__(self):
        self.times += 1

    def __exit__(self, *error):
        self.times += 1

class Steps:
    def __init__(self):
        self.k = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.k += 1
        if self.k > 5:
            raise StopIteration
        return self.k

LOG = []

def numbers(first):
    for k in range(first, first + 6):
        LOG.append(k)
        yield k

steps = lambda first: numbers(first)  # which Python carries out

@contextlib.contextmanager
def logged(v):
    LOG.append(v)
    yield
    LOG.append(v)

@contextlib.contextmanager
def pushed(held, v):
    held.append(v)
    yield
    held.pop()

@functools.lru_cache
def squared(v):
    return v * v

def put(held, v):
    held.append(v)
    return len(held)

def most(held, a, n):
    for k in range(n):
        if a > 40:
            break
        a += len(held) + k
    return a

def fresh(v):
    box = Box()
    box.tick(v)
    box.items.append(v)
    return box
"""

KINDS: dict[str, tuple[str, list[str], list[str]]] = {  # made by, changed by, looked at by
    "box": (
        "Box()",
        [
            "{s}.c += {v}",
            "{s}.tick({v})",
            "{s}.items.append({v})",
            "{s}.inner.c = {v}",
            "Box.total += {v}",
            "a += {s}.asked",
            "a += {s}[{v}]",
            "{s}.maybe({v}, 2)",
            "setattr({s}, 'c', {v})",
            "{s}.items = [{v}]",
        ],
        ["{s}.c", "len({s}.items)", "{s}.inner.c", "Box.total", "{s}.level"],
    ),
    "data": ("Data({v})", ["{s}.at += {v}", "{s}.all.append({v})", "put({s}.all, {v})"], ["{s}.at", "len({s}.all)"]),
    "space": ("SimpleNamespace(c={v}, d=[{v}])", ["{s}.c += {v}", "{s}.d[0] = {v}"], ["{s}.c", "{s}.d[0]"]),
    "list": (
        "[{v}, 2]",
        ["{s}.append({v})", "{s}[0] = {v}", "{s}.insert(0, {v})", "put({s}, {v})", "[{s}.append(q) for q in (1, {v})]"],
        ["len({s})", "{s}[0]", "{s}[-1]"],
    ),
    "nested": ("[[{v}], [[1], 2]]", ["{s}[0].append({v})", "{s}[1][0][0] = {v}"], ["len({s}[0])", "{s}[1][0][0]"]),
    "dict": (
        "{{'a': [1], 'b': {v}}}",
        ["{s}['a'].append({v})", "{s}['b'] = {v}", "{s}.update(c={v})", "{s}.setdefault('d', []).append(1)"],
        ["len({s}['a'])", "{s}['b']", "len({s})"],
    ),
    "set": ("{{1, 2}}", ["{s}.add({v} + 9)", "{s}.discard({v})"], ["len({s})"]),
    "deque": ("deque([1, {v}, 3])", ["{s}.rotate(1)", "{s}.append({v})", "{s}[0] = {v}"], ["{s}[0]", "len({s})"]),
    "array": ("array('q', [1, {v}])", ["{s}[0] += {v}", "{s}.append({v})"], ["{s}[0]", "len({s})"]),
    "bytes": ("bytearray([1, {v}])", ["{s}[1] = {v}"], ["{s}[1]"]),
    "numpy": ("np.arange(4) + {v}", ["{s}[1] += {v}", "{s}[:] = {v}"], ["int({s}[1])", "int({s}[3])"]),
    "view": ("(np.arange(8) + {v})[1::2]", ["{s}[1] += {v}"], ["int({s}[1])", "int({s}.base[3])"]),
    "iterator": ("iter([{v}, 5, 6, 7, 8, 9])", ["a += next({s}, 0)", "next({s}, None)"], []),
    "pairs": ("zip([{v}, 5, 6], itertools.count())", ["a += next({s}, (0, 0))[0]"], []),
    "steps": ("Steps()", ["a += next({s}, 0)"], ["{s}.k"]),
    "count": ("itertools.count({v})", ["a += next({s})"], []),
    "cycle": ("itertools.cycle([{v}, 5, 6])", ["a += next({s})"], []),
    "generator": ("steps({v})", ["a += next({s}, 0)"], ["len(LOG)"]),
    "entered": ("Entered()", [], ["{s}.times"]),
    "random": ("random.Random({v})", ["a += {s}.randrange(9)"], []),
}
REST = {"iterator": "sum({s})", "pairs": "len(list({s}))", "count": "next({s})", "cycle": "next({s})"}
REST |= {"steps": "sum({s})", "generator": "sum({s})", "random": "{s}.randrange(99)"}


class Writer:
    """Functions whose statements change objects, in loops and branches of all kinds."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.states: dict[str, str] = {}  # name: kind
        self.loops = 0
        self.daring = self.rng.choice([0.0, 0.03, 0.15, 0.5])  # changes where the run decides

    def say(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def text(self) -> str:
        rng = self.rng
        for number in range(rng.randrange(1, 4)):
            self.declare(0, f"G{number}")
        self.say(0, "def kept(v, p=[], *, q={'n': 1}):\n    p.append(v)\n    q['n'] += v\n    return len(p) + q['n']")
        self.say(0, "kept.calls = 0")
        self.say(0, "def f(x: pto.Ptr[pto.i64], y: pto.Ptr[pto.i64], n: int):")
        self.say(1, "a, b, k, m = 0, 1, n, 2")
        for number in range(rng.randrange(1, 4)):
            self.declare(1, f"l{number}")
        if rng.random() < 0.3:
            self.say(1, "h = Box()")
            self.say(1, "h.t, h.u = (pto.Tile(pto.TileType.Vec, pto.f32, 1, 8) for _ in range(2))")
            self.say(1, "h.first = h.t")
            self.states["h"] = "tiles"
        self.block(1, 5, 0, False, [])
        for number, (name, kind) in enumerate(self.states.items()):
            for more, look in enumerate([*self.looks(kind)][:5]):
                self.say(1, f"y[{8 + number * 6 + more}] = {look.format(s=name)}")
            if kind in REST:
                self.say(1, f"y[{8 + number * 6 + 5}] = {REST[kind].format(s=name)}")
        self.lines += [
            "    y[0] = a",
            "    y[1] = b",
            "    y[2] = kept(0)",
            "    y[3] = len(LOG)",
            "    y[4] = kept.calls",
        ]
        return HEAD + "\n".join(self.lines) + "\n"

    def declare(self, depth: int, name: str) -> None:
        kind = self.rng.choice([*KINDS, "box", "list", "iterator"])
        self.states[name] = kind
        self.say(depth, f"{name} = {KINDS[kind][0].format(v=self.rng.randrange(1, 5))}")

    def looks(self, kind: str) -> list[str]:
        return ["int({s}.t is {s}.first)"] if kind == "tiles" else KINDS[kind][2]

    def number(self, loops: list[str], depth: int = 1) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.4:
            return rng.choice(["a", "b", "n", "m", str(rng.randrange(6)), *loops])
        one, other = self.number(loops, depth - 1), self.number(loops, 0)
        return rng.choice([f"({one} + {other})", f"({one} - {other})", f"x[({one}) % 40]", f"({one} * {other} & 31)"])

    def known(self, known: list[str]) -> str:
        """A number that is known while the kernel is compiled."""
        name, kind = self.rng.choice([*self.states.items()])
        looks = [look.format(s=name) for look in self.looks(kind)]
        return self.rng.choice([str(self.rng.randrange(1, 5)), *looks, *known])

    def change(self, known: list[str]) -> str:
        rng = self.rng
        name, kind = rng.choice([*self.states.items()])
        if kind == "tiles":
            return f"{name}.t, {name}.u = {name}.u, {name}.t"
        forms = [*KINDS[kind][1], "a += kept({v})", "kept.calls += {v}"]
        value = rng.choice([str(rng.randrange(1, 5)), *known]) if "append" in forms[0] else str(rng.randrange(1, 5))
        return rng.choice(forms).format(s=name, v=value)

    def block(
        self, depth: int, size: int, run: int, loop: bool, known: list[str], loops: list[str] | None = None
    ) -> None:
        for _ in range(self.rng.randint(1, size)):
            self.statement(depth, run, loop, known, loops or [])

    def statement(self, depth: int, run: int, loop: bool, known: list[str], loops: list[str]) -> None:
        """One statement. ``run``: how many loops and branches around it the run decides."""
        rng = self.rng
        kinds = ["change"] * 3 + ["look"] * 2 + ["assign", "store", "made", "taken back", "if", "for", "while", "jump"]
        kinds += ["known if", "known for", "items", "with", "expression", "carried"]
        kind = rng.choice(kinds)
        if depth > 4 and kind in ("if", "for", "while", "known if", "known for", "items", "with"):
            kind = "look"
        if run and kind in ("change", "expression", "with", "items") and rng.random() > self.daring:
            kind = rng.choice(["look", "made", "taken back"])
        if kind == "change":
            self.say(depth, self.change(known))
        elif kind == "look":
            self.say(depth, f"{rng.choice('ab')} += {self.known(known)}")
        elif kind == "assign":
            self.say(depth, f"{rng.choice('ab')} = {self.number([*known, *loops])} % 63")
        elif kind == "store":
            self.say(depth, f"y[5 + {rng.randrange(3)}] = {self.number([*known, *loops])} + {self.known(known)}")
        elif kind == "made":
            self.made(depth, known, loops)
        elif kind == "taken back":
            self.taken_back(depth, known)
        elif kind == "carried":
            self.say(depth, "p = [1, m]")
            self.say(depth, f"for _i in range({rng.choice(['n', 'a % 4', '2'])}):")
            self.say(depth + 1, "p = [p[1], p[0] + 1]")
            self.say(depth, rng.choice(["a += p[0]", "p = list(p)", "p = [*p, 3]"]))
            self.say(depth, rng.choice(["a += p[1]", "p.append(4)" if rng.random() < 0.3 else "b += p[0]"]))
        elif kind == "if":
            self.say(depth, f"if {self.number(loops)} % {rng.choice([2, 3])} == {rng.randrange(2)}:")
            self.block(depth + 1, 3, run + 1, loop, known, loops)
            if rng.random() < 0.4:
                self.say(depth, "else:")
                self.block(depth + 1, 2, run + 1, loop, known, loops)
        elif kind == "for":
            self.loops += 1
            self.say(depth, f"for i{self.loops} in range({rng.choice(['n', 'a % 4', '3', '1, n', 'b % 5, -1, -1'])}):")
            self.block(depth + 1, 3, run + 1, True, known, [*loops, f"i{self.loops}"])
        elif kind == "while":
            self.loops += 1
            name = f"w{self.loops}"
            bound = rng.choice(["a % 4", "n", "3"])
            self.say(depth, f"{name} = {bound}")
            effect = "" if run or bound == "3" or rng.random() > self.daring else f" and {self.known(known)} < 9"
            self.say(depth, f"while {name} > 0{effect}:")
            self.say(depth + 1, f"{name} -= 1")
            self.block(depth + 1, 3, run + (bound != "3"), True, known, loops)
        elif kind == "known if":
            self.say(depth, f"if {self.known(known)} % 2 == {rng.randrange(2)}:")
            self.block(depth + 1, 3, run, loop, known, loops)
            if rng.random() < 0.4:
                self.say(depth, "else:")
                self.block(depth + 1, 2, run, loop, known, loops)
        elif kind == "known for":
            self.loops += 1
            name = f"v{self.loops}"
            self.say(
                depth,
                f"for {name} in {rng.choice(['pto.static_range(3)', '(4, 1)', 'list(range(2))', '[squared(2), 3]'])}:",
            )
            self.block(depth + 1, 3, run, True, [*known, name], loops)
        elif kind == "items":
            self.items(depth, run, known, loops)
        elif kind == "with":
            self.say(depth, f"with {rng.choice(['logged(1)', *self.managers(run)])}:")
            self.block(depth + 1, 3, run, False, known, loops)
            if any(line.strip() in ("break", "continue", "return") for line in self.lines[-12:]):
                self.say(depth + 1, "a += 1")
        elif kind == "expression":
            self.expression(depth, known, loops)
        elif loop:
            self.say(depth, f"if {rng.choice([self.number(loops), self.known(known)])} % 3 == {rng.randrange(3)}:")
            if rng.random() < 0.3:
                self.say(depth + 1, self.change(known) if not run or rng.random() < self.daring else "a += 1")
            self.say(depth + 1, rng.choice(["break", "continue"]))
        elif rng.random() < 0.3:
            self.say(depth, f"if {self.number(loops)} % 7 == 3:")
            self.say(depth + 1, "return")
        else:
            self.say(depth, f"a = most([1, {self.known(known)}], a, n)")

    def managers(self, run: int) -> list[str]:
        boxes = [name for name, kind in self.states.items() if kind in ("box", "entered")]
        lists = [f"pushed({name}, 4)" for name, kind in self.states.items() if kind in ("list", "deque")]
        return [*boxes, *lists, "pushed(LOG, 4)", "Box()"]

    def made(self, depth: int, known: list[str], loops: list[str]) -> None:
        """Objects that are made here may change here."""
        rng, value = self.rng, self.number([*known, *loops], 0)
        name = f"o{rng.randrange(3)}"
        form = rng.choice(
            [
                (f"{name} = fresh(2)", f"{name}.tick({value})", f"a += {name}.c"),
                (
                    f"{name} = Box()",
                    f"{name}.items.append({value})",
                    f"put({name}.items, 3)",
                    f"a += len({name}.items)",
                ),
                (f"{name} = []", f"{name}.append({value})", f"a += put({name}, 1) + {name}[0]"),
                (f"{name} = {{}}", f"{name}['a'] = {value}", f"a += {name}['a']"),
                (f"{name} = iter([1, {value}])", f"a += next({name})", f"a += next({name})"),
                (f"a += put([{value}], 4)", f"b += put([], {value})"),
                (f"{name} = zip([1, 2], [{value}, 4])", f"for q, r in {name}:", "    a += q * r"),
                (f"{name} = random.Random(4)", f"a += {name}.randrange(9)"),
                (f"{name} = deque([Box()])", f"{name}[0].tick(3)", f"a += {name}.pop().c"),
            ]
        )
        for line in form:
            self.say(depth, line)
        self.say(depth, f"{name} = 0")

    def taken_back(self, depth: int, known: list[str]) -> None:
        name, kind = self.rng.choice([*self.states.items()])
        back = {
            "box": (f"{name}.items.append(3)", f"a += len({name}.items)", f"{name}.items.pop()"),
            "list": (f"{name}.append(3)", f"a += {name}[-1]", f"{name}.pop()"),
            "deque": (f"{name}.rotate(1)", f"a += {name}[0]", f"{name}.rotate(-1)"),
            "dict": (f"{name}['x'] = 3", f"a += {name}['x']", f"del {name}['x']"),
            "numpy": (f"{name}[2] += 3", f"a += int({name}[2])", f"{name}[2] -= 3"),
            "tiles": (f"{name}.c += 1", f"a += {name}.c", f"{name}.c -= 1"),
        }
        for line in back.get(kind, ("kept.calls += 1", "a += kept.calls", "kept.calls -= 1")):
            self.say(depth, line)

    def items(self, depth: int, run: int, known: list[str], loops: list[str]) -> None:
        """A loop over items, which are taken one by one."""
        rng = self.rng
        self.loops += 1
        name = f"v{self.loops}"
        own = [s for s, kind in self.states.items() if kind in ("iterator", "steps", "generator")]
        grows = [s for s, kind in self.states.items() if kind == "list"]
        over = [
            "steps(2)",
            "(put(LOG, q) for q in (1, 2, 3))",
            "map(squared, [1, 2])",
            "itertools.islice(itertools.count(), 3)",
        ]
        over += [*own, *own, *(f"itertools.chain({s}, [1])" for s in own), *(f"map(int, {s})" for s in own), *grows]
        chosen = rng.choice(over)
        self.say(depth, f"for {name} in {chosen}:")
        if chosen in grows:
            self.say(depth + 1, f"if len({chosen}) < 6:")
            self.say(depth + 2, f"{chosen}.append({name} + 1)")
        self.block(depth + 1, 2, run, True, [*known, name], loops)
        if rng.random() < 0.5:
            test = rng.choice([f"{name} % 3 == 1", f"{self.known(known)} > 2", f"({self.number(loops)}) % 5 == 2"])
            self.say(depth + 1, f"if {test}:")
            self.say(depth + 2, "break")

    def expression(self, depth: int, known: list[str], loops: list[str]) -> None:
        rng = self.rng
        box = next((s for s, kind in self.states.items() if kind == "box"), None)
        effect = rng.choice([f"{box}.tick()" if box else "kept(1)", "kept(2)", "put(LOG, 1)"])
        test = rng.choice([f"{self.number(loops)} % 2", f"{self.known(known)} % 2"])
        form = rng.choice(["a += {e} if {t} else 3", "a += 3 if {t} else {e}", "b = 5 if ({t} and {e} > 0) else 6"])
        self.say(depth, form.format(e=effect, t=test))


class Late(Exception):
    """It does not end."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def loaded(text: str, file: Path, words: Any) -> Callable[..., None]:
    made = sys.modules["state_of_tests"] = ModuleType("state_of_tests")
    made.__dict__["pto"] = words
    exec(compile(text, str(file), "exec"), made.__dict__)
    function: Callable[..., None] = made.__dict__["f"]
    return function


def plain_words() -> Any:
    """What a kernel needs of ptokit to run as plain Python."""
    types = {"f32": 0, "i64": 0, "Ptr": {0: int}}
    return SimpleNamespace(
        **types, Tile=lambda *a: object(), TileType=SimpleNamespace(Vec=0), static_range=range, static=lambda v: v
    )


def launched(launch: Callable[..., None], n: int) -> np.ndarray:
    y = np.zeros(OUT, np.int64)
    launch(np.arange(40, dtype=np.int64) * 7 % 23, y, n)
    return y


def verdict(seed: int, folder: Path) -> str:
    """ "equal", "refused", or "raises" where Python itself raises. Fails for everything else."""
    text = Writer(seed).text()
    file = folder / f"state_{seed}.py"
    file.write_text(text, encoding="utf-8")
    first = text.count("\n", 0, text.index("def f(")) + 1
    try:
        with within(5):
            right = [launched(loaded(text, file, plain_words()), n) for n in SIZES]
    except Exception:  # a list that grows for ever, too
        return "raises"
    with within(60):
        for n, wanted in zip(SIZES, right):
            try:
                ours = launched(pto.kernel(target="a5")(loaded(text, file, pto)), n)
            except DiagnosticError as error:
                (finding,) = error.diagnostics
                assert finding.rule in ("LANG-CARRIED", "LANG-SCOPE", "LANG-CONTROL", "LANG-SCALAR"), finding
                assert finding.location.file == str(file), finding
                inside = finding.location.line > first
                began = [note.location.line for note in finding.notes if "begins here" in note.message]
                assert inside or (began and began[0] > first), finding
                return "refused" if finding.rule == "LANG-CARRIED" else "refused otherwise"
            assert np.array_equal(ours, wanted), (n, ours.tolist(), wanted.tolist())
            if n != SIZES[-1]:
                continue
            theirs = launched(pto.kernel(target="a5")(loaded(text, file, pto)).interpret, n)
            assert np.array_equal(theirs, wanted), ("interpreted", n, theirs.tolist(), wanted.tolist())
    return "equal"


def run(seeds: range, folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        try:
            found[verdict(seed, folder)] += 1
        except BaseException as error:
            file = folder / f"state_{seed}.py"
            raise AssertionError(
                f"seed {seed}: {type(error).__name__}: {error}\n{file.read_text()[len(HEAD) :]}"
            ) from error
    return found


def test_random_changes_of_objects(tmp_path: Path) -> None:
    found = run(range(40), tmp_path)
    assert min(found["equal"], found["refused"]) > 2, found


@pytest.mark.campaign
def test_many_random_changes_of_objects(tmp_path: Path) -> None:
    found = run(range(1000, 6000), tmp_path)
    assert found["raises"] + found["refused otherwise"] < 2000, found
