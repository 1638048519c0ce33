"""What level 1 cannot express (assembly 5): its tiles are values, which have no address, no order and never change."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Rule, Scope, define


def _rule(id: str, what: str, **more: Any) -> Rule:
    return define(id, what, scope=Scope.TEXT, source="assembly 5", **more)


ADDRESS = _rule(
    "CONVERT-ADDRESS",
    "Level 1 has no addresses: no operation in the text to convert may give a tile one or ask for it.",
    why="At level 1 the compiler places tiles (LV-1). Two tiles at one address would be two values in one memory.",
    example="""
        // ptokit convert --to ssa
        %z = arith.constant 0 : i64
        %t = pto.alloc_tile {|addr = %z }: !pto.tile_buf<vec, 16x16xf32>
    """,
)
ORDER = _rule(
    "CONVERT-ORDER",
    "Level 1 has no flags, barriers, events and tokens: a value is ready when it is used.",
    why="Leaving them out would lose what the program says about order, so they are not left out silently.",
    example="""
        // ptokit convert --to ssa
        %a = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
        {|pto.barrier <PIPE_ALL>
        }pto.tabs ins(%a : !pto.tile_buf<vec, 16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
    """,
)
ALIAS = _rule(
    "CONVERT-ALIAS",
    "At level 1 a tile does not change when another one that shares its memory is written.",
    why="treshape, bitcast and subset name the same memory again; as values the two names part at the next write.",
    example="""
        // ptokit convert --to ssa
        %a = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        {|%b = pto.treshape %a : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, 8x32xf32>
        }pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32>)
        {%b = pto.treshape %a : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, 8x32xf32>
        |}pto.tabs ins(%b : !pto.tile_buf<vec, 8x32xf32>) outs(%b : !pto.tile_buf<vec, 8x32xf32>)
    """,
)
PARTIAL = _rule(
    "CONVERT-PARTIAL",
    "At level 1 an instruction makes its result as a whole: it cannot write a part of a tile that holds data.",
    why="The rest of the new value would be undefined.",
    example="// ptokit convert --to ssa\n"
    "%a = pto.alloc_tile : !pto.tile_buf<vec, 16x8xf32>\n"
    "pto.tload ins(%v : !pto.partition_tensor_view<16x8xf32>) outs(%a : !pto.tile_buf<vec, 16x8xf32>)\n"
    "pto.{tabs|trowsum} ins(%t{|, %u} : !pto.tile_buf<vec, 16x8xf32>{|, !pto.tile_buf<vec, 16x8xf32>}) "
    "outs(%a : !pto.tile_buf<vec, 16x8xf32>)",
)
VALID = _rule(
    "CONVERT-VALID",
    "At level 1 valid sizes that a type leaves open are those of the first source, and do not change.",
    why="No text of level 1 gives the result of an instruction a valid size; reading takes it from the source.",
    example="""
        // ptokit convert --to ssa
        {|%n = arith.constant 8 : index
        }%a = pto.alloc_tile {|valid_row = %n }: !pto.tile_buf<vec, 16x16xf32{|, valid=?x16}>
        pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%a : !pto.tile_buf<vec, 16x16xf32{|, valid=?x16}>)
    """,
)
PLACE = _rule(
    "CONVERT-PLACE",
    "At level 1 nothing is written in place: not the tile of a caller, not one outside of a section.",
    why="A function gets values, and a section gives none back.",
    example="""
        // ptokit convert --to ssa
        func.func @example(%t: !pto.tile_buf<vec, 16x16xf32>) {
        {  %u = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
        |}  pto.tabs ins(%t : !pto.tile_buf<vec, 16x16xf32>) outs(%{u|t} : !pto.tile_buf<vec, 16x16xf32>)
          return
        }
    """,
)
BRANCH = _rule(
    "CONVERT-BRANCH",
    "Level 1 is written without branches between blocks.",
    why="What a tile holds behind a label depends on the way there; scf.for, scf.if and scf.while say which way.",
    example="""
        // ptokit convert --to ssa
        func.func @example(%c: i1) {
        {  return
        |  cf.br ^bb1
        ^bb1:
          return
        }}
    """,
)
FORM = _rule(
    "CONVERT-FORM",
    "Level 1 has no text for an instruction that writes something other than tiles, records and memory, whose operands "
    "are of other kinds than it takes, or that has words or a result after outs.",
    why="Its results are tiles, and a statement tells operands by their types (assembly 5).",
    example="{pto.tload without such words|pto.tload with pad_value = %v : f32 after outs}",
    unrun="in words so far",
)
