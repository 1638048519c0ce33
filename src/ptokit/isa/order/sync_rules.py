"""Rules of flags, events, barriers and buffer tokens, and the pipe of each (memory-model-and-sync 5, 10).

Source: memory-model-and-sync 2.1, assembly 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.diagnostics import Scope, Severity, define, rule
from ptokit.diagnostics.rules import shared
from ptokit.targets import A5, Target
from ptokit.types.choices import OptionalRule
from ptokit.types.enums import EVENT_ID_COUNT, SECOND_CORE, AccPhase, Pipe, STPhase

from ..checks.tiles import on_core, pipe_list, pipe_on
from ..site import UNKNOWN, ScalarInfo, Site
from ..table import TABLE

# Names of operations in events and the pipe of each: the library's tags, the assembler's classes.


TAG_PIPE: dict[str, Pipe] = {
    **dict.fromkeys(("TEXPANDS_MAT", "TFILLPAD_MAT", "MGATHER_MAT"), Pipe.MTE2),
    **dict.fromkeys(("TSTORE_VEC", "TSTORE_MAT"), Pipe.MTE3),
    **dict.fromkeys(
        "TSTORE_ACC TMOV_A2V TMOV_A2M TMOV_V2M TMOV_M2S TEXTRACT_A2M TEXTRACT_V2M TINSERT_A2M".split(), Pipe.FIX
    ),
    **dict.fromkeys("TMOV_M2L TMOV_M2R TMOV_M2B TEXTRACT_M2LR TIMG2COL".split(), Pipe.MTE1),
    **dict.fromkeys(("TMATMUL", "TGEMV"), Pipe.M),
    **dict.fromkeys("SCALAR TRESHAPE TCI SETFMATRIX SET_IMG2COL_RPT SET_IMG2COL_PADDING".split(), Pipe.S),
    **dict.fromkeys("VECTOR TMOV_V2V TEXPANDS TFILLPAD_VEC MGATHER_VEC MSCATTER TPAIRREDUCESUM".split(), Pipe.V),
}
"""Tags that are not the name of one instruction with one pipe."""

BETWEEN_CORES = frozenset(("TMOV_A2V", "TMOV_V2M", "TEXTRACT_V2M"))
"""Source operations of events between cores (memory-model-and-sync 5.1)."""


def tag_pipe(tag: str) -> Pipe | None:
    """The pipe of an operation tag; None if there is no such tag, or it names instructions of several pipes."""
    found = TAG_PIPE.get(tag)
    if found is None and tag in TABLE:
        pipe = TABLE[tag].pipe
        found = pipe if isinstance(pipe, Pipe) else None
    return None if found is Pipe.ALL else found


EVENT_CLASSES = tuple(
    "TLOAD TSTORE_VEC TSTORE_ACC TMOV_M2L TMOV_M2B TMOV_M2S TMOV_M2V TMOV_V2M TMATMUL TVEC TVECWAIT_EVENT".split()
)
"""Operation classes of record_event, wait_event, barrier_sync, get_buf and rls_buf (assembly 8)."""

_NO_TAGS = dict.fromkeys(("TMOV_M2V", "TVEC", "TVECWAIT_EVENT"), Pipe.V)
_PIPES = {pipe.text: pipe for pipe in Pipe}


def class_pipe(word: str | None, core: str = "") -> Pipe | None:
    """The pipe that a class (or a pipe's own name) means on a kind of core; None if it means none."""
    if word not in EVENT_CLASSES:
        return None if word is None else _PIPES.get(word)
    pipe = _NO_TAGS.get(word) or tag_pipe(word)
    return pipe_on(pipe, core) if word == "TMOV_V2M" and pipe is not None else pipe


def flag_pipes(attrs: Mapping[str, Any], core: str) -> tuple[Pipe | None, Pipe | None]:
    """Source and destination of a flag, by the attributes of what raises it or waits for it."""
    if "src_pipe" in attrs:
        return attrs["src_pipe"], attrs["dst_pipe"]
    return class_pipe(attrs["src_op"], core), class_pipe(attrs["dst_op"], core)


def held_pipe(attrs: Mapping[str, Any], core: str) -> Pipe | None:
    """The pipe of a barrier or a buffer token, by the attributes of the instruction."""
    return attrs["pipe"] if "pipe" in attrs else class_pipe(attrs["op"], core)


def unit_flag(attrs: Mapping[str, Any]) -> bool | None:
    """Whether a product or a drain also changes the unit flags that it waits for; None if it has no use for them.

    A product waits until they are clear and sets them, a drain waits until they are set and clears them
    (compute-reduce-matrix 9).
    """
    phase = attrs.get("phase")
    if isinstance(phase, AccPhase | STPhase):
        return phase.name == "Final" if phase.value else None
    word = attrs.get("unit_flag")
    return str(word) != "check_only" if word else None


def between_cores(src: str, dst: Pipe, target: Target) -> bool:
    """True if an event from operation `src` to a pipe crosses cores (memory-model-and-sync 5.1)."""
    if target.is_a(A5):
        return src in BETWEEN_CORES
    return (src == "TMOV_A2V" and dst is Pipe.V) or (src in ("TMOV_V2M", "TEXTRACT_V2M") and dst is Pipe.MTE1)


# Rules of flags, events, barriers and buffer tokens (memory-model-and-sync 5 and 10, assembly 13.8).


BUFFER_IDS = 32
"""Buffer tokens, shared by all pipes (memory-model-and-sync 5.4)."""

_sync = partial(rule, scope=Scope.SYNC)
_text = partial(rule, scope=Scope.ASSEMBLER, source="assembly 13.8")

Message = str | None


def _event_id(o: Site) -> Any:
    """The event id: an attribute, or the value of a register (UNKNOWN until the run knows it, or if it is missing)."""
    event = o.operands.get("event")
    if isinstance(event, ScalarInfo):
        return event.value
    written = o.attrs.get("event_id", 0)
    return UNKNOWN if written is None else written


def out_of_range(event_id: Any) -> Message:
    """Message of FLAG-RANGE for an event id."""
    if event_id < 0 or event_id >= EVENT_ID_COUNT:
        return f"event id {event_id} is outside 0..{EVENT_ID_COUNT - 1}"
    return None


FLAG_RANGE = _sync(
    "FLAG-RANGE",
    what=f"Event ids are 0..{EVENT_ID_COUNT - 1} for every ordered pair of pipes.",
    why="There are eight flags per pair; the device does not check the number.",
    source="memory-model-and-sync 5.3, 10",
    decision="One page speaks of 16 ids; the header has eight, and eight it is (M5). The operation is then ignored.",
    example="record_event(src_op='{TADD|TLOAD}', dst_op='TVEC'{|, event_id=9})",
)(lambda o: out_of_range(_event_id(o)))


def bad_pair(src: Pipe | None, dst: Pipe | None, core: str) -> Message:
    """Message of FLAG-PIPE for a pair of pipes on a core (empty: of unknown kind)."""
    if src is None or dst is None:
        return None
    for pipe in (src, dst):
        if pipe is Pipe.ALL:
            return "PIPE_ALL cannot set or wait for a flag; it is for barriers only"
        if not pipe.exists:
            return f"no core has {pipe.text}; the name is for text only"
        if not on_core(pipe, core):
            return f"a {core} core has no {pipe.text}; it has {pipe_list(core)}"
    if src is dst:
        return f"source and destination are both {src.text}; a flag orders two different pipes"
    return None


FLAG_PIPE = _sync(
    "FLAG-PIPE",
    source="memory-model-and-sync 5.3, 10",
    example="set_flag(PIPE_{MTE2|V}, PIPE_V, EVENT_ID0); wait_flag(PIPE_{MTE2|V}, PIPE_V, EVENT_ID0)",
)(
    """A flag goes from one pipe of the core to another, and neither is PIPE_ALL.

    No such flag exists: the set does nothing and the wait never returns.

    Decision: The operation is ignored afterwards.
    """,
    lambda o: bad_pair(o.attrs.get("src_pipe"), o.attrs.get("dst_pipe"), o.core),
)


def _class_pair(o: Site) -> Message:
    src, dst = class_pipe(o.attrs.get("src_op"), o.core), class_pipe(o.attrs.get("dst_op"), o.core)
    return bad_pair(src, dst, o.core)


FLAG_PIPE_CLASSES = replace(FLAG_PIPE, check=_class_pair)

PIPE_TAG = _sync(
    "PIPE-TAG",
    severity=Severity.NOTE,
    source="memory-model-and-sync 2.1, 13 (M13)",
    example="""
        func.func @f() attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          pto.record_event[<{TSTORE_VEC|TMOV_V2M}>, <TVEC>, <EVENT_ID0>]
          pto.wait_event[<{TSTORE_VEC|TMOV_V2M}>, <TVEC>, <EVENT_ID0>]
          return
        }
    """,
)(
    """TMOV_V2M names the fix-pipe, but a vector core does this move on MTE3.

    The table of tags and the code of the header disagree.
    """,
    "'TMOV_V2M' not in (o.attrs.get('src_op'), o.attrs.get('dst_op'), o.attrs.get('op')) if core == 'vector'",
    "TMOV_V2M is tagged PIPE_FIX; on a vector core it is taken as PIPE_MTE3",
)

TSYNC_EMPTY = define(
    "TSYNC-EMPTY",
    "TSYNC waits for something.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="The header expands it to nothing, although some texts call it a barrier.",
    source="memory-model-and-sync 5.2, 13 (M4)",
    example="x: Ptr[f32]; e = TLOAD(Tile(Vec, f32, 16, 32), GlobalTensor(x, (16, 32))); TSYNC({e|})",
)

LIBRARY_IDS = frozenset((6, 7))
"""Event ids that the library of the vendor uses itself."""

FLAG_LIBRARY = define(
    "FLAG-LIBRARY",
    "Beside calls of library functions, flags have no event id 6 or 7.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="AscendC uses both itself: a flag that is set across the call is lost, or satisfies a wait inside of it.",
    source="derived from notes of users on AscendC",
    decision="A function without a body is one of a library.",
    example="""
        // ptokit check
        func.func private @library()
        func.func @f() attributes {pto.entry, pto.kernel_kind = #pto.kernel_kind<vector>} {
          pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID{5|6}>]
          func.call @library() : () -> ()
          pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID{5|6}>]
          return
        }
    """,
)
SUPERFLUOUS = define(
    OptionalRule.SUPERFLUOUS.value,
    "Flags and barriers order something that nothing else orders.",
    scope=Scope.SYNC,
    severity=Severity.NOTE,
    why="Each one may hold a pipe back, and there are eight ids for a pair of pipes.",
    source="docs/synchronisation.md",
    decision="Off by default (--also SYNC-SUPERFLUOUS): it is proved for all arguments, which takes the solver, and a "
    "proof for each of them.",
    example="""
        // ptokit sanitize --also SYNC-SUPERFLUOUS
        func.func @f(%x: !pto.partition_tensor_view<16x32xf32>)
          attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          %z = arith.constant 0 : i64
          %one = arith.constant 1.0 : f32
          %t = pto.alloc_tile addr = %z : !pto.tile_buf<vec, 16x32xf32>
          pto.tload ins(%x : !pto.partition_tensor_view<16x32xf32>) outs(%t : !pto.tile_buf<vec, 16x32xf32>)
          pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
          pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
          pto.tadds ins(%t, %one : !pto.tile_buf<vec, 16x32xf32>, f32) outs(%t : !pto.tile_buf<vec, 16x32xf32>)
          {|pto.barrier #pto.pipe<PIPE_ALL>}
          return
        }
    """,
)
TSYNC_A5 = define(
    "TSYNC-A5-01",
    "On a5, TSYNC<Op> takes operations of MTE2 or MTE3, or PIPE_ALL.",
    scope=Scope.SYNC,
    targets=("a5",),
    why="The a5 header refuses other pipes; they run in order there.",
    source="memory-model-and-sync 5.2, 13 (M3)",
    decision="Checked where TSYNC(op=…) is called; text has barrier and barrier_sync instead.",
    example='TSYNC(op="{TLOAD|TADD}")',
)

DEADLOCK = define(
    "DEADLOCK",
    "Every wait is satisfied.",
    scope=Scope.SYNC,
    why="The device hangs.",
    source="memory-model-and-sync 10, 11.8",
    example="{set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); |}wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0)",
)

define(
    "UNIT-FLAG-LEFT",
    "Every unit flag that a product sets is cleared by a drain before the kernel ends.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="The next product with a unit flag waits for it: that of another kernel, too, if nothing resets it.",
    source="PTOAS e32488c9, micro-isa 16",
    decision="A warning: kernels of the assembler's own suite end so.",
    example="""
        // ptokit sanitize --mode manual
        func.func @f(%y: !pto.ptr<f32, gm>) attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
          %z = arith.constant 0 : i64
          %n = arith.constant 16 : i64
          %a = pto.castptr %z : i64 -> !pto.ptr<f16, l0a>
          %b = pto.castptr %z : i64 -> !pto.ptr<f16, l0b>
          %c = pto.castptr %z : i64 -> !pto.ptr<f32, l0c>
          pto.mad %a, %b, %c, %n, %n, %n unit_flag(check_and_set) : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>,
            !pto.ptr<f32, l0c>, i64, i64, i64
          pto.mte_l0c_gm %c, %y, %n, %n, %n, %n, %z, %z, unit_flag({check_and_clear|check_only}), nz2nd
            : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
          return
        }
    """,
)

# ------------------------------------------------- the assembler's verifier

FL_1 = define(
    "FL-1",
    "Flags name two pipes and an event; a dynamic event has type index.",
    scope=Scope.ASSEMBLER,
    source="assembly 13.8",
    evidence="ptokit",
    reported_as="TY-8 TEXT-TYPE",
)
EV_1 = define(
    "EV-1",
    "record_event and wait_event name classes of kind pipe_event_type or sync_op_type.",
    scope=Scope.ASSEMBLER,
    source="assembly 13.8",
    evidence="ptokit",
    reported_as="TEXT-ATTRIBUTE TY-8",
)


def _class_without_pipe(o: Site, *names: str) -> Message:
    for name in names:
        word = o.attrs.get(name)
        if word is not None and class_pipe(word, o.core) is None:
            return f"class {word} has no pipe; the classes are {', '.join(EVENT_CLASSES)}"
    return None


EV_2 = _text(
    "EV-2",
    evidence="ptokit",
    reported_as="TY-8",
)(
    "The classes of record_event and wait_event have a pipe.",
    lambda o: _class_without_pipe(o, "src_op", "dst_op"),
)

BA_1 = define(
    "BA-1",
    "barrier names a pipe.",
    scope=Scope.ASSEMBLER,
    source="assembly 13.8",
    evidence="ptokit",
    reported_as="TY-8",
)

BA_2 = _text("BA-2", evidence="ptokit", reported_as="TY-8")(
    "The class of barrier_sync has a pipe.",
    lambda o: _class_without_pipe(o, "op"),
)

TS_1 = define(
    "TS-1",
    "tsync takes tiles, partition views and memrefs.",
    scope=Scope.ASSEMBLER,
    source="assembly 13.8",
    example="pto.{barrier <PIPE_M>|tsync ins(%n : index)}",
    evidence="ptokit",
)


bad_token = shared(
    "Message of BF-1.",
    "class_pipe(o.attrs.get('op'), core) not in (None, Pipe.ALL, Pipe.UNASSIGNED)",
    "{o.attrs.get('op')} means no single pipe",
    "0 <= o.attrs.get('id') < BUFFER_IDS if o.attrs.get('id') is not None",
    "token {o.attrs.get('id')} is outside 0..{BUFFER_IDS - 1}",
    "o.attrs.get('mode') >= 0 if o.attrs.get('mode') is not None",
    "mode {o.attrs.get('mode')} is negative",
)

BF_1 = _text(
    "BF-1",
    what=f"get_buf and rls_buf name a class with one pipe, a token 0..{BUFFER_IDS - 1} and no negative mode.",
    example="pto.get_buf [#pto.pipe_event_type<TLOAD>, {16|32}]",
    evidence="ptokit",
)(bad_token)

SY_1 = _text("SY-1", example="pto.sync.set <PIPE_FIX>, {3|}", evidence="ptokit")(
    "sync.set and sync.wait have one event id, a number or a register.",
    "given = (event is not None, o.attrs.get('event_id') is not None)",
    "given != (True, True)",
    "both a number and a register give the event id; one of them does",
    "any(given)",
    "the event id is missing",
)

XFLAG_MODE = rule(
    "XFLAG-MODE",
    example="sync.set(pipe=PIPE_FIX, event_id=0, ffts_mode={2|3})",
    why="The modes say which cores a signal reaches; no public source says what others would do.",
    source="memory-model-and-sync 5.5",
    evidence="ptokit",
    on="a2a3",
)(
    "The mode of a signal between cores is 0, 1 or 2.",
    lambda o: _outside("ffts_mode", o.attrs.get("ffts_mode"), 2),
)

SY_2 = _text(
    "SY-2", covered_by=("XFLAG-MODE",), example="pto.sync.set <PIPE_FIX>, 0 {ffts_mode = {2|3} : i32}", on="a2a3"
)(
    "ffts_mode is 0, 1 or 2.",
    lambda o: _outside("ffts_mode", o.attrs.get("ffts_mode"), 2),
)


def _outside(name: str, value: Any, last: int) -> Message:
    if value is not None and not 0 <= value <= last:
        return f"{name} {value} is outside 0..{last}"
    return None


def _not_among(o: Site, *allowed: Pipe) -> Message:
    pipe = o.attrs.get("pipe")
    if pipe is None or pipe in allowed:
        return None
    return f"{pipe.text} cannot do it on {o.target.name}; {', '.join(p.text for p in allowed)} can"


SY_3 = _text("SY-3", targets=("a5",), example="pto.sync.set <PIPE_{MTE3|M}>, 0")(
    "On a5, sync.set is raised by FIX, MTE1, MTE2, MTE3 or V.",
    lambda o: _not_among(o, Pipe.FIX, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.V),
)

SY_4 = _text("SY-4", targets=("a5",), example="pto.sync.wait <{PIPE_V|PIPE_M}>, 0")(
    "On a5, sync.wait holds FIX, MTE1, MTE2, MTE3 or V.",
    lambda o: _not_among(o, Pipe.FIX, Pipe.MTE1, Pipe.MTE2, Pipe.MTE3, Pipe.V),
)


def flag_ids(target: Target) -> int:
    """How many ids flags between cores have; the second half of 32 names those of the second vector core."""
    return 2 * SECOND_CORE if target.flags_name_subcore else SECOND_CORE


def no_flag(event_id: Any, target: Target) -> Message:
    """Message of XFLAG-RANGE for an id between cores."""
    count = flag_ids(target)
    if event_id < 0 or event_id >= count:
        return f"id {event_id} is outside 0..{count - 1}"
    return None


XFLAG_RANGE = _sync(
    "XFLAG-RANGE",
    what=f"Flags between cores have ids 0..{SECOND_CORE - 1}, on a5 also {SECOND_CORE}..{2 * SECOND_CORE - 1}.",
    why="The signal has four bits for the id; a5 has names of their own for the flags of the second vector core.",
    source="memory-model-and-sync 5.5",
    example="""
        // ptokit check
        pto.sync.set <PIPE_MTE3>, {15|32}
    """,
)(lambda o: no_flag(_event_id(o), o.target))


def _written_id(o: Site, most: int) -> Message:
    return _outside("event_id", o.attrs.get("event_id"), most)


SY_5 = _text(
    "SY-5",
    what="The id of set_cross_block and wait_cross_block is 0..15, of the intra_block forms on a5 0..31.",
    targets=("a2a3", "a5"),
    covered_by=("XFLAG-RANGE",),
    example="pto.set_cross_block <PIPE_MTE3>, {15|16}",
    source="PTOAS 2026-08 PTO.cpp verifyNamedSyncEventOp",
)(lambda o: _written_id(o, 15))
SY_5_INTRA = replace(SY_5, check=lambda o: _written_id(o, flag_ids(o.target) - 1))


def reserved(event_id: Any, target: Target) -> Message:
    """Message of XFLAG-RESERVED for an id between cores; ids from 16 on may name the second vector core."""
    number = event_id - SECOND_CORE if target.flags_name_subcore and event_id >= SECOND_CORE else event_id
    if number >= 11 and number <= 14:
        return f"id {event_id} is one that SYNCALL uses (11..14)"
    return None


XFLAG_RESERVED = _sync(
    "XFLAG-RESERVED",
    severity=Severity.WARNING,
    source="memory-model-and-sync 5.5, 10",
    example="""
        // ptokit check
        pto.syncall
        pto.sync.set <PIPE_MTE3>, {0|12}
    """,
)(
    """Flags between cores do not use ids 11..14 in kernels that call SYNCALL.

    SYNCALL uses them; a user's flag would be taken for its own. Barriers written by hand use them on devices.
    """,
    lambda o: reserved(_event_id(o), o.target),
)
