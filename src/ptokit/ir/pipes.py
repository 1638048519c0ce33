"""Checks of pipes between cores: each operation, both ends, and the layouts of entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field

from ptokit.diagnostics import Diagnostics, Note
from ptokit.records import dataclass
from ptokit.targets import A2A3, Target
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import Ptr

from .core import Block, Function, Op, Value, ordered
from .facts import shown_op
from .pipe_ends import C2V, V2C, End, check_ends, entry_misfit, slots_misfit, split_misfit
from .structure_checks import Survey, Surveys

# PIPE-LAYOUT: tiles that are popped in another layout than the entries of a pipe have.


THROUGH_MEMORY = ("gm", "gm_slot_buffer", "gm_slot_tensor")
"""Operands of pipes whose entries lie in global memory, as rows: they are stored and loaded."""


@dataclass
class _Entries:
    """What is pushed into a pipe in one direction, and popped from it."""

    pushed: list[Op] = field(default_factory=list)
    popped: list[Op] = field(default_factory=list)


def check_layouts(groups: Iterable[Sequence[End]], found: Diagnostics) -> None:
    """Report pops of a pipe, whose ends a group is, that take elements for others (PIPE-LAYOUT)."""
    for ends in groups:
        if any(end.op.get(name) is not None for end in ends for name in THROUGH_MEMORY):
            continue
        ways: dict[Hashable, _Entries] = defaultdict(_Entries)
        for end in ends:
            for op, direction, pushes in end.moved:
                entries = ways[direction]
                (entries.pushed if pushes else entries.popped).append(op)
        to_vectors, to_cube = ways[1], ways[2]
        if not any("acc_push_epilogue" in end.op.attrs for end in ends):  # it chooses a layout: FX-3
            for pop in to_vectors.popped:
                _compare(pop, None, found)
        for pop in to_cube.popped:
            for push in to_cube.pushed[:1]:
                _compare(pop, push, found)


def _compare(pop: Op, push: Op | None, found: Diagnostics) -> None:
    """``push``: what gives the entries their layout; None: the fix-pipe, which writes rows."""
    tile, source = _tile(pop), None if push is None else _tile(push)
    taken, given = tile.type, None if source is None else source.type
    if not isinstance(taken, TileSpec) or (source is not None and not isinstance(given, TileSpec)):
        return
    if 1 in (taken.rows, taken.cols) and not taken.boxed:
        return  # rows and columns are the same
    layout = given.layout_name if isinstance(given, TileSpec) else "ND"
    if taken.layout_name == layout:
        return
    message = f"{tile.shown} is {taken.layout_name}, and the entries of the pipe are {layout}: elements change places"
    notes = [Note(tile.described, tile.location)]
    hint = f"pop into a tile in {layout}"
    if push is not None and source is not None:
        notes.append(Note(f"pushed here: {source.described}", push.location))
        hint = f"push a tile in {taken.layout_name}: TMOV brings {source.shown} into one"
    found.broken("PIPE-LAYOUT", message, pop.location, hint=hint, notes=notes)


def _tile(op: Op) -> Value:
    return op.result if op.results else op["tile"]


# Checks of pipes between cores: each operation, and what both ends of a pipe must agree on (assembly 13.10).


FRONTEND = {"aic": "cube", "aiv": "vector"}
"""Kind of core an aic_ or aiv_ operation is for."""

_INITIALIZE = ("pto.initialize_l2l_pipe", "pto.initialize_l2g2l_pipe")
_USERS = ("pto.tpush", "pto.tpop", "pto.tfree", "pto.talloc")
_NAMES = frozenset(
    [*_USERS, *_INITIALIZE]
    + [f"pto.{core}_initialize_pipe" for core in FRONTEND]
    + [f"pto.{move}_{core}" for core in FRONTEND for move in ("tpush_to", "tpop_from", "tfree_from", "talloc_to")]
)
FLAGS = 16
"""Flags that all pipes of a core share."""


def check_pipes(surveys: Surveys, target: Target, found: Diagnostics) -> None:
    """Report what is wrong with the pipes of a module (PI-1 .. PI-8)."""
    ends: list[End] = []
    sound = True
    for function, survey in surveys.items():
        if function.body is not None and survey.has(_NAMES):
            check = _Function(function, function.core, target, found)
            check.region(function.body, check.core)
            ends += check.ends.values()
            sound = sound and not check.wrong
    if sound:
        check_layouts(check_ends(ends, found), found)


def _frontend(name: str) -> tuple[str, str] | None:
    """(action, core): what a frontend operation does, and the kind of core that may; None for others."""
    words = name.removeprefix("pto.").split("_")
    if words[0] in FRONTEND and words[1:] == ["initialize", "pipe"]:
        return "initialize", FRONTEND[words[0]]
    if words[0] in ("tpush", "tpop", "tfree", "talloc") and len(words) == 3 and words[2] in FRONTEND:
        return words[0], "vector" if FRONTEND[words[2]] == "cube" else "cube"
    return None


def _used(op: Op) -> tuple[str, object]:
    """What an operation does with a pipe, and with which: the pipe, or the kind of core that a frontend's one names."""
    frontend = _frontend(op.name)
    pipe: object = op["pipe"] if op.name in _USERS else op.name.rpartition("_")[2]
    return (frontend[0] if frontend is not None else op.name.removeprefix("pto.")), pipe


