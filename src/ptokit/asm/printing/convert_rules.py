"""What level 1 cannot express (assembly 5): its tiles are values, which have no address, no order and never change."""

from __future__ import annotations

from ptokit.diagnostics import Rule, Scope, define


def _rule(id: str, what: str, *, why: str, rejected: str, accepted: str) -> Rule:
    return define(id, what, scope=Scope.TEXT, why=why, rejected=rejected, accepted=accepted, source="assembly 5")


ADDRESS = _rule(
    "CONVERT-ADDRESS",
    "Level 1 has no addresses: no operation in the text to convert may give a tile one or ask for it.",
    why="At level 1 the compiler places tiles (LV-1). Two tiles at one address would be two values in one memory.",
    rejected="%t = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 16x16xf32>",
    accepted="%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>",
)
ORDER = _rule(
    "CONVERT-ORDER",
    "Level 1 has no flags, barriers, events and tokens: a value is ready when it is used.",
    why="Leaving them out would lose what the program says about order, so they are not left out silently.",
    rejected="pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
    accepted="the same text without flags, or in the sync form",
)
ALIAS = _rule(
    "CONVERT-ALIAS",
    "At level 1 a tile does not change when another one that shares its memory is written.",
    why="treshape, bitcast and subset name the same memory again; as values the two names part at the next write.",
    rejected="%u = pto.treshape %t ..., then tload into %t, then tabs of %u",
    accepted="tload into %t, then %u = pto.treshape %t ..., then tabs of %u",
)
PARTIAL = _rule(
    "CONVERT-PARTIAL",
    "At level 1 an instruction makes its result as a whole: it cannot write a part of a tile that holds data.",
    why="The rest of the new value would be undefined.",
    rejected="trowsum into a tile with 8 valid columns, of which it writes one, after a tload into it",
    accepted="trowsum into a tile with one valid column",
)
VALID = _rule(
    "CONVERT-VALID",
    "At level 1 valid sizes that a type leaves open are those of the first source, and do not change.",
    why="No text of level 1 gives the result of an instruction a valid size; reading takes it from the source.",
    rejected="pto.set_validshape %t, %r, %c, or a result with other valid sizes than the source",
    accepted="a result with the valid sizes of its source, or with sizes in its type",
)
PLACE = _rule(
    "CONVERT-PLACE",
    "At level 1 nothing is written in place: not the tile of a caller, not one outside of a section.",
    why="A function gets values, and a section gives none back.",
    rejected="tadd into a parameter of the function",
    accepted="tadd into a tile that the function allocates",
)
BRANCH = _rule(
    "CONVERT-BRANCH",
    "Level 1 is written without branches between blocks.",
    why="What a tile holds behind a label depends on the way there; scf.for, scf.if and scf.while say which way.",
    rejected="cf.br ^bb1",
    accepted="the same program with scf.if, or in another form",
)
FORM = _rule(
    "CONVERT-FORM",
    "Level 1 has no text for an instruction that writes something other than tiles, records and memory, whose operands "
    "are of other kinds than it takes, or that has words or a result behind outs.",
    why="Its results are tiles, and a statement tells operands by their types (assembly 5).",
    rejected="pto.tload with pad_value = %v : f32 behind outs",
    accepted="pto.tload without such words",
)
