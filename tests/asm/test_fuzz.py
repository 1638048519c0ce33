"""Whatever the text is, there are only diagnostics: no exception, no endless loop."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ptokit.asm import parse_module, print_module
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.ir import Module
from ptokit.ir.verify import verify
from ptokit.targets import TARGETS

from ..cost import calls
from .reading import CORPUS, in_function, read
from .same import assert_same

EXAMPLES = Path(__file__).parents[2] / "examples" / "pto"
TEXTS = [path.read_text() for path in CORPUS]
LISTINGS = [
    """# Sync form
%t0 = tload %sv[%c0, %c0] : (!pto.memref<f32, 2>, index, index) -> !pto.tile<16x16xf32>
%t1 = tadds %t0, 2.5 : (!pto.tile<16x16xf32>, f32) -> !pto.tile<16x16xf32>
tassign %t1, @tile(0x1000)
tsync %t0, %t1
%e = tstore %t1, %sv_out[%c0, %c0] #atomic=add : (!pto.tile<16x16xf32>, !pto.memref<f32, 5>, index, index) -> ()
tsync %e
""",
    """func.func @f(%m: memref<16x16xf32, strided<[32, 1], offset: 4>, #pto.address_space<gm>>) {
  %a = pto.tload %m : memref<16x16xf32, strided<[32, 1], offset: 4>, #pto.address_space<gm>>
    -> !pto.tile<vec, f32, 16, 16, RowMajor, NoneBox, None, Zero>
  %b = pto.txor %a, %a : !pto.tile<loc=vec, f32, 16, 16, RowMajor, NoneBox, None, Zero> -> !pto.tile<f32, 16, 16>
  %c = pto.tmatmul.acc %b, %b, %b : !pto.tile<f32, 16, 16>
  pto.mscatter %b, %c, %m : (!pto.tile<f32,16,16>, !pto.tile<16x16xf32>,
    memref<16x16xf32, strided<[32, 1], offset: 4>, #pto.address_space<gm>>) -> ()
  return
}
""",
    """func.func @f(%n: index, %t: !pto.tile_buf<vec, 16x16xf32>) {
  %c = "arith.constant"() <{value = 7 : index}> : () -> index
  %k = "arith.cmpi"(%n, %c) <{predicate = 2 : i64}> : (index, index) -> i1
  %x = "pto.alloc_tile"(%n) {operandSegmentSizes = array<i32: 0, 1, 0>} : (index)
    -> !pto.tile_buf<vec, 16x16xf32, valid=?x16>
  "pto.tmov"(%t, %x) <{operandSegmentSizes = array<i32: 1, 1, 0, 0>}> : (!pto.tile_buf<vec, 16x16xf32>,
    !pto.tile_buf<vec, 16x16xf32, valid=?x16>) -> ()
  "func.return"() : () -> ()
}
""",
]
REGISTERS = [(EXAMPLES / "vector_softmax.pto").read_text()]
TEXTS += LISTINGS * (len(TEXTS) // 4) + REGISTERS * (len(TEXTS) // 8)
FRAGMENTS = [
    *'{}()<>[]%"\\:,=@^-',
    *("->", "!pto.", "#pto<", "^bb0", "loc(", "0x", "-1", "9" * 30, "é", "//", "\n", "\t", "1.", "?x", "%c0", "f32"),
    *("scf.for", "scf.if %c {", "pto.tadd", "ins", "outs", "func.func", "module", "attributes", "return", "%x:2 = "),
    *('"pto.tadd"(%t0, %t0, %t0)', '"arith.constant"()', "<{", "}>", "operandSegmentSizes = array<i32: 1, 1>"),
    *("!pto.tile<", "!pto.memref<f32, 2>", "tload %a[", "tassign %t0, ", "tsync", "#x=y", "@tile(", "# ", " -> ()"),
    *("!pto.tile_buf<", "!pto.ptr<f32>", "dense<", "memref<", "arith.constant", "iter_args(", "pto.set_flag[", "unit"),
]


STATED_ELSEWHERE = ("VEC-A5-06", "DMA-A5-06")
"""Rules of the instruction set that are about how an operation is written."""


def excerpt(random_: random.Random, text: str) -> str:
    """Often only the beginning of a text, with the braces closed, which leaves more time for other texts."""
    if random_.random() < 0.2:
        return text
    depth, ends, offset = 0, [], 0
    for line in text.splitlines(keepends=True):
        depth += line.count("{") - line.count("}")
        offset += len(line)
        if depth == 2 and not line.startswith("//") and "{" not in line:
            ends.append(offset)
    return f"{text[: random_.choice(ends[:30])]}    return\n  }}\n}}\n" if ends else text


def mutate(random_: random.Random) -> str:
    """A text of the corpus with a few pieces removed, repeated, replaced or put in."""
    text = excerpt(random_, random_.choice(TEXTS))
    for _ in range(random_.choice((1, 1, 2, 3, 6))):
        i = random_.randrange(len(text) + 1)
        j = i + random_.randint(1, random_.choice((1, 3, 30, 300)))
        other = random_.choice(TEXTS)
        k = random_.randrange(len(other))
        text = random_.choice(
            [
                text[:i] + text[j:],
                text[:i] + random_.choice(FRAGMENTS) + text[i:],
                text[:j] + text[i:],
                text[:i] + random_.choice(FRAGMENTS) + text[j:],
                text[:i] + other[k : k + random_.randint(1, 200)] + text[j:],
                text[:i],
            ]
        )
    return text


def check(text: str) -> bool:
    """Read; what has no errors must survive printing. True if there were errors."""
    result = parse_module(text, "t.pto")
    found = list(result.diagnostics)
    lines = text.count("\n") + 1
    for d in found:
        assert CATALOGUE[d.rule].scope is Scope.TEXT or d.rule in STATED_ELSEWHERE
        assert 1 <= d.location.line <= lines
        assert d.location.column >= 1
        assert d.message.isprintable()
    if not found:
        printed = print_module(result.module)
        again = read(printed)
        assert_same(result.module, again)
        assert print_module(again) == printed
        check_rules(result.module, lines)
    return bool(found)


def check_rules(module: Module, lines: int) -> None:
    """What can be read can be checked for every target."""
    for target in TARGETS.values():
        for d in verify(module, target):
            assert d.rule in CATALOGUE
            assert 1 <= d.location.line <= lines
            assert d.message.isprintable()


@pytest.mark.parametrize("seed", range(4))
def test_mutated_programs(seed: int) -> None:
    random_ = random.Random(seed)
    wrong = sum(check(mutate(random_)) for _ in range(150))
    assert 50 < wrong < 150  # mutations hurt most texts, but not all


@pytest.mark.parametrize("seed", range(10))
def test_mutated_listings(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(40):
        text = random_.choice(LISTINGS)
        for _ in range(random_.randint(1, 3)):
            i = random_.randrange(len(text) + 1)
            j = i + random_.randint(0, 8)
            text = text[:i] + random_.choice((*FRAGMENTS, "", "")) + text[j:]
        check(text)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 200))
def test_a_million_mutated_programs(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(10_000):
        check(mutate(random_))


@given(st.text(max_size=400))
@settings(max_examples=200)
def test_any_text(text: str) -> None:
    parse_module(text)
    parse_module(in_function(text))


@given(st.binary(max_size=2000))
@settings(max_examples=100)
def test_any_bytes(data: bytes) -> None:
    parse_module(data.decode("latin-1"))
    parse_module(in_function(data.decode("latin-1").replace("\0", "")))


@given(st.lists(st.sampled_from([*FRAGMENTS, "%n", "%t", "arith.addi", ":", ",", "index", " "]), max_size=60))
@settings(max_examples=200)
def test_any_tokens(tokens: list[str]) -> None:
    check(in_function(" ".join(tokens)))


@pytest.mark.parametrize("cut", range(1, 12))
def test_truncated_programs(cut: int) -> None:
    for text in TEXTS[::6]:
        check(text[: len(text) * cut // 12])


LONG = 150_000
ADVERSARIAL = {
    "word": "x" * 10_000_000,
    "line": in_function("%x = arith.addi %n, %n : index " * 15_000),
    "undefined values": in_function("".join(f"%x{i} = arith.addi %q{i}, %n : index\n" for i in range(15_000))),
    "open regions": in_function("scf.if %c {\n" * 15_000),
    "broken regions": in_function("scf.for %i = %n two %n {\n" * 15_000),
    "broken operations": in_function("pto.tadd (\n" * 15_000),
    "broken dictionaries": in_function("pto.foo {a\n" * 15_000),
    "result lists": in_function("%a, " * LONG),
    "quotes": '"' * LONG,
    "escaped quotes": '\\"' * LONG,
    "percent signs": "%" * LONG,
    "open types": in_function("%x = pto.alloc_tile : " + "!pto.tile_buf<" * LONG),
    "open strings in types": '!a<"' * LONG,
    "dimensions": in_function("%x = pto.alloc_tile : !pto.tile_buf<vec, " + "9x" * LONG + "f32>"),
    "digits": in_function("%x = arith.constant " + "9" * LONG + " : i64"),
    "blanks in an attribute": in_function("pto.barrier #pto<pipe" + " " * LONG + "x" + " " * LONG + ",>"),
    "blanks in a type": in_function("%x = pto.alloc_tile : !pto.tile_buf<vec, 1x1xf32, pad =" + " " * LONG + "b c>"),
    "free values": "".join(f"tsync %x{i}\n" for i in range(15_000)),
    "indices": "tstore %a, %b[" + "%c, " * LONG,
    "statements": "tadd %a, %b\n" * 15_000,
    "hash attributes": "tstore %a, %b " + "#x=y " * LONG,
    "memref dimensions": "%a = tload %b : memref<" + "9x" * LONG + "f32>",
    "memref strides": "%a = tload %b : memref<f32, strided<[" + "1, " * LONG,
    "hash comments": "# x\n" * LONG,
    "rebound tiles": in_function("tassign %t, 0\n" * 10_000),
    "functions": "func.func @f() { func.call @g() : () -> () return }\n" * 20_000,
    "aliases": "!a = f32\n" * LONG,
}


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_work_is_linear_in_bad_text(name: str) -> None:
    text = ADVERSARIAL[name]
    assert calls(lambda: parse_module(text)) < 100 * len(text)
