"""Checks of tiles, pipes, registers and logical vectors that the rules of several families share.

Each function takes names of operands and results and gives a check: ``same_shape("src0 src1 dst")``. Integer
types are compared with their sign, where text says one: ``si32``, ``ui32`` and ``i32`` are three types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ptokit.diagnostics import Rule, RuleDecorator, Scope, family, rule
from ptokit.diagnostics.rules import Check
from ptokit.targets import TARGETS, Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe, TileType
from ptokit.types.values import element_text

from ..operands import TypeSet, names
from ..site import Info, LoweredInfo, PtrInfo, ScalarInfo, Site, Size, TileInfo, VectorInfo, ViewInfo, VregInfo
from ..table import Instr, Role
from .compiling import DEVICES, Message, all_tiles, is_nd, layout, overlap

# Checks of registers and logical vectors that rules are bound with: types that belong together, elements, numbers.


Lanes = VregInfo | VectorInfo


def bound(rule: Rule, check: Check) -> Rule:
    """The rule for an instruction whose operands `check` knows."""
    return replace(rule, check=check)


def vectors(o: Site, names: Sequence[str]) -> Iterator[Lanes]:
    """The registers and logical vectors among operands and results with these names."""
    for name in names:
        info = o.operands.get(name)
        if isinstance(info, Lanes):
            yield info


_MEMREF = re.compile(r"memref<(?:(?:\?|\d+)x)*([!\w.]+)[,>]")
_SPACE = re.compile(r"#pto(?:\.|<)address_space ?<?(\w+)>|, (\d)(?: : i64)?>\Z")
_NUMBERED: dict[int, str] = dict(enumerate("gm gm l1 l0a l0b l0c ub bt fb".split()))
_SPACES = {"vec": "ub", "mat": "l1", "left": "l0a", "right": "l0b", "acc": "l0c", "bias": "bt", "scaling": "fb"}


class Memory(NamedTuple):
    """Where a pointer or memref lies: element type as text has it, and the space, ``gm`` or ``ub`` …; empty if open."""

    element: str
    space: str


def memory_of(info: Info | None) -> Memory | None:
    """What is known of a memory; None for other operands."""
    match info:
        case PtrInfo():
            return Memory(element(info), info.space)
        case ViewInfo():
            return Memory(info.dtype.text, "gm")
        case LoweredInfo():
            return Memory(info.dtype.text, _SPACES.get(info.loc.name.lower(), ""))
        case ScalarInfo() if (m := _MEMREF.match(info.type)) is not None:
            space = _SPACE.search(info.type)
            if space is None:
                return Memory(m[1], "")
            return Memory(m[1], _NUMBERED.get(int(space[2]), "") if space[2] else _SPACES.get(space[1], space[1]))
    return None


def element(info: Lanes | PtrInfo) -> str:
    """The element type as text has it."""
    return element_text(info.dtype, info.signed)


def same_shape(names: str, *, lanes: bool = True, elements: bool = True) -> Callable[[Site], Message]:
    """All have the same number of lanes and the same element type."""
    listed = names.split()

    def check(o: Site) -> Message:
        found = list(vectors(o, listed))
        for info in found[1:]:
            first = found[0]
            if lanes and info.lanes != first.lanes:
                return f"{info.name} has {info.lanes} lanes, {first.name} {first.lanes}"
            if elements and element(info) != element(first):
                return f"{info.name} has elements of {element(info)}, {first.name} of {element(first)}"
        return None

    return check


def kinds(info: Lanes | PtrInfo) -> set[str]:
    """What an element type counts as.

    ``int``, ``i32``: of any sign; ``si32``: text says signed; ``ui32``: it does not; ``n32``: it says nothing;
    ``float``: any but pairs of bf16; and the name of floats.
    """
    kind, bits = info.dtype.kind, info.dtype.bits
    if kind == "f":
        return {info.dtype.name, *([] if info.dtype.name == "bf16x2" else ["float"])}
    found = {"int", f"i{bits}", f"si{bits}" if info.signed else f"ui{bits}"}
    if kind == "i" and not info.signed:
        found.add(f"n{bits}")
    return found


def elements(names: str, allowed: str) -> Callable[[Site], Message]:
    """Their elements are one of the words `allowed` (`kinds`)."""
    listed, words = names.split(), set(allowed.split())

    def check(o: Site) -> Message:
        for info in vectors(o, listed):
            if words.isdisjoint(kinds(info)):
                taken = allowed.replace(" ", ", ")
                return f"{info.name} has elements of {element(info)}; {o.instr.text} takes {taken}"
        return None

    return check


def number_like(name: str, data: str, *, open_sign: bool = False) -> Callable[[Site], Message]:
    """The number `name` has the element type of `data`; ``open_sign``: or an integer of its width without a sign."""

    def check(o: Site) -> Message:
        number = o.operands.get(name)
        for vector in vectors(o, [data]):
            if not isinstance(number, ScalarInfo):
                continue
            wanted = element(vector)
            fits = {wanted, f"i{vector.dtype.bits}"} if open_sign and vector.dtype.is_integer else {wanted}
            if number.shown not in fits:
                return f"{number.name} is {number.shown}, the elements of {vector.name} are {wanted}"
        return None

    return check


def worded(**allowed: str) -> Callable[[Site], Message]:
    """Attributes are one of these words, which have blanks between."""

    def check(o: Site) -> Message:
        for key, words in allowed.items():
            value = o.attrs.get(key)
            if value is not None and value not in words.split():
                return f"{key} is '{value}'; {o.instr.text} takes {words.replace(' ', ', ') or 'none'}"
        return None

    return check


# Checks of tiles that the rules of several packages share; each gives a message, or None.


def not_plain(o: Site) -> Message:
    """A destination or source that is not a row-major Vec tile without boxes."""
    for name, t in o.data_tiles:
        if t.loc.name != "Vec":
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
        if not is_nd(t):
            return f"{layout(o, name)}; {o.instr.name} works on row-major tiles without boxes"
    return None


def not_vec(o: Site, *names: str) -> Message:
    """One of the operands that is not a Vec tile."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and t.loc.name != "Vec":
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
    return None


