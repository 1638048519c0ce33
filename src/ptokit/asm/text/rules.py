"""Rules of reading `.pto` text: lexical, grammatical and type errors (assembly 1-5, 13.1)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Scope, Severity, define
from ptokit.diagnostics.finding import suggest
from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype
from ptokit.types.values import Scalar


def _text(id: str, what: str, **more: Any) -> str:
    define(id, what, scope=Scope.TEXT, **more)
    return id


FILE = _text("TEXT-FILE", "The file cannot be read.", unrun="it is about files")
BINARY = _text(
    "TEXT-BINARY",
    "The file is not text: it has NUL bytes or is not UTF-8.",
    unrun="such a text fills no page",
)
SIZE = _text(
    "TEXT-SIZE",
    "The text is larger than 32 MiB.",
    why="Reading it would need gigabytes of memory.",
    unrun="such a text fills no page",
)
LIMIT = _text("TEXT-LIMIT", "Reading stopped after 1000 errors.", unrun="such a text fills no page")
STRING = _text(
    "TEXT-STRING",
    "A string is not closed on its line.",
    example="""
        module attributes {pto.target_arch = "a5{"|}} {
        }
    """,
)
CHARACTER = _text(
    "TEXT-CHARACTER",
    "A character that no token begins with.",
    example="""
        func.func @example() {
          {|`}return
        }
    """,
    source="assembly 1",
)
NUMBER = _text(
    "TEXT-NUMBER",
    "A number does not fit its type, or 64 bits.",
    example="%out_at = arith.constant {32768|32769999999999999999999999999999998} : i64",
)
KERNEL = _text(
    "TEXT-KERNEL",
    "A Python kernel that is printed has a form as text which reads back.",
    example="""
        @kernel(target="a5")
        def example():
            {TileLeft(f16, 16, 16)|Tile(Left, f16, 16, 16, slayout=SLayout.RowMajor)}
        example.to_pto()
    """,
    why="A text that nothing reads would be found out late. A launch needs none, on other processes neither.",
)
UNEXPECTED = _text(
    "TEXT-UNEXPECTED",
    "The grammar wants another token here.",
    source="assembly 2, 7-11",
    example="%c = arith.constant {1|=} : i32",
)
UNCLOSED = _text(
    "TEXT-UNCLOSED",
    "A bracket, region or type is not closed.",
    example="""
        func.func @example(%x: !pto.ptr<f32{>|}) {
          return
        }
    """,
)
NESTING = _text("TEXT-NESTING", "Brackets or regions are nested more than 200 deep.", unrun="such a text fills no page")
TYPE = _text(
    "TEXT-TYPE",
    "Unknown or malformed type.",
    example="%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16x{f32|q32}>",
    source="assembly 3",
)
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
    example="pto.tstore ins(%t : !pto.tile_buf<vec, 16x16xf32>) "
    "outs(%v : !pto.partition_tensor_view<16x16xf32>) {{atomicType|atomic_type} = #pto<atomic_type "
    "atomic_add>}",
    source="assembly 4",
)
ARCH = _text(
    "TEXT-ARCH",
    "pto.target_arch is not the name of a target: the rules of a2a3 apply, unless --target says otherwise.",
    severity=Severity.WARNING,
    why="The reference assembler takes the A5 rules for a5 and those of A2/A3 for everything else.",
    example="""
        module attributes {pto.target_arch = "a5{|5}"} {
        }
    """,
    source="assembly 2.1",
)
UNKNOWN_OP = _text(
    "TEXT-UNKNOWN-OP",
    "There is no such operation.",
    example="pto.{tabs|tabz} ins(%a : !pto.tile_buf<vec, 16x16xf32>) outs(%b : !pto.tile_buf<vec, 16x16xf32>)",
)
UNIMPLEMENTED = _text(
    "TEXT-UNIMPLEMENTED",
    "A known operation or form that ptokit does not implement yet.",
    example="{%n = arith.constant 0 : index|%x = memref.load %n}",
)
OPERANDS = _text(
    "TEXT-OPERANDS",
    "The number or kinds of operands do not fit the operation.",
    source="assembly 6",
    example='"pto.tabs"(%a{, %b|}) : (!pto.tile_buf<vec, 16x16xf32>{, !pto.tile_buf<vec, 16x16xf32>|}) -> ()',
)
RESULTS = _text(
    "TEXT-RESULTS", "The number of result names differs from the number of results.", example="{return|%x:2 =}"
)
TERMINATOR = _text(
    "TEXT-TERMINATOR",
    "A block lacks its terminator, has one in the middle, or one of another operation.",
    source="assembly 2",
    example="""
        func.func @example(%c: i1) {
          {|return
          }return
        }
    """,
)
YIELD = _text(
    "TEXT-YIELD",
    "What a block returns or yields differs from what its operation declares.",
    example="""
        func.func @example(){ -> i32|} {
          %c = arith.constant 1 : i32
          return %c : i32
        }
    """,
)
CASE = _text(
    "TEXT-CASE",
    "Two cases of scf.index_switch have the same number.",
    example="""
        scf.index_switch %n
        case 1 {
        }
        case {2|1} {
        }
        default {
        }
    """,
    source="assembly 11",
)
LABEL = _text(
    "TEXT-LABEL",
    "A branch names no block of its region, or its first block; or two blocks of a region have one name.",
    example="""
        "func.func"() <{function_type = () -> (), sym_name = "f"}> ({
        {|"cf.br"()[^a] : () -> ()
        }}) : () -> ()
    """,
    source="assembly 2",
)
BLOCKS = _text(
    "TEXT-BLOCKS",
    "A region that is a single block has several, or its arguments are named twice.",
    why="Only functions and scf.execute_region have blocks that branches lead to.",
    example="""
        func.func @example(%c: i1) {
          {scf.execute_region|scf.if %c} {
            cf.br ^bb1
          ^bb1:
            scf.yield
          }
          return
        }
    """,
    source="assembly 2, 11",
)
BRANCH = _text(
    "TEXT-BRANCH",
    "What a branch passes differs in number or type from the arguments of the block.",
    example="""
        func.func @example(%i: i32, %j: index) {
          cf.br ^bb1({%i : i32|%j : index})
        ^bb1(%k: i32):
          return
        }
    """,
    source="assembly 2",
)
DOMINANCE = _text(
    "TEXT-DOMINANCE",
    "A value is used where its definition has not been passed on every way.",
    why="The definition stands in a block that some way to the use leaves out.",
    example="""
        func.func @example(%c: i1) {
        {  %v = arith.constant 1 : i32
        |}  cf.cond_br %c, ^bb1, ^bb2
        ^bb1:
        {|  %v = arith.constant 1 : i32
        }  cf.br ^bb2
        ^bb2:
          %w = arith.addi %v, %v : i32
          return
        }
    """,
    source="assembly 2, 16.11",
)
CALL = _text(
    "TEXT-CALL",
    "A call names no function of the file, or differs from its signature.",
    example="""
        func.func @f() {
        {|func.call @gg() : () -> ()
        }return
        }
    """,
)
TOPLEVEL = _text(
    "TEXT-TOPLEVEL",
    "Only one module and functions stand at the top level.",
    source="assembly 2",
    example="""
        func.func @f() {
          return
        }
        {|%c = arith.constant 1 : i32
        }
    """,
)

TY_1 = _text(
    "TY-1",
    "tile_buf: unknown loc, blayout or slayout name.",
    example="func.func @f(%a: !pto.tile_buf<{vec|ub}, 16x16xf32>) { return }",
    source="assembly 13.1",
)
TY_2 = _text(
    "TY-2",
    "tile_buf: pad neither 0..3 nor 4294967296 plus 32 custom bits, compact not in 0..2, negative rows or cols.",
    example="%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32, pad={3|4}>",
    why="Custom values are an extension: kernels of Python that use them can be printed and read again.",
    source="assembly 13.1",
)
TY_3 = _text(
    "TY-3",
    "tile_buf: fractal not 16, 32, 512 or 1024.",
    example="%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32, fractal={512|256}>",
    source="assembly 13.1",
)
TY_4 = _text(
    "TY-4",
    "tile_buf, long form: a key is missing, out of order or unknown.",
    example="%t = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, {rows=16, cols=16|cols=16, rows=16}, v_row=16, "
    "v_col=16, blayout=row_major, slayout=none_box, fractal=512, pad=0>",
    source="assembly 13.1",
)
TY_5 = _text(
    "TY-5",
    "tile_buf, short form: not exactly two static dimensions, an unknown or repeated option, valid without two sizes.",
    example="%t = pto.alloc_tile : !pto.tile_buf<vec, {16x16|16}xf32>",
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
    example="%y = pto.addptr %x, %i : !pto.ptr<f32, {ub|l9}> -> !pto.ptr<f32, {ub|l9}>",
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
    example="pto.barrier <PIPE_{V|Q}>",
    source="assembly 13.1",
)
TY_9 = _text(
    "TY-9",
    "A value is used with another type than it was defined with, is not defined, or is defined twice.",
    example="""
        %c = arith.constant 1 : i32
        %d = arith.addi %c, %c : {i32|index}
    """,
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
    example="""
        func.func @f(%p: !pto.ptr<f32, ub>, %i: index) {
          pto.strict_vecscope(%p, %i) {
          ^bb0(%q: !pto.ptr<f32, ub>, %j: index):
            %r = pto.vlds {%q|%p}[%j] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
          } : (!pto.ptr<f32, ub>, index) -> ()
          return
        }
    """,
    source="vector-path 2, 8",
)


# What is wrong with a type.


class TypeFaultError(Exception):
    """A wrong type: rule, message, and the characters of the type's text that are wrong."""

    def __init__(self, rule: str, message: str, offset: int = 0, length: int = 1, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.offset, self.length, self.hint = rule, message, offset, length, hint


def is_signed(text: str) -> bool:
    """True for an integer type that says it is signed: ``si32``."""
    return text[:2] == "si"


def number(text: str) -> Scalar:
    """The type of a number that `text` spells, which is one."""
    return Scalar(text[1:], True) if is_signed(text) else Scalar(text)


def element(text: str, offset: int) -> DType:
    """The element type `text` spells; `offset` is its place in the type. Raises `TypeFaultError`."""
    if not is_dtype(text):
        spellings = [t.text for t in DTYPES.values()]
        hint = suggest(text, spellings) or f"element types are {', '.join(spellings)}"
        raise TypeFaultError(TYPE, f"'{text}' is not an element type of tiles and tensors", offset, len(text), hint)
    return dtype(text)
