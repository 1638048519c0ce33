"""Random programs of `arith` operations, and what every value in them is in every block, by exact models."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ptokit.isa.scalar.arithmetic import FLOAT_PREDICATES, INTEGER_PREDICATES

from .arithmetic import bits, edges, made, number, signed, widened
from .test_arithmetic import INTEGERS
from .test_float_arithmetic import FLOATS, exact, nearest, patterns, value

ROWS = 5  # blocks
INTEGER_TYPES = ["i1", "i8", "i16", "i32", "i64", "index"]
FLOAT_TYPES = ["f16", "bf16", "f32", "f64"]
_PARTS = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
          "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}  # fmt: skip


class UndefinedError(Exception):
    """MLIR gives no result, or only some bits of it."""


@dataclass
class Known:
    """A value of the program: its bit pattern in each block; None for a NaN, of any bits."""

    name: str
    type: str
    rows: list[int | None]


def pattern(x: float, type: str) -> int | None:
    if math.isnan(x):
        return None
    if type == "bf16":  # the upper half of a float
        return int(np.array([x], np.float32).view(np.uint32)[0]) >> 16
    kind, raw = {"f16": ("f2", "u2"), "f32": ("f4", "u4"), "f64": ("f8", "u8")}[type]
    return int(np.array([x], kind).view(raw)[0])


def real(p: int | None, type: str) -> float:
    return math.nan if p is None else value(p, type)


def is_nan(p: int, type: str) -> bool:
    return type in FLOAT_TYPES and math.isnan(value(p, type))


class ScalarProgram:
    """``text``: the kernel ``@k(in, out, a0, a1)``, launched by `run` with ``inputs`` and ``arguments``."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.inputs: list[int] = []
        self.arguments = [self.bits_of(self.rng.choice(INTEGER_TYPES)) for _ in range(2)]
        self.values: list[Known] = []
        self.count = 0
        for _ in range(self.rng.randint(2, 5)):
            self.values.append(self.leaf(self.rng.choice(INTEGER_TYPES + FLOAT_TYPES)))
        for _ in range(self.rng.randint(3, 12)):
            lines, inputs = len(self.lines), len(self.inputs)
            try:
                self.values.append(self.operation())
            except UndefinedError:
                del self.lines[lines:], self.inputs[inputs:]
        self.outputs = self.values[-6:]
        out = list(self.lines)
        for k, known in enumerate(self.outputs):
            out += [f"%o{k} = arith.constant {k * ROWS} : index", f"%p{k} = arith.addi %b, %o{k} : index"]
            out += [widened(known.name, known.type)]
            out += [f"pto.store_scalar %{known.name}_out, %out[%p{k}] : !pto.ptr<i64>, i64"]
        params = "%in: !pto.ptr<i64>, %out: !pto.ptr<i64>, %a0: i64, %a1: i64"
        start = "%id = pto.get_block_idx\n%b = arith.index_cast %id : i64 to index\n"
        self.text = f"func.func @k({params}) {{\n{start}" + "\n".join(out) + "\nreturn\n}\n"

    def run(self, launch: Callable[..., None], chunk: int | None) -> np.ndarray:
        """Bits of the outputs, (outputs, blocks)."""
        out = np.zeros(max(1, len(self.outputs)) * ROWS, np.int64)
        launch([np.array([*map(signed, self.inputs), 0], np.int64), out, *map(signed, self.arguments)], ROWS,
               chunk=chunk)  # fmt: skip
        return out.view(np.uint64).reshape(-1, ROWS)

    def agrees(self, found: np.ndarray) -> bool:
        """True if these are the bits that the models give."""
        for known, row in zip(self.outputs, found):
            for want, got in zip(known.rows, row.tolist()):
                bit = got & ((1 << bits(known.type)) - 1)
                if (is_nan(bit, known.type) if want is None else bit == want) is False:
                    return False
        return True

    # --- leaves --------------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def bits_of(self, type: str) -> int:
        width = bits(type)
        if type in FLOAT_TYPES and type != "f64":
            return self.rng.choice([self.rng.choice(patterns(type)), self.rng.getrandbits(width)])
        if type == "f64":
            some = [0.0, -0.0, 1.5, -3.0, 1e300, 5e-324, math.inf, math.nan, 1 / 3]
            return int(np.float64(self.rng.choice(some)).view(np.uint64))
        return self.rng.choice([self.rng.choice(edges(width)), self.rng.getrandbits(width), self.rng.randrange(4)]) & (
            (1 << width) - 1
        )

    def leaf(self, type: str) -> Known:
        name, kind = self.fresh(), self.rng.choice(["memory", "memory", "memory", "same", "argument", "constant"])
        if kind == "constant" and (type == "index" or type[0] == "i"):
            p = self.bits_of(type)
            shown = ("true" if p else "false") if type == "i1" else f"{number(p, bits(type))} : {type}"
            self.lines.append(f"%{name} = arith.constant {shown}")
            return Known(name, type, [p] * ROWS)
        if kind == "constant":
            p = self.bits_of(type)
            self.lines.append(f"%{name} = arith.constant {p:#0{2 + bits(type) // 4}x} : {type}")
            return self.known(name, type, [p] * ROWS)
        if kind == "argument":
            k = self.rng.randrange(2)
            self.lines.append(made(name, type, f"a{k}"))
            return self.known(name, type, [self.arguments[k] & ((1 << bits(type)) - 1)] * ROWS)
        first = len(self.inputs)
        rows = [self.bits_of(type) for _ in range(ROWS)]
        if kind == "same" or self.rng.random() < 0.3:
            rows = [self.rng.choice(rows[:2]) for _ in range(ROWS)]
        if kind == "same":
            rows = rows[:1] * ROWS
        self.inputs += rows
        self.lines += [f"%{name}_n = arith.constant {first} : index"]
        at = f"{name}_n"
        if kind == "memory":
            self.lines.append(f"%{name}_i = arith.addi %b, %{name}_n : index")
            at = f"{name}_i"
        self.lines.append(f"%{name}_m = pto.load_scalar %in[%{at}] : !pto.ptr<i64> -> i64")
        self.lines.append(made(name, type, f"{name}_m"))
        return self.known(name, type, rows)

    def known(self, name: str, type: str, rows: list[int]) -> Known:
        return Known(name, type, [None if is_nan(p, type) else p for p in rows])

    def some(self, *types: str) -> Known:
        found = [v for v in self.values if v.type in types]
        return self.rng.choice(found) if found and self.rng.random() < 0.8 else self.leaf(self.rng.choice(types))

    # --- operations ----------------------------------------------------------------------------------------------

    def operation(self) -> Known:
        kinds = [
            "integer",
            "integer",
            "float",
            "float",
            "cmpi",
            "cmpf",
            "select",
            "negf",
            "cast",
            "bitcast",
            "extended",
        ]
        return getattr(self, f"{self.rng.choice(kinds)}_")()

    def integer_(self) -> Known:
        a = self.some(*INTEGER_TYPES)
        b, op, width = self.some(a.type), self.rng.choice(list(INTEGERS)), bits(a.type)

        def each(x: int, y: int) -> int:
            if (y == 0 and ("div" in op or "rem" in op)) or (y >= width and op.startswith("sh")):
                raise UndefinedError
            return INTEGERS[op](x, y, width)

        return self.make(a.type, f"arith.{op} %{a.name}, %{b.name} : {a.type}", each, a, b)

    def extended_(self) -> Known:
        a = self.some("i1", "i8", "i32", "i64")
        b, width = self.some(a.type), bits(a.type)
        op = self.rng.choice(["addui_extended", "mulsi_extended", "mului_extended"])

        def whole(x: int, y: int) -> int:
            if op == "mulsi_extended":
                return number(x, width) * number(y, width)
            return x + y if op == "addui_extended" else x * y

        low, high = self.fresh(), self.fresh()
        carry = "i1" if op == "addui_extended" else a.type
        self.lines.append(f"%{low}, %{high} = arith.{op} %{a.name}, %{b.name} : {a.type}")
        pairs = list(zip(a.rows, b.rows))
        if self.rng.random() < 0.5:
            return Known(low, a.type, [whole(x, y) % (1 << width) for x, y in pairs])
        return Known(high, carry, [(whole(x, y) >> width) % (1 << bits(carry)) for x, y in pairs])

    def float_(self) -> Known:
        a = self.some(*FLOAT_TYPES)
        b, op = self.some(a.type), self.rng.choice(FLOATS)

        def each(x: int | None, y: int | None) -> int | None:
            left, right = real(x, a.type), real(y, a.type)
            if left == right == 0 and op in ("maxnumf", "minnumf"):
                raise UndefinedError  # either zero
            with np.errstate(all="ignore"):
                if a.type == "f64":
                    return pattern(self.double(op, left, right), a.type)
                return pattern(exact(op, left, right, a.type), a.type)

        return self.make(a.type, f"arith.{op} %{a.name}, %{b.name} : {a.type}", each, a, b)

    @staticmethod
    def double(op: str, a: float, b: float) -> float:
        """As IEEE double, which C and NumPy have."""
        if op in ("addf", "subf", "mulf", "divf", "remf"):
            x, y = np.float64(a), np.float64(b)
            table = {"addf": x + y, "subf": x - y, "mulf": x * y, "divf": x / y, "remf": np.fmod(x, y)}
            return float(table[op])
        return exact(op, a, b, "f64")

    def cmpi_(self) -> Known:
        a = self.some(*INTEGER_TYPES)
        b, predicate, width = self.some(a.type), self.rng.choice(list(INTEGER_PREDICATES)), bits(a.type)

        def each(x: int, y: int) -> int:
            sign = predicate[0] == "s"
            return int(_PARTS[predicate[-2:]](*((number(v, width) if sign else v) for v in (x, y))))

        return self.make("i1", f"arith.cmpi {predicate}, %{a.name}, %{b.name} : {a.type}", each, a, b)

    def cmpf_(self) -> Known:
        a = self.some(*FLOAT_TYPES)
        b, predicate = self.some(a.type), self.rng.choice(list(FLOAT_PREDICATES))

        def each(x: int | None, y: int | None) -> int:
            left, right = real(x, a.type), real(y, a.type)
            unordered = x is None or y is None
            if predicate in ("true", "false", "ord", "uno"):
                return int({"true": True, "false": False, "ord": not unordered, "uno": unordered}[predicate])
            return int(predicate[0] == "u" if unordered else _PARTS[predicate[1:]](left, right))

        return self.make("i1", f"arith.cmpf {predicate}, %{a.name}, %{b.name} : {a.type}", each, a, b)

    def select_(self) -> Known:
        c, a = self.some("i1"), self.some(*INTEGER_TYPES, *FLOAT_TYPES)
        b = self.some(a.type)
        text = f"arith.select %{c.name}, %{a.name}, %{b.name} : {a.type}"
        return self.make(a.type, text, lambda x, y, z: y if x else z, c, a, b)

    def negf_(self) -> Known:
        a = self.some(*FLOAT_TYPES)
        top = 1 << (bits(a.type) - 1)
        return self.make(a.type, f"arith.negf %{a.name} : {a.type}", lambda x: None if x is None else x ^ top, a)

    def bitcast_(self) -> Known:
        a = self.some("i16", "i32", "i64", *FLOAT_TYPES)
        to = {16: ["i16", "f16", "bf16"], 32: ["i32", "f32"], 64: ["i64", "f64"]}[bits(a.type)]
        result = self.rng.choice([t for t in to if t != a.type])

        def each(x: int | None) -> int | None:
            if x is None:
                raise UndefinedError
            return None if is_nan(x, result) else x

        return self.make(result, f"arith.bitcast %{a.name} : {a.type} to {result}", each, a)

    def cast_(self) -> Known:
        op = self.rng.choice(
            "index_cast index_castui trunci extsi extui sitofp uitofp fptosi fptoui extf truncf".split()
        )
        ints = ["i1", "i8", "i16", "i32", "i64"]
        if op.startswith("index"):
            pair = self.rng.choice([("index", self.rng.choice(ints)), (self.rng.choice(ints), "index")])
        elif op in ("trunci", "extsi", "extui"):
            small, large = sorted(self.rng.sample(range(5), 2))
            pair = (ints[large], ints[small]) if op == "trunci" else (ints[small], ints[large])
        elif op in ("sitofp", "uitofp"):
            pair = (self.rng.choice(ints), self.rng.choice(FLOAT_TYPES))
        elif op in ("fptosi", "fptoui"):
            pair = (self.rng.choice(FLOAT_TYPES), self.rng.choice(ints))
        else:
            pairs = [("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")]
            small_, large_ = self.rng.choice(pairs)
            pair = (small_, large_) if op == "extf" else (large_, small_)
        a, result = self.some(pair[0]), pair[1]
        source, target = bits(a.type), bits(result)

        def each(x: int | None) -> int | None:
            if op in ("extf", "truncf"):
                v = real(x, a.type)
                if not math.isfinite(v) or v == 0:
                    return pattern(v, result)
                return pattern(math.copysign(nearest(Fraction(v), result) if op == "truncf" else v, v), result)
            if op in ("fptosi", "fptoui"):
                v = real(x, a.type)
                low = -(1 << (target - 1)) if op == "fptosi" else 0
                if not math.isfinite(v) or not low <= math.trunc(v) <= low + (1 << target) - 1:
                    raise UndefinedError
                return math.trunc(v)
            assert x is not None
            if op in ("sitofp", "uitofp"):
                n = number(x, source) if op == "sitofp" else x
                return pattern(nearest(Fraction(n), result) if result != "f64" else float(n), result)
            return x if op in ("extui", "index_castui") else number(x, source)

        return self.make(result, f"arith.{op} %{a.name} : {a.type} to {result}", each, a)

    def make(self, type: str, text: str, each: Callable[..., int | None], *args: Known) -> Known:
        rows = [each(*row) for row in zip(*(a.rows for a in args))]
        name = self.fresh()
        self.lines.append(f"%{name} = {text}")
        mask = (1 << bits(type)) - 1
        return Known(name, type, [None if p is None else p & mask for p in rows])