def vec_rows(o: Site, *names: str) -> Message:
    """One of the operands that is not a row-major tile of vec; boxes do not matter."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.loc.name != "Vec" or not t.row_major):
            return f"{o:{name}} is a {t.blayout.text} {t.loc.text} tile; the assembler wants a row_major vec tile"
    return None


def boxed_or_columns(o: Site, *names: str) -> Message:
    """One of the operands that is not row-major without boxes."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and not is_nd(t):
            return f"{layout(o, name)}; it must be row-major without boxes"
    return None


def not_of(o: Site, allowed: TypeSet, *operands: str) -> Message:
    """One of the operands whose element type is not among the allowed ones."""
    for name in operands:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and t.dtype not in allowed:
            return f"{o:{name}} has element type {t.dtype}; {o.instr.name} on {o.target.name} takes {names(allowed)}"
    return None


def differ(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another element type than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and a.dtype is not b.dtype:
            return f"{o:{name}} has element type {b.dtype}, {o:{first}} has {a.dtype}"
    return None


def valid_differs(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another valid region than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and (a.vr != b.vr or a.vc != b.vc):
            return f"{o:{name}} is valid in {b.vr}x{b.vc}, {o:{first}} in {a.vr}x{a.vc}"
    return None


def small(o: Site, name: str, need: Size) -> Message:
    """A tile with fewer bytes than the assembler asks for."""
    t = o.operands.get(name)
    if isinstance(t, TileInfo) and t.spec.nbytes < need:
        return f"{o:{name}} has {t.spec.nbytes} bytes; the assembler wants at least {need}"
    return None


def precise(o: Site) -> bool:
    """True if the text asks for the instruction's algorithm of high precision."""
    return "high_precision" in str(o.attrs.get("precisionType", ""))


def rows_differ(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another number of valid rows than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and a.vr != b.vr:
            return f"{o:{name}} has {b.vr} valid rows, {o:{first}} has {a.vr}"
    return None


def overlapping(o: Site, *names: str) -> Message:
    """A destination that shares bytes with a source or a scratch tile, or with another destination.

    ``names``: only of these operands.
    """
    tiles = [(name, tile) for name, tile in all_tiles(o) if not names or name in names]
    for name, a in tiles:
        for other, b in tiles:
            scratch = o.instr.operand(other).role is Role.SCRATCH
            if other != name and o.instr.operand(name).role is Role.OUT and overlap(a, b, whole=scratch):
                return f"{o:{name}} and {o:{other}} share bytes; {o.instr.name} does not work in place"
    return None


def missing(o: Site) -> Message:
    """For instructions that a target does not have."""
    hint = _owners(name for name, target in TARGETS.items() if has(o.instr, target))
    message = f"{o.target.name} has no such instruction"
    return (message, hint) if hint else message


def _owners(names: Iterable[str]) -> str:
    """``cpu, a2a3 and a5 have it``."""
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last} have it" if others else f"{last} has it" if last else ""


def has(instr: Instr, target: Target) -> bool:
    """True if a target has an instruction."""
    return instr.name not in target.missing and not any(
        rule.check is missing and target.obeys(rule) for rule in instr.rules
    )


INSTR_ABSENT = rule(
    "INSTR-ABSENT",
    "t = Tile(Vec, f32, 16, 64); {TSUBS(t, t, 1.0)|TPRINT(t)}",
    what="The target has the instruction.",
    why="The library for the target includes no header that defines it.",
    source="header.hpp of the library for each target",
    evidence="static_assert",
    on="kirin9030",
)(missing)


def absent(dtype: DType, target: Target) -> tuple[str, str] | None:
    """Message and hint of TYPE-ABSENT for an element type that a target does not have."""
    if target.existing({dtype}):
        return None
    return f"{target.name} has no {dtype}", _owners(t.name for t in TARGETS.values() if dtype in t.dtypes)


@rule(
    "TYPE-ABSENT",
    "t = Tile(Vec, {f16|bf16}, 16, 64); TEXPANDS(t, 1.0)",
    source="arch_capability.hpp and the vector types of the library for each target",
    evidence="static_assert",
    on="kirin9030",
)
def TYPE_ABSENT(o: Site) -> Message:
    """The target has the element type of a tile, of the register that an operation makes, or of its pointers."""
    made = [o.operands.get(result.name) for result in o.instr.produces]
    registers = any(isinstance(info, VregInfo | VectorInfo) for info in o.operands.values())
    pointers = () if registers or o.instr.pipe is Pipe.S else o.operands.values()
    for info in (*made, *(info for info in pointers if isinstance(info, PtrInfo))):
        if isinstance(info, VregInfo | VectorInfo | PtrInfo) and (found := absent(info.dtype, o.target)):
            return found
    return None


def typed(o: Site) -> TileInfo:
    """The tile whose element type selects the form."""
    found: TileInfo = o.operands[o.instr.typed_operand]  # type: ignore[assignment]
    return found


def in_types(o: Site) -> Message:
    """Message if the element type is not in the target's column."""
    allowed, dtype = o.target.of(o.instr.types), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"{o.target.name} has no {dtype} form; allowed: {names(o.target.existing(allowed))}"


def in_asm_types(o: Site) -> Message:
    """Message if the element type is not in the reference assembler's list."""
    allowed, dtype = o.target.of(o.instr.types, "asm-"), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"the assembler refuses {dtype} for {o.instr.text} on {o.target.name}; allowed: {names(allowed)}"


# Rules of the reference assembler, which bind .pto text for the devices: the word for them, and one for many.


def assembler_rule(id: str, example: str, **more: Any) -> RuleDecorator:
    """A rule of scope `assembler` for a2a3 and a5; ``source``, other targets and the rest of `rule` in `more`."""
    more = {"targets": DEVICES, **more}
    return rule(id, example, scope=Scope.ASSEMBLER, **more)


@assembler_rule(
    "A5-1",
    "pto.{tabs ins(%s : !pto.tile_buf<vec, 16x64xf32>) outs(%d : !pto.tile_buf<vec, "
    "16x64xf32>)|thistogram ins(%s, %i : !pto.tile_buf<vec, 16x64xui16>, !pto.tile_buf<vec, "
    "32x1xui8, blayout=col_major, valid=16x1>) outs(%d : !pto.tile_buf<vec, 16x256xui32>) {isMSB = "
    "false}}",
    targets=("a2a3",),
    source="assembly 13.9",
    evidence="static_assert",
)
def A5_ONLY(o: Site) -> Message:
    """The operation exists on a5 only.

    Of mgather and mscatter GA-1 and SC-1 say it.
    """
    return f"{o.instr.text} is written for a5, not {o.target.name}"


# Which pipes a core has, and the check that an instruction's pipe is one of them (memory-model-and-sync 2).


pipe_rule = family("memory-model-and-sync 2, 10")

CORE_PIPES: Mapping[str, frozenset[Pipe]] = {
    "vector": frozenset((Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3)),
    "cube": frozenset((Pipe.S, Pipe.M, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.FIX)),
}
"""Pipes by kind of core, without PIPE_ALL. A core of unknown kind may have any pipe."""


def on_core(pipe: Pipe, core: str) -> bool:
    """True unless the core is known and lacks the pipe, or no core has it; every core knows PIPE_ALL."""
    return pipe is Pipe.ALL or (pipe in CORE_PIPES[core] if core in CORE_PIPES else pipe.exists)


def pipe_list(core: str) -> str:
    """The pipes of a core for a message, in a fixed order."""
    return ", ".join(p.text for p in Pipe if p in CORE_PIPES[core])


def pipe_on(pipe: Pipe, core: str) -> Pipe:
    """The pipe that does the work on a core: a vector core has no fix-pipe, its moves to L1 go through MTE3.

    Source: memory-model-and-sync 2.1 (PIPE-TAG), 13 (M13).
    """
    return Pipe.MTE3 if pipe is Pipe.FIX and core == "vector" else pipe


_ONLY: Mapping[Pipe, str] = {Pipe.V: "vector", Pipe.M: "cube", Pipe.MTE1: "cube"}


def core_needed(o: Site) -> str:
    """Kind of core that an instruction needs: by its pipe, else by the buffers of its tiles; "" if either does.

    Source: memory-model-and-sync 2, 3. Outside sections of a program for both kinds, every core runs what it can.
    """
    if "src_pipe" in o.attrs or "dst_pipe" in o.attrs:
        pipes = {o.attrs.get("src_pipe"), o.attrs.get("dst_pipe")}
        kinds = {kind for kind, have in CORE_PIPES.items() if pipes - {None} <= have}
        return kinds.pop() if len(kinds) == 1 else ""
    pipe = o.instr.pipe_of(o)
    if pipe in _ONLY:
        return _ONLY[pipe]
    if pipe is Pipe.FIX:
        source = o.operands.get("src")
        return "vector" if isinstance(source, TileInfo) and source.loc is TileType.Vec else "cube"
    if not o.tiles:
        return ""
    return "vector" if any(tile.loc is TileType.Vec for tile in o.tiles) else "cube"


def missing_pipe(o: Site) -> str | None:
    """Message of PIPE-CORE, if the instruction runs on a pipe its core does not have."""
    if "src_pipe" in o.attrs:  # FLAG-PIPE checks both pipes
        return None
    pipe = o.instr.pipe_of(o)
    if on_core(pipe, o.core) or _to_l1(o, pipe):
        return None
    if o.core not in CORE_PIPES:
        return f"{o.instr.name} names {pipe.text}, which no core has"
    return f"{o.instr.name} runs on {pipe.text}, which a {o.core} core does not have; it has {pipe_list(o.core)}"


def _to_l1(o: Site, pipe: Pipe) -> bool:
    """The one instruction tagged FIX that a vector core issues: from UB to L1, on MTE3."""
    sources = [t for t in o.tiles if t.loc.name == "Vec"]
    return pipe is Pipe.FIX and o.core == "vector" and bool(sources)


PIPE_CORE = pipe_rule(
    "PIPE-CORE",
    """
        with {vector|cube}_section():
            t = Tile(Vec, f32, 16, 16)
            TEXPANDS(t, 1.0)
    """,
    what="An instruction is issued on a core that has its pipe.",
    scope=Scope.SYNC,
    why="Cube and vector cores are different cores; the code of one does not run on the other.",
)(missing_pipe)
