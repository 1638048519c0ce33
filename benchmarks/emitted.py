"""Text as compilers emit it: numbered values, tiles of many shapes at addresses, index arithmetic, loops.

No two parts of it are alike, so whatever a reader or a checker remembers of one helps little with the next.
"""

from __future__ import annotations

from random import Random

UNARY = "texp tlog tabs tneg trelu tsqrt trsqrt trecip tmov".split()
BINARY = "tadd tsub tmul tmax tmin tdiv".split()
WITH_SCALAR = "tadds tmuls tmaxs tmins tsubs".split()
BY_ROWS = "trowmax trowsum trowmin".split()
EXPAND = "trowexpandmul trowexpandsub trowexpanddiv trowexpandadd".split()
SIZES = {"f32": 4, "f16": 2, "i32": 4}
POINTERS = {"f32": "%arg0", "f16": "%arg1", "i32": "%arg2"}


def emitted(lines: int, seed: int = 1) -> str:
    """A kernel of at least so many lines, without any finding on a5; the same seed gives the same text."""
    return _Emitter(Random(seed)).kernel(lines)


class _Emitter:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.out: list[str] = []
        self.constants: dict[tuple[float, str], str] = {}
        self.values = 0
        self.indent = 4
        self.address = 0

    def kernel(self, lines: int) -> str:
        self.out = ['module attributes {pto.target_arch = "a5"} {', "  func.func @kernel(", *_PARAMETERS]
        self.constant(0), self.constant(1)
        while len(self.out) < lines - 4:
            self.part()
        self.put("pto.barrier <PIPE_ALL>")
        self.put("return")
        return "\n".join([*self.out, "  }", "}"]) + "\n"

    def put(self, text: str) -> None:
        self.out.append(" " * self.indent + text)

    def value(self, text: str) -> str:
        """An operation with one result; returns its name."""
        self.values += 1
        self.put(f"%{self.values} = {text}")
        return f"%{self.values}"

    def constant(self, number: float, type: str = "index") -> str:
        """A constant; those outside of loops are used again."""
        if self.indent > 4:
            return self.value(f"arith.constant {number} : {type}")
        key = number, type
        if key not in self.constants:
            self.constants[key] = f"%c{number}_{type}"
            self.put(f"{self.constants[key]} = arith.constant {number} : {type}")
        return self.constants[key]

    def tile(self, element: str, rows: int, cols: int, more: str) -> tuple[str, str]:
        """Name and type of a tile behind the last one."""
        type = f"!pto.tile_buf<vec, {rows}x{cols}x{element}{more}>"
        name = self.value(f"pto.alloc_tile addr = {self.constant(self.address, 'i64')} : {type}")
        self.address += -(-rows * cols * SIZES[element] // 512) * 512
        return name, type

    def flags(self, first: str, second: str, event: int) -> None:
        for name in ("set_flag", "wait_flag"):
            self.put(f"pto.{name}[<PIPE_{first}>, <PIPE_{second}>, <EVENT_ID{event}>]")

    def part(self) -> None:
        """Tiles of one shape: load, compute, store; in half of the parts for every block of rows."""
        pick, random = self.random.choice, self.random
        element = pick(("f32", "f32", "f16", "i32"))
        rows, cols = pick((1, 2, 4, 8, 12, 16, 24, 32, 48, 64)), 32 // SIZES[element] * pick((1, 2, 3, 4, 6, 8, 12, 16))
        valid = (rows, cols) if random.random() < 0.7 else (random.randint(1, rows), random.randint(1, cols))
        more = "" if valid == (rows, cols) else f", valid={valid[0]}x{valid[1]}"
        self.address = random.randrange(300) * 512
        total = self.constant(width := pick((256, 512, 1024, 4096)))
        view = f"!pto.tensor_view<?x{width}x{element}>"
        slice = f"!pto.partition_tensor_view<{valid[0]}x{valid[1]}x{element}>"
        tensor = self.value(
            f"pto.make_tensor_view {POINTERS[element]}, shape = [%arg3, {total}], "
            f"strides = [{total}, %c1_index] : {view}"
        )
        sizes = f"{self.constant(valid[0])}, {self.constant(valid[1])}"
        first, type = self.tile(element, rows, cols, more)
        second, _ = self.tile(element, rows, cols, more)
        looped, start = random.random() < 0.5, "%c0_index"
        if looped:
            self.values += 1
            loop = f"%{self.values}"
            self.put(f"scf.for {loop} = %c0_index to %arg3 step {self.constant(valid[0])} {{")
            self.indent = 6
            scaled = self.value(f"arith.muli {loop}, {self.constant(pick((2, 3, 5)))} : index")
            start = self.value(f"arith.addi {scaled}, {loop} : index")
        where = f"pto.partition_view {tensor}, offsets = [{start}, %c0_index], sizes = [{sizes}] : {view} -> {slice}"
        event = random.randrange(8)
        self.put(f"pto.tload ins({self.value(where)} : {slice}) outs({first} : {type})")
        self.flags("MTE2", "V", event)
        for _ in range(random.randint(3, 9)):
            self.compute(element, rows, valid[0], (first, second), type)
        target = self.value(where)
        self.flags("V", "MTE3", event)
        self.put(f"pto.tstore ins({second} : {type}) outs({target} : {slice})")
        if looped:
            self.indent = 4
            self.put("}")

    def compute(self, element: str, rows: int, valid: int, tiles: tuple[str, str], type: str) -> None:
        pick, kind, (a, b) = self.random.choice, self.random.random(), tiles
        if element != "i32" and kind < 0.4:
            self.put(f"pto.{pick(UNARY)} ins({pick(tiles)} : {type}) outs({pick(tiles)} : {type})")
        elif kind < 0.75 or element != "f32":
            self.put(f"pto.{pick(BINARY)} ins({a}, {pick(tiles)} : {type}, {type}) outs({b} : {type})")
        elif kind < 0.85 or rows % 8:
            number = self.constant(self.random.randrange(1000) / 8, "f32") if self.indent > 4 else "%arg4"
            self.put(f"pto.{pick(WITH_SCALAR)} ins({a}, {number} : {type}, f32) outs({b} : {type})")
        else:
            more = ", blayout=col_major" + ("" if valid == rows else f", valid={valid}x1")
            column, narrow = self.tile(element, rows, 1, more)
            self.put(f"pto.{pick(BY_ROWS)} ins({a}, {b} : {type}, {type}) outs({column} : {narrow})")
            self.put("pto.barrier <PIPE_V>")
            self.put(f"pto.{pick(EXPAND)} ins({a}, {column} : {type}, {narrow}) outs({b} : {type})")


_PARAMETERS = [
    "      %arg0: !pto.ptr<f32>, %arg1: !pto.ptr<f16>, %arg2: !pto.ptr<i32>,",
    "      %arg3: index, %arg4: f32) attributes {pto.entry} {",
]
