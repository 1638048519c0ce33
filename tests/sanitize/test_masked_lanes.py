"""Lanes of registers that hold what nothing has written: a finding where they are used, none where a mask drops them.

`Model` says it lane by lane in plain Python, from the manual's formulas.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic
from ptokit.sanitize import sanitize
from ptokit.targets import target

from ..test_python_examples import loaded

V, M, P, W = "!pto.vreg<64xf32>", "!pto.mask<b32>", "!pto.ptr<f32, ub>", "!pto.vreg<64xi32>"
MASKS = {
    "all": ("PAT_ALL", range(64)),
    "few": ("PAT_VL8", range(8)),
    "some": ("PAT_VL32", range(32)),
    "third": ("PAT_M3", range(0, 64, 3)),
    "fourth": ("PAT_M4", range(0, 64, 4)),
    "first": ("PAT_VL1", range(1)),
}
LOAD = f": {P} -> {V}"
STORE = f": {V}, {P}, {M}"


def findings(lines: list[str]) -> list[Diagnostic]:
    """Uninitialised reads of the lines of one vector scope, on a unified buffer that nobody has written."""
    head = [
        "func.func @k(%x: !pto.ptr<f32>) attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {",
        "%zero = arith.constant 0 : i64",
        "%one = arith.constant 1.0 : f32",
        f"%p = pto.castptr %zero : i64 -> {P}",
        *(f"%k{k} = arith.constant {k} : index" for k in range(0, 1024, 8)),
        "pto.vecscope {",
        *(f'%{name} = pto.pset_b32 "{pattern}" : {M}' for name, (pattern, _) in MASKS.items()),
    ]
    text = "\n".join([*head, *lines, "}", "return", "}"])
    a5 = target("a5")
    report = sanitize(parse_module(text, "k.pto", target=a5).module, a5, [np.zeros(8, np.float32)])
    assert report.ran, str(report)
    found = [d for d in report.diagnostics if d.rule in ("UNINIT-READ", "PAD-READ")]
    assert len(found) == len({d.location.line for d in found})
    return found


def lines_of(lines: list[str]) -> list[int]:
    """Which of the lines read what nothing has written."""
    ahead = 4 + 128 + 1 + len(MASKS)
    return sorted(d.location.line - ahead - 1 for d in findings(lines))


FILL = [f"%c = pto.vdup %one, %all : f32, {M} -> {V}", f"pto.vsts %c, %p[%k0], %some {STORE}", 'pto.mem_bar "VST_VLD"']
"""Elements 0 to 31 are written."""
HALF = [*FILL, f"%v = pto.vlds %p[%k0] {LOAD}"]


def two(name: str, a: str, b: str, mask: str) -> str:
    return f"%r = pto.{name} %{a}, %{b}, %{mask} : {V}, {V}, {M} -> {V}"


def store(value: str, mask: str) -> str:
    return f"pto.vsts %{value}, %p[%k128], %{mask} {STORE}"


def chosen(by: int) -> list[str]:
    """The same lane of %v in all lanes."""
    at = [f"%n = arith.constant {by} : i32", f"%w = pto.vdup %n, %all : i32, {M} -> {W}"]
    return [*at, f"%r = pto.vselr %v, %w : {V}, {W} -> {V}"]


@pytest.mark.parametrize(
    ("lines", "lanes"),
    [
        ([], ""),
        ([store("v", "some")], ""),
        ([store("v", "all")], "vsts uses lanes 32..63"),
        ([store("v", "fourth")], "vsts uses lanes 32, 36, 40, ..."),
        ([two("vadd", "v", "c", "some"), store("r", "all")], ""),
        ([two("vadd", "v", "c", "all"), store("r", "all")], "vsts uses lanes 32..63"),
        ([two("vadd", "v", "c", "all"), store("r", "few")], ""),
        ([two("vsel", "v", "c", "some"), store("r", "all")], ""),
        ([two("vsel", "c", "v", "some"), store("r", "all")], "vsts uses lanes 32..63"),
        ([two("vsel", "c", "v", "some"), store("r", "some")], ""),
        ([f"%r = pto.vcadd %v, %some : {V}, {M} -> {V}"], ""),
        ([f"%r = pto.vcadd %v, %all : {V}, {M} -> {V}"], "vcadd uses lanes 32..63"),
        ([f"%r = pto.vcmax %v, %some : {V}, {M} -> {V}"], ""),
        ([f"%r = pto.vcmax %v, %all : {V}, {M} -> {V}"], "vcmax uses lanes 32..63"),
        ([f"%r = pto.vcgmin %v, %all : {V}, {M} -> {V}"], "vcgmin uses lanes 32..63"),
        ([f'%r = pto.vcmp %v, %c, %some, "lt" : {V}, {V}, {M} -> {M}'], ""),
        ([f'%r = pto.vcmp %v, %c, %all, "lt" : {V}, {V}, {M} -> {M}'], "vcmp uses lanes 32..63"),
        ([f"%r = pto.vsqz %v, %some : {V}, {M} -> {V}", store("r", "all")], ""),
        ([f"%r = pto.vsqz %v, %all : {V}, {M} -> {V}"], "vsqz uses lanes 32..63"),
        (
            [
                f'%h = pto.vcvt %v, %some {{rnd = "R", sat = "SAT", part = "EVEN"}} : {V}, {M} -> !pto.vreg<128xf16>',
                '%b = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>',
                "%q = pto.castptr %zero : i64 -> !pto.ptr<f16, ub>",
                "pto.vsts %h, %q[%k256], %b : !pto.vreg<128xf16>, !pto.ptr<f16, ub>, !pto.mask<b16>",
            ],
            "",
        ),
        (
            [
                f'%h = pto.vcvt %v, %all {{rnd = "R", sat = "SAT", part = "EVEN"}} : {V}, {M} -> !pto.vreg<128xf16>',
                '%b = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>',
                "%q = pto.castptr %zero : i64 -> !pto.ptr<f16, ub>",
                "pto.vsts %h, %q[%k256], %b : !pto.vreg<128xf16>, !pto.ptr<f16, ub>, !pto.mask<b16>",
            ],
            "vsts uses lanes 64, 66, 68, ...",
        ),
        ([*chosen(5), store("r", "all")], ""),
        ([*chosen(40), store("r", "few")], "vsts uses lanes 0..7"),
        ([*chosen(40), store("r", "all")], "vsts uses lanes 0..63"),
        ([*chosen(69), store("r", "all")], ""),  # modulo 64
        # across loops: what a register holds is handed from one iteration to the next
        (
            [
                f"%w = scf.for %i = %k0 to %k16 step %k8 iter_args(%a = %v) -> ({V}) {{",
                f"scf.yield %a : {V}",
                "}",
                store("w", "some"),
            ],
            "",
        ),
        (
            [
                f"%w = scf.for %i = %k0 to %k16 step %k8 iter_args(%a = %v) -> ({V}) {{",
                f"scf.yield %a : {V}",
                "}",
                store("w", "all"),
            ],
            "vsts uses lanes 32..63",
        ),
        (
            [
                f"%w = scf.for %i = %k0 to %k16 step %k8 iter_args(%a = %c) -> ({V}) {{",
                f"%n = pto.vadd %a, %v, %all : {V}, {V}, {M} -> {V}",
                f"scf.yield %n : {V}",
                "}",
                store("w", "all"),
            ],
            "vsts uses lanes 32..63",
        ),
    ],
)
def test_a_use(lines: list[str], lanes: str) -> None:
    """The load is the finding, and a note tells where lanes of it are used."""
    found = findings([*HALF, *lines])
    if not lanes:
        assert not found, list(map(str, found))
        return
    (d,) = found
    assert (d.rule, d.location.line) == ("UNINIT-READ", 4 + 128 + 1 + len(MASKS) + len(HALF))
    assert "vlds reads memory where it was never written: bytes 0x80..0xff of UB" in d.message
    assert any(note.message.startswith(lanes) for note in d.notes), str(d)


def test_lanes_chosen_by_what_nobody_has_written() -> None:
    """The numbers are used, and no lane of what they choose from."""
    lines = ["%q = pto.castptr %zero : i64 -> !pto.ptr<i32, ub>", f"%w = pto.vlds %q[%k8] : !pto.ptr<i32, ub> -> {W}"]
    assert lines_of([*HALF, *lines, f"%r = pto.vselr %c, %w : {V}, {W} -> {V}"]) == [len(HALF) + 1]


@pytest.mark.parametrize("load", ["vlds", "uvld"])
def test_a_load_of_what_nobody_has_written_is_found_where_it_is_stored(load: str) -> None:
    types = f"{P}, index" if load == "uvld" else P
    assert lines_of([f"%v = pto.{load} %p[%k8] : {types} -> {V}", store("v", "few")]) == [0]


def test_saxpy_of_1003_elements_is_clean() -> None:
    saxpy = loaded("saxpy_registers").saxpy
    x, y = np.ones((2, 1003), np.float32)
    report = saxpy.sanitize(x, y, 1003, 0.3, blocks=2)
    assert report.ran
    assert report.clean, str(report)


def test_saxpy_whose_masks_are_too_wide_is_found_at_the_load_of_y() -> None:
    old, new = "pto.vlds(ys, at), mask), ys, at, mask)", "pto.vlds(ys, at)), ys, at)"
    x, y = np.ones((2, 1003), np.float32)
    report = loaded("saxpy_registers", (old, new)).saxpy.sanitize(x, y, 1003, 0.3, blocks=2)
    (found,) = [d for d in report.diagnostics if d.rule == "UNINIT-READ"]
    assert "bytes 0x1fac..0x1fff of UB" in found.message
    assert "vsts uses lanes 43..63 of what it loaded here" in [note.message for note in found.notes]


# --- random programs -------------------------------------------------------------------------------------------------


class Model:
    """Memory and registers lane by lane: which loads' gaps each lane depends on."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.written = [False] * 1024
        self.registers: dict[str, list[set[int]]] = {}
        self.lines: list[str] = []
        self.used: set[int] = set()

    def name(self) -> str:
        return f"v{len(self.lines)}"

    def pick(self) -> str:
        return self.rng.choice(list(self.registers))

    def mask(self) -> tuple[str, set[int]]:
        name = self.rng.choice(list(MASKS))
        return name, set(MASKS[name][1])

    def make(self, text: str, lanes: list[set[int]]) -> None:
        name = self.name()
        self.lines.append(f"%{name} = pto.{text}")
        self.registers[name] = lanes

    def constant(self) -> None:
        mask, _ = self.mask()
        self.make(f"vdup %one, %{mask} : f32, {M} -> {V}", [set() for _ in range(64)])

    def load(self) -> None:
        at = self.rng.randrange(0, 200, 8)
        line = len(self.lines)
        lanes = [set() if self.written[at + i] else {line} for i in range(64)]
        self.make(f"vlds %p[%k{at}] {LOAD}", lanes)

    def broadcast(self) -> None:
        at = self.rng.randrange(0, 200, 8)
        lanes = [set() if self.written[at] else {len(self.lines)} for _ in range(64)]
        self.make(f'vlds %p[%k{at}] {{dist = "BRC_B32"}} {LOAD}', lanes)

    def store(self) -> None:
        value, (mask, on) = self.pick(), self.mask()
        at = self.rng.randrange(0, 200, 8)
        for i in on:
            self.used |= self.registers[value][i]
            self.written[at + i] = True
        self.lines += [f"pto.vsts %{value}, %p[%k{at}], %{mask} {STORE}", 'pto.mem_bar "VST_VLD"']

    def single(self) -> None:
        value, at = self.pick(), self.rng.randrange(0, 200, 8)
        self.used |= self.registers[value][0]
        self.written[at] = True
        self.lines += [f'pto.vsts %{value}, %p[%k{at}], %few {{dist = "1PT_B32"}} {STORE}', 'pto.mem_bar "VST_VLD"']

    def unary(self) -> None:
        a, (mask, on) = self.pick(), self.mask()
        lanes = [set(self.registers[a][i]) if i in on else set() for i in range(64)]
        name = self.rng.choice(["vabs", "vneg", "vrelu", "vexp"])
        self.make(f"{name} %{a}, %{mask} : {V}, {M} -> {V}", lanes)

    def binary(self) -> None:
        a, b, (mask, on) = self.pick(), self.pick(), self.mask()
        lanes = [self.registers[a][i] | self.registers[b][i] if i in on else set() for i in range(64)]
        name = self.rng.choice(["vadd", "vsub", "vmul", "vmax", "vmin"])
        self.make(f"{name} %{a}, %{b}, %{mask} : {V}, {V}, {M} -> {V}", lanes)

    def select(self) -> None:
        a, b, (mask, on) = self.pick(), self.pick(), self.mask()
        lanes = [set(self.registers[a if i in on else b][i]) for i in range(64)]
        self.make(f"vsel %{a}, %{b}, %{mask} : {V}, {V}, {M} -> {V}", lanes)

    def first_lane(self) -> None:
        a, (mask, on) = self.pick(), self.mask()
        lanes = [set(self.registers[a][0]) if i in on else set() for i in range(64)]
        self.make(f"vdup %{a}, %{mask} : {V}, {M} -> {V}", lanes)

    def interleaved(self) -> None:
        a, b = self.pick(), self.pick()
        one, two = self.registers[a], self.registers[b]
        if self.rng.random() < 0.5:
            found, name = [set((one, two)[k % 2][k // 2]) for k in range(128)], "vintlv"
        else:
            both = one + two
            found, name = [set(both[2 * (k % 64) + k // 64]) for k in range(128)], "vdintlv"
        made = self.name()
        self.lines.append(f"%{made}, %{made}h = pto.{name} %{a}, %{b} : {V}, {V} -> {V}, {V}")
        self.registers |= {made: found[:64], f"{made}h": found[64:]}

    def reduction(self) -> None:
        a, (mask, on) = self.pick(), self.mask()
        for i in on:
            self.used |= self.registers[a][i]
        name = self.rng.choice(["vcadd", "vcmax", "vcmin", "vcgadd", "vcgmax"])
        self.make(f"{name} %{a}, %{mask} : {V}, {M} -> {V}", [set() for _ in range(64)])

    def comparison(self) -> None:
        a, b, (mask, on) = self.pick(), self.pick(), self.mask()
        for i in on:
            self.used |= self.registers[a][i] | self.registers[b][i]
        self.lines.append(f'%{self.name()} = pto.vcmp %{a}, %{b}, %{mask}, "ge" : {V}, {V}, {M} -> {M}')


def drawn(seed: int) -> Model:
    """A program; half of those without a use of their own end with stores."""
    rng = random.Random(seed)
    model = Model(rng)
    model.constant()
    for _ in range(rng.randrange(1, 4)):
        model.store()
    work = [model.load] * 4 + [model.broadcast, model.unary, model.first_lane, model.interleaved, model.select]
    work += [model.binary] * 4
    for _ in range(rng.randrange(3, 14)):
        rng.choice(work)()
    for _ in range(rng.randrange(0, 3)):
        rng.choice([model.store, model.single, model.reduction, model.comparison])()
    for _ in range(rng.randrange(0, 3)):
        rng.choice(work)()
    return model


def test_random_programs_as_a_model_has_them() -> None:
    found, clean = 0, 0
    for seed in range(150):
        model = drawn(seed)
        assert lines_of(model.lines) == sorted(model.used), (seed, "\n".join(model.lines))
        found += bool(model.used)
        clean += not model.used and any("pto.vlds" in line for line in model.lines)
    assert min(found, clean) >= 25
