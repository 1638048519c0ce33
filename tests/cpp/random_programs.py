"""Random C++ functions of scalars without undefined behaviour: what they compute can be asked of any compiler."""

from __future__ import annotations

import random

INTEGERS = ("int8_t", "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t")
FLOATS = ("float", "double")
PARAMETERS = "__gm__ int64_t* out, __gm__ int32_t* in, int32_t n, int32_t m, uint32_t u, int64_t w"
HEAD = """template <class T>
AICORE inline T clamp_to(T x, T low, T high) { return x < low ? low : x > high ? high : x; }
template <int N, class F> AICORE inline void times(F f) { for (int i = 0; i < N; i++) f(i); }
struct Pair {
    int32_t first;
    int64_t second;
    AICORE Pair(int32_t a, int64_t b) : first(a), second(b) {}
    AICORE int64_t mixed() const { return first * 3 - second; }
    AICORE void turn() { int32_t t = first; first = int32_t(second); second = t; }
};
"""


class Writer:
    """One function. Every value that it computes is stored, one after the other."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.scopes: list[list[tuple[str, str]]] = [
            [("n", "int32_t"), ("m", "int32_t"), ("u", "uint32_t"), ("w", "int64_t")]
        ]
        self.arrays: list[tuple[str, str, int]] = []
        self.count, self.depth, self.budget = 0, 1, 60
        self.constant_only = 0

    def name(self, stem: str) -> str:
        """A new name."""
        self.count += 1
        return f"{stem}{self.count}"

    def say(self, text: str) -> None:
        """A line of the function."""
        self.lines.append("    " * self.depth + text)

    def text(self, name: str) -> str:
        """The whole function."""
        self.say("int64_t at = 0;")
        self.say("out[at++] = in[0];")
        for _ in range(self.random.randint(4, 9)):
            self.statement()
        self.say("out[at++] = -1;")
        head = f"__global__ AICORE void {name}({PARAMETERS}) {{"
        return "\n".join([head, *self.lines, "}"])

    # --- expressions

    def variables(self) -> list[tuple[str, str]]:
        """The variables in scope that are integers."""
        return [v for scope in self.scopes for v in scope if v[1] in INTEGERS]

    def integer(self, deep: int = 3) -> str:
        """An expression of some integer type; 32 bits or more after promotion, and it wraps."""
        r = self.random
        kind = r.randrange(15) if deep else r.randrange(3)
        if kind == 0:
            return str(r.choice((0, 1, 2, 3, 7, 31, 100, 255, 256, 1000, 65535, 2147483647, -1, -2, -17, -128, -32768)))
        if kind == 1 and self.arrays:
            name, _, size = r.choice(self.arrays)
            return f"{name}[{self.index(size, deep - 1)}]"
        if kind <= 2:
            return r.choice(self.variables())[0]
        if kind <= 6:
            return f"({self.integer(deep - 1)} {r.choice('+-*&|^')} {self.integer(deep - 1)})"
        if kind == 7:
            return f"({self.integer(deep - 1)} {r.choice('/%')} ({self.small(deep - 1)} + 1))"
        if kind == 8:
            shifted = f"{r.choice(INTEGERS)}({self.integer(deep - 1)})"
            return f"({shifted} {r.choice(('<<', '>>'))} ({self.small(deep - 1)} & 7))"
        if kind == 9:
            return f"{r.choice(INTEGERS)}({self.integer(deep - 1)})"
        if kind == 10:
            return f"({self.condition(deep - 1)} ? {self.integer(deep - 1)} : {self.integer(deep - 1)})"
        if kind == 11:
            return f"in[{self.index(16, deep - 1)}]"
        if kind == 12:
            type = r.choice(INTEGERS)
            return f"clamp_to<{type}>({self.integer(deep - 1)}, {type}(3), {type}(90))"
        if kind == 13:
            return f"{r.choice('-~')}({self.integer(deep - 1)})"
        return self.seen_as(r.choice(INTEGERS), deep - 1)

    def seen_as(self, type: str, deep: int) -> str:
        """A number in the memory of `in`, whose bytes are seen as numbers of a type, also from a later one on."""
        size, first = int(type.strip("uint_")) // 8, 8 * self.random.randrange(7)
        at = self.random.choice(
            (f"in + {first // 4}", f"(__gm__ char*)in + {first}", f"(__gm__ uint16_t*)in + {first // 2}")
        )
        return f"((__gm__ {type}*)({at}))[{self.index((64 - first) // size, deep)}]"

    def small(self, deep: int) -> str:
        """An expression that is at least 0 and below 128."""
        return f"(uint32_t({self.integer(deep)}) & 127)"

    def index(self, size: int, deep: int) -> str:
        """An index into an array."""
        if self.random.randrange(2):
            return str(self.random.randrange(size))
        return f"(uint32_t({self.integer(max(0, deep))}) % {size})"

    def condition(self, deep: int = 2) -> str:
        """A comparison, or several."""
        r = self.random
        if deep and r.randrange(4) == 0:
            return f"({self.condition(deep - 1)} {r.choice(('&&', '||'))} {self.condition(deep - 1)})"
        type = r.choice(INTEGERS)
        compared = r.choice(("<", "<=", ">", ">=", "==", "!="))
        return f"({type}({self.integer(deep)}) {compared} {type}({self.integer(deep)}))"

    # --- statements

    def statement(self) -> None:
        """A statement, or several."""
        self.budget -= 1
        r = self.random
        kinds = [self.declare, self.declare, self.store, self.store, self.assign, self.floating, self.written]
        if self.depth < 4 and self.budget > 0:
            kinds += [
                self.branch,
                self.branch,
                self.loop,
                self.loop,
                self.array,
                self.switch,
                self.lambdas,
                self.record,
            ]
        r.choice(kinds)()

    def declare(self) -> None:
        name, type = self.name("v"), self.random.choice(INTEGERS)
        self.say(f"{type} {name} = {type}({self.integer()});")
        self.scopes[-1].append((name, type))

    def assign(self) -> None:
        own = [v for scope in self.scopes for v in scope if v[0].startswith("v") and v[1] in INTEGERS]
        if own:
            name, type = self.random.choice(own)
            self.say(f"{name} = {type}({self.integer()});")

    def store(self) -> None:
        self.say(f"if (at < 200) out[at++] = int64_t({self.integer()});")

    def written(self) -> None:
        type = self.random.choice(INTEGERS)
        self.say(f"{self.seen_as(type, 1)} = {type}({self.integer(2)});")

    def floating(self) -> None:
        r, name, type = self.random, self.name("f"), self.random.choice(FLOATS)
        self.say(
            f"{type} {name} = {type}(int16_t({self.integer()})) {r.choice('+-*')} {type}({r.randint(-50, 50)}) / 4;"
        )
        self.say(
            f"{name} = {name} {r.choice('<>')} {type}({self.small(1)}) ? {name} * {type}(0.25) : {name} + {type}(1.5);"
        )
        self.say(f"if (at < 200) out[at++] = int64_t({name} * 8);")

    def block(self) -> None:
        self.depth += 1
        self.scopes.append([])
        arrays = len(self.arrays)
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        del self.arrays[arrays:]
        self.scopes.pop()
        self.depth -= 1

    def branch(self) -> None:
        self.say(f"if ({self.condition()}) {{")
        self.block()
        if self.random.randrange(2):
            self.say("} else {")
            self.block()
        self.say("}")

    def loop(self) -> None:
        r, name = self.random, self.name("i")
        bound = r.choice(("3", "5", f"int({self.small(1)}) % 6"))
        kind = r.randrange(3)
        if kind == 0:
            self.say(f"for (int {name} = 0; {name} < {bound}; {name}++) {{")
        elif kind == 1:
            self.say(f"for (int {name} = {bound}; {name} > 0; {name} -= {r.randint(1, 2)}) {{")
        else:
            self.say(f"int {name} = {bound};")
            self.say(f"while ({name}-- > 0 && {self.condition(1)}) {{")
        self.scopes.append([(name, "int32_t")])
        self.block()
        if r.randrange(4) == 0:
            self.say(f"    if ({self.condition(1)}) {r.choice(('break', 'continue'))};")
        self.scopes.pop()
        self.say("}")

    def array(self) -> None:
        r, name, size = self.random, self.name("a"), self.random.choice((2, 3, 4, 8, 12))
        type = r.choice(INTEGERS[4:])
        if r.randrange(3) == 0:
            values = ", ".join(str(r.randint(0, 1000)) for _ in range(size))
            self.say(f"{r.choice(('const ', 'constexpr ', ''))}{type} {name}[{size}] = {{{values}}};")
            self.arrays.append((name, type, size))
            return
        index = self.name("i")
        self.say(f"{type} {name}[{size}] = {{}};")
        self.say(
            f"for (int {index} = 0; {index} < {size}; {index}++) {name}[{index}] = {type}({index} * {self.integer(1)});"
        )
        self.arrays.append((name, type, size))
        if r.randrange(2):
            self.say(f"{name}[{self.index(size, 1)}] = {type}({self.integer(1)});")

    def switch(self) -> None:
        self.say(f"switch (uint32_t({self.integer(1)}) % 5) {{")
        for case in self.random.sample(range(5), 3):
            self.say(f"case {case}: {{")
            self.block()
            self.say("}" if self.random.randrange(3) == 0 else "} break;")
        self.say("default: {")
        self.block()
        self.say("}")
        self.say("}")

    def lambdas(self) -> None:
        name, total = self.name("l"), self.name("v")
        self.say(f"int64_t {total} = {self.integer(1)};")
        self.scopes[-1].append((total, "int64_t"))
        self.say(
            f"auto {name} = [&](int32_t k) {{ {total} = {total} * 3 + k; if (k > 1) {total} ^= {self.integer(1)}; }};"
        )
        self.say(f"times<{self.random.randint(1, 4)}>({name});")

    def record(self) -> None:
        name = self.name("p")
        self.say(f"Pair {name} = Pair({self.integer(1)}, {self.integer(1)});")
        self.say(f"if ({self.condition(1)}) {name}.turn();")
        self.say(f"if (at < 200) out[at++] = {name}.mixed();")


def source(first: int, count: int) -> str:
    """Functions ``k0``, ``k1`` … of these seeds."""
    return HEAD + "\n".join(Writer(first + k).text(f"k{k}") for k in range(count)) + "\n"
