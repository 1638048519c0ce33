"""Rules of reading `.pto` text: lexical, grammatical and type errors (assembly 1-5, 13.1)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Scope, Severity, define


def _text(id: str, what: str, **more: Any) -> str:
    define(id, what, scope=Scope.TEXT, **more)
    return id


FILE = _text("TEXT-FILE", "The file cannot be read.")
BINARY = _text("TEXT-BINARY", "The file is not text: it has NUL bytes or is not UTF-8.")
SIZE = _text("TEXT-SIZE", "The text is larger than 32 MiB.", why="Reading it would need gigabytes of memory.")
LIMIT = _text("TEXT-LIMIT", "Reading stopped after 1000 errors.")
STRING = _text("TEXT-STRING", "A string is not closed on its line.", rejected='"a5', accepted='"a5"')
CHARACTER = _text("TEXT-CHARACTER", "A character that no token begins with.", rejected="`", source="assembly 1")
NUMBER = _text(
    "TEXT-NUMBER",
    "A number does not fit its type, or 64 bits.",
    example="%out_at = arith.constant {32768|32769999999999999999999999999999998} : i64",
)
KERNEL = _text(
    "TEXT-KERNEL",
    "A Python kernel that is printed has a form as text which reads back.",
    rejected="k.to_pto()     of a kernel with 300 nested loops",
    accepted="k.to_pto()     of one with 3",
    why="A text that nothing reads would be found out late. A launch needs none, on other processes neither.",
)
UNEXPECTED = _text("TEXT-UNEXPECTED", "The grammar wants another token here.", source="assembly 2, 7-11")
UNCLOSED = _text("TEXT-UNCLOSED", "A bracket, region or type is not closed.", rejected="!pto.ptr<f32")
NESTING = _text("TEXT-NESTING", "Brackets or regions are nested more than 200 deep.")
TYPE = _text("TEXT-TYPE", "Unknown or malformed type.", rejected="!pto.tensor_view<4xq32>", source="assembly 3")
ATTRIBUTE = _text(
    "TEXT-ATTRIBUTE",
    "An attribute of the wrong kind, or written twice.",
    source="assembly 4",
    example="""
          %x = "pto.alloc_tile"(%n) {operandSegmentSizes = array<i32: 0, 1,{ 0| 	}>} : (index)
            -> !pto.tile_buf<vec, 16x16xf32, valid=?x16>
    """,
)
UNKNOWN_ATTRIBUTE = _text(
    "TEXT-UNKNOWN-ATTRIBUTE",
    "An attribute that the operation does not have: nothing reads it.",
    severity=Severity.WARNING,
    why="The reference assembler keeps such attributes and ignores them, so that a misspelt one changes what is done.",
    rejected="tstore … {atomic_type = #pto<atomic_type atomic_add>}, which stores and does not add",
    accepted="tstore … {atomicType = #pto<atomic_type atomic_add>}; attributes of other dialects, as my.note",
    source="assembly 4",
)
ARCH = _text(
    "TEXT-ARCH",
    "pto.target_arch is not the name of a target: the rules of a2a3 apply, unless --target says otherwise.",
    severity=Severity.WARNING,
    why="The reference assembler takes the A5 rules for a5 and those of A2/A3 for everything else.",
    rejected='module attributes {pto.target_arch = "a55"}',
    accepted='module attributes {pto.target_arch = "a5"}',
    source="assembly 2.1",
)
UNKNOWN_OP = _text("TEXT-UNKNOWN-OP", "There is no such operation.", rejected="pto.tadq", accepted="pto.tadd")
UNIMPLEMENTED = _text("TEXT-UNIMPLEMENTED", "A known operation or form that ptokit does not implement yet.")
OPERANDS = _text("TEXT-OPERANDS", "The number or kinds of operands do not fit the operation.", source="assembly 6")
RESULTS = _text(
    "TEXT-RESULTS", "The number of result names differs from the number of results.", example="{return|%x:2 =}"
)
TERMINATOR = _text(
    "TEXT-TERMINATOR",
    "A block lacks its terminator, has one in the middle, or one of another operation.",
    source="assembly 2",
)
YIELD = _text("TEXT-YIELD", "What a block returns or yields differs from what its operation declares.")
CASE = _text(
    "TEXT-CASE",
    "Two cases of scf.index_switch have the same number.",
    rejected="case 1 { ... } case 1 { ... }",
    accepted="case 1 { ... } case 2 { ... }",
    source="assembly 11",
)
LABEL = _text(
    "TEXT-LABEL",
    "A branch names no block of its region, or its first block; or two blocks of a region have one name.",
    rejected="cf.br ^bb7",
    accepted="cf.br ^bb1",
    source="assembly 2",
)
BLOCKS = _text(
    "TEXT-BLOCKS",
    "A region that is a single block has several, or its arguments are named twice.",
    why="Only functions and scf.execute_region have blocks that branches lead to.",
    rejected="scf.if %c { cf.br ^bb1 ^bb1: scf.yield }",
    accepted="scf.execute_region { cf.br ^bb1 ^bb1: scf.yield }",
    source="assembly 2, 11",
)
BRANCH = _text(
    "TEXT-BRANCH",
    "What a branch passes differs in number or type from the arguments of the block.",
    rejected="cf.br ^bb1(%i : index) to ^bb1(%k: i32):",
    accepted="cf.br ^bb1(%i : i32) to ^bb1(%k: i32):",
    source="assembly 2",
)
DOMINANCE = _text(
    "TEXT-DOMINANCE",
    "A value is used where its definition has not been passed on every way.",
    why="The definition stands in a block that some way to the use leaves out.",
    rejected="a value of ^bb1 in a block that ^bb1 and ^bb2 lead to",
    accepted="an argument of that block, which both pass",
    source="assembly 2, 16.11",
)
CALL = _text("TEXT-CALL", "A call names no function of the file, or differs from its signature.")
TOPLEVEL = _text("TEXT-TOPLEVEL", "Only one module and functions stand at the top level.", source="assembly 2")

TY_1 = _text(
    "TY-1",
    "tile_buf: unknown loc, blayout or slayout name.",
    rejected="!pto.tile_buf<ub, 16x16xf32>",
    accepted="!pto.tile_buf<vec, 16x16xf32>",
    source="assembly 13.1",
)
TY_2 = _text(
    "TY-2",
    "tile_buf: pad neither 0..3 nor 4294967296 plus 32 custom bits, compact not in 0..2, negative rows or cols.",
    rejected="!pto.tile_buf<vec, 16x16xf32, pad=4>",
    accepted="!pto.tile_buf<vec, 16x16xf32, pad=3>",
    why="Custom values are an extension: kernels of Python that use them can be printed and read again.",
    source="assembly 13.1",
)
TY_3 = _text(
    "TY-3",
    "tile_buf: fractal not 16, 32, 512 or 1024.",
    rejected="!pto.tile_buf<vec, 16x16xf32, fractal=256>",
    accepted="!pto.tile_buf<acc, 16x16xf32, fractal=1024>",
    source="assembly 13.1",
)
TY_4 = _text(
    "TY-4",
    "tile_buf, long form: a key is missing, out of order or unknown.",
    rejected="!pto.tile_buf<loc=vec, dtype=f32, cols=16, rows=16, ...>",
    accepted="!pto.tile_buf<loc=vec, dtype=f32, rows=16, cols=16, ...>",
    source="assembly 13.1",
)
TY_5 = _text(
    "TY-5",
    "tile_buf, short form: not exactly two static dimensions, an unknown or repeated option, valid without two sizes.",
    rejected="!pto.tile_buf<vec, 16xf32>",
    accepted="!pto.tile_buf<vec, 1x16xf32, valid=1x?>",
    source="assembly 13.1",
)
TY_6 = _text(
    "TY-6",
    "tile_buf: v_row or v_col below -1.",
    example="func.func @f(%a: !pto.tile_buf<vec, 16x16xf32, valid={1x0|1x-3}>) { return }",
    source="assembly 13.1",
)
TY_7 = _text(
    "TY-7",
    "ptr with a second parameter that is not a memory.",
    rejected="!pto.ptr<f32, l9>",
    accepted="!pto.ptr<f32>, !pto.ptr<f32, gm>, !pto.ptr<f32, ub>",
    why="A pointer points to global memory, or to the on-chip buffer that it names.",
    source="assembly 13.1; PTOAS e32488c9",
)
VMI_1 = _text(
    "VMI-01",
    "A logical vector has lanes of 8, 16 or 32 bits, and its layout is one that there is.",
    example="func.func @f(%a: !pto.vmi.vreg<{1xf32|0xf32}>) { return }",
    source="PTOAS e32488c9, VMI",
)
TY_8 = _text(
    "TY-8",
    "Enumeration attribute with an unknown value.",
    rejected="#pto.layout<xy>",
    accepted="#pto.layout<nd>",
    source="assembly 13.1",
)
TY_9 = _text(
    "TY-9",
    "A value is used with another type than it was defined with, is not defined, or is defined twice.",
    rejected="arith.addi %a, %b : index, where %a is of type i32",
    accepted="arith.addi %a, %b : i32",
    source="assembly 13.1",
)
VEC_A5_01 = _text(
    "VEC-A5-01",
    "The lanes of a vector register times the bits of its element are 2048, and an element has 8 to 64 bits.",
    example="""
        pto.vecscope {
        %r = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<{64xf32|32xf32}>
        }
    """,
    source="vector-path 1.2, 8",
    on="cpu",
)
VEC_A5_18 = _text(
    "VEC-A5-18",
    "A strict vector scope uses its arguments and what it defines itself.",
    rejected="pto.strict_vecscope() { pto.vlds %p[%i] … } with %p from outside",
    accepted="pto.strict_vecscope(%p) { ^bb0(%q: !pto.ptr<f32, ub>): … }",
    source="vector-path 2, 8",
)