@dataclass
class _Function:
    """Checks one function. ``visible``: the frontend's initialize op that comes before, by blocks that hold us."""

    function: Function
    core: str
    target: Target
    found: Diagnostics
    ends: dict[Op, End] = field(default_factory=dict)
    visible: dict[int, End] = field(default_factory=dict)
    wrong: bool = False
    here: Block = field(default_factory=Block)

    def error(self, rule: str, op: Op, message: str, *notes: Note, hint: str | None = None) -> None:
        self.wrong = True
        self.found.error(rule, message, op.location, hint=hint, notes=notes)

    def region(self, region: Block, core: str) -> None:
        before = dict(self.visible)
        for block in ordered(region):
            self.block(block, core)
            self.borrowed(block, [op for other in region.blocks if other is not block for op in other.ops])
        self.visible = before

    def block(self, block: Block, core: str) -> None:
        for op in block.ops:
            self.here = block
            frontend = _frontend(op.name)
            if frontend is not None:
                self.frontend(op, *frontend, core)
            elif op.name in _INITIALIZE:
                self.initialize(op)
            elif op.name in _USERS:
                self.user(op, core)
            inner = op.name.removeprefix("pto.section.") if op.name.startswith("pto.section.") else core
            for region in op.regions:
                self.region(region, inner)

    # --- the frontend's operations, which name the other core ------------------------------------------------------

    def frontend(self, op: Op, action: str, core: str, here: str) -> None:
        if here != core and "pto.tileop.helper" not in self.function.attrs:
            where = f"a {here} function or section" if here else "a function without pto.kernel_kind"
            self.error("PI-1", op, f"{op.name} in {where}; it is for {core} functions", hint=f"pto.kernel_kind<{core}>")
        if action == "initialize":
            self.frontend_initialize(op)
            return
        self.split(op)
        if action == "tpop":
            self.popped(op)
        if here != core:
            return  # only in a function of the right kind is there a pipe to look for
        direction = C2V if (action in ("tpush", "talloc")) == (core == "cube") else V2C
        end = self.visible.get(op.attrs.get("id", 0))
        if end is None:
            self.error("PI-6", op, f"no initialize op with this id comes before {op.name}")
        elif not end.dir_mask & direction and end.dir_mask in (C2V, V2C):
            way = "cube to vector" if direction == C2V else "vector to cube"
            self.error(
                "PI-6", op, f"the pipe does not go from {way}", Note(f"dir_mask = {end.dir_mask}", end.op.location)
            )
        else:
            end.splits.append(op.attrs.get("split", 0))
            if action in ("tpush", "tpop"):
                end.moved.append((op, direction, action == "tpush"))
            if (wrong := split_misfit(op, end.op, direction == C2V, self.target)) is not None:
                self.error("PI-3", op, wrong)
            if (wrong := entry_misfit(op, end.op.get("gm_slot_tensor"))) is not None:
                self.error("PI-9", op, wrong)

    def frontend_initialize(self, op: Op) -> None:
        id = op.attrs.get("id", 0)
        same = (e for e in self.ends.values() if _frontend(e.op.name) and e.op.attrs.get("id", 0) == id)
        earlier = next(same, None)
        if earlier is not None:
            self.error("PI-2", op, f"a second initialize op with id = {id}", Note("the first", earlier.op.location))
        self.shape(op)
        if (wrong := slots_misfit(op, self.target)) is not None:
            self.error("PI-2", op, wrong)
        through = op.get("gm_slot_buffer") is not None or op.get("gm_slot_tensor") is not None
        if self.target.is_a(A2A3) and not through and op.attrs.get("acc_push_epilogue") is None:
            self.error("PI-8", op, "a pipe of a2a3 goes through global memory; gm_slot_buffer is missing")
        c2v, v2c = op.get("c2v_consumer_buf"), op.get("v2c_consumer_buf")
        local, peer = (v2c, None) if op.attrs.get("dir_mask") == V2C else (c2v, v2c)
        self.visible[id] = self.ends[op] = End(op, self.function, self.here, local, peer)

    def popped(self, op: Op) -> None:
        given = [name for name in ("valid_row", "valid_col") if op.get(name) is not None]
        if len(given) == 1:
            self.error("PI-4", op, f"{given[0]} is given alone; sizes come in pairs")
        if len(given) != 2:
            return
        spec = op.result.type
        if not isinstance(spec, TileSpec) or (spec.valid_row, spec.valid_col) != (DYNAMIC, DYNAMIC):
            self.error(
                "PI-4",
                op,
                f"sizes are given, but the tile's type {spec} fixes them",
                hint="write valid=?x? in the type",
            )

    # --- the operations with a pipe value --------------------------------------------------------------------------

    def initialize(self, op: Op) -> None:
        self.shape(op)
        slots, local_slots = op.attrs.get("slot_num"), op.attrs.get("local_slot_num")
        flags = op.attrs.get("flag_base")
        if not isinstance(slots, int) or slots <= 0:
            self.error("PI-5", op, f"slot_num is {slots}")
        elif local_slots is not None and op.get("local") is None:
            self.error("PI-5", op, "local_slot_num without a local buffer")
        elif local_slots is not None and not 1 <= local_slots <= slots:
            self.error("PI-5", op, f"local_slot_num is {local_slots}, not 1..{slots}")
        if flags is not None and not 0 <= flags <= FLAGS - (4 if op.attrs.get("dir_mask") == C2V | V2C else 2):
            self.error("PI-5", op, f"flag_base is {flags}; the pipe's flags do not fit in {FLAGS}")
        if op.get("local") is None:
            if op.get("peer") is not None:
                self.error("PI-5", op, "a peer buffer without a local one")
            self.ends[op] = End(op, self.function, self.here, None, None)
            return
        if (op.get("peer") is not None) != (op.attrs.get("dir_mask") == C2V | V2C):
            wrong = "has no peer buffer" if op.get("peer") is None else "has a peer buffer"
            self.error("PI-5", op, f"a pipe with dir_mask {op.attrs.get('dir_mask')} {wrong}")
        self.ends[op] = End(op, self.function, self.here, op.get("local"), op.get("peer"))

    def shape(self, op: Op) -> None:
        if op.attrs.get("dir_mask") not in (C2V, V2C, C2V | V2C):
            self.error("PI-2", op, f"dir_mask is {op.attrs.get('dir_mask')}, not 1, 2 or 3")
        if op.attrs.get("slot_size", 1) <= 0:
            self.error("PI-2", op, f"slot_size is {op.attrs['slot_size']}")

    def user(self, op: Op, core: str) -> None:
        if not core:
            where = "outside a section" + ("" if op.in_python else ", in a function without pto.kernel_kind")
            hint = "put it into a cube or a vector section, whose core does it"
            self.error("PI-6", op, f"{shown_op(op)} {where}", hint=hint)
        self.split(op)
        owner = op["pipe"].owner
        if isinstance(owner, Op) and owner in self.ends:
            self.ends[owner].splits.append(op.attrs.get("split", 0))
            self.direction(op, owner, core)
            if op.name in ("pto.tpush", "pto.tpop"):
                pushes = op.name == "pto.tpush"
                self.ends[owner].moved.append((op, C2V if pushes == (core == "cube") else V2C, pushes))
            split = op.attrs.get("split", 0)
            through = owner.name == _INITIALIZE[1]
            odd = through and owner.attrs.get("dir_mask") == C2V and owner.get("local") is not None
            if split in (3, 4) and not odd:
                self.error("PI-3", op, f"split = {split} is for pipes of tiles from cube to vector through memory")
            slots = owner.get("gm") if through and owner.get("local") is None else None
            if (wrong := entry_misfit(op, slots)) is not None:
                self.error("PI-9", op, wrong)
        else:
            note = Note(f"{op['pipe'].shown} is no result of an initialize op", op["pipe"].location)
            self.error("PI-6", op, f"{op['pipe'].shown} is no pipe that this function initializes", note)

    def direction(self, op: Op, owner: Op, core: str) -> None:
        """A core pushes into a pipe that goes from it, and pops from one that goes to it.

        The reference assembler takes the text; a run that gets there has no slot to push into.
        """
        if not op.in_python:
            return
        gives = op.name in ("pto.tpush", "pto.talloc")
        way = C2V if gives == (core == "cube") else V2C
        mask = owner.attrs.get("dir_mask")
        if core and mask in (C2V, V2C) and not mask & way:
            there = ("cube", "vector") if mask == C2V else ("vector", "cube")
            verb = "pushed into" if gives else "popped from"
            message = f"{op['pipe'].shown} goes from {there[0]} to {there[1]}, and is {verb} on a {core} core"
            hint = f"write pto.{'TPOP' if gives else 'TPUSH'} here"
            note = Note("the pipe", owner.location)
            self.error("PI-6", op, message, note, hint=hint)

    def split(self, op: Op) -> None:
        if op.attrs.get("split") not in range(5):
            self.error("PI-3", op, f"split is {op.attrs.get('split')}, not 0 to 4")

    # --- slots that are taken and given back -----------------------------------------------------------------------

    def borrowed(self, block: Block, others: list[Op]) -> None:
        """PI-7: the n-th pop of a pipe in this block, and its n-th free; ``others``: operations of other blocks."""
        pops: dict[object, list[tuple[int, Op]]] = defaultdict(list)
        frees: dict[object, list[int]] = defaultdict(list)
        for i, op in enumerate(block.ops):
            action, pipe = _used(op)
            if action == "tpop":
                pops[pipe].append((i, op))
            elif action == "tfree":
                frees[pipe].append(i)
        elsewhere = {pipe for action, pipe in map(_used, others) if action == "tfree"}
        for pipe, taken in pops.items():
            later = iter(frees[pipe])
            for i, op in taken:
                freed = next((f for f in later if f > i), None)
                if freed is None:
                    if pipe in elsewhere:
                        continue
                    pop = shown_op(op)
                    free = pop.replace("pop", "free").replace("POP", "FREE")
                    self.found.warning("PI-7", f"no {free} after {pop} gives its slot back", op.location)
                else:
                    self.used_later(block, op, freed)

    def used_later(self, block: Block, pop: Op, free: int) -> None:
        tile = pop.result if pop.results else pop["tile"]
        for op in block.ops[free + 1 :]:
            for use in (op, *_inside(op)):
                if tile in use.values and _frontend(use.name) is None and use.name not in _USERS:
                    note = Note("its slot is freed here", block.ops[free].location)
                    self.found.warning(
                        "PI-7", f"{tile.shown} is used after its slot is free", use.location, notes=[note]
                    )
                    return


def _inside(op: Op) -> Iterator[Op]:
    for region in op.regions:
        yield from region.walk()


def pointer_uses(survey: Survey, found: Diagnostics) -> None:
    """AP-2: what takes a pointer that addptr has moved."""
    moved: dict[Value, Op] = {
        op.result: op
        for op in survey.named("pto.addptr")
        if not isinstance(op.result.type, Ptr) or (op.result.type.space or "gm") == "gm"
    }
    if not moved:
        return
    for op in survey.ops:
        if op.name.startswith("pto.") and op.name != "pto.build_async_session":
            continue
        for value in op.values:
            if value in moved:
                note = Note(f"{value.shown} is moved here", moved[value].location)
                found.broken("AP-2", f"{op.name} takes the moved pointer {value.shown}", op.location, notes=[note])
