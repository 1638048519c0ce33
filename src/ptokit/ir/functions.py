"""Checks of functions and modules: names, targets, levels, and what can be run (assembly 2.1, 14).

| level | tiles | addresses |
|---|---|---|
| 1 | values in SSA form | the assembler's |
| 2 | buffers that instructions write (``outs``) | the assembler's |
| 3 | as level 2 | the program's: ``addr`` on every alloc_tile, tassign |
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any

from ptokit.diagnostics import Diagnostics, Doubt, Note
from ptokit.isa.table import Attr, Kind, Operand
from ptokit.targets import A2A3, A5, A5_TEMPLATES, Target, target
from ptokit.types.values import Opaque, is_memref

from .control import section_of
from .core import Function, Module, Op
from .facts import instr_of, scalar_type, shown_op
from .structure_checks import Survey, Surveys

# Checks of functions and of the module as a whole (assembly 14).


_TAIL_HINTS = ("barrier-all", "default", "mte3-to-s-event0")


def check_functions(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Entries, calls, recursion, attributes."""
    entries = module.entries()
    for function in module.functions:
        if function.is_entry and function.body is None:
            found.error("FN-1", f"@{function.name} is marked as a kernel but has no body", function.location)
        if function in entries and function.is_entry and function.results:
            results = ", ".join(map(str, function.results))
            found.error(
                "FN-2",
                f"kernel @{function.name} returns {results}",
                function.location,
                hint="write results through a pointer argument",
            )
        hint = function.attrs.get("pto.auto_sync_tail_hint")
        if hint is not None and str(hint).strip('"') not in _TAIL_HINTS:
            found.error(
                "FN-4", f"pto.auto_sync_tail_hint is {hint}, not one of {', '.join(_TAIL_HINTS)}", function.location
            )
        if function.body is not None:
            for op in surveys[function].calls:
                _call(module, op, found)
            for op in surveys[function].named("pto.simt_launch"):
                _launch(module, op, found)
            _sections(function, surveys[function], found)
    _recursion(module, surveys, found)


def _sections(function: Function, survey: Survey, found: Diagnostics) -> None:
    """SYS-05: a function with a kernel kind is one section; sections are not nested."""
    sections = [op for op in survey.nests if section_of(op)]
    if "pto.kernel_kind" in function.attrs:
        kind = Note(f"@{function.name} is for {function.core or 'one kind of'} cores", function.location)
        for op in sections:
            if section_of(op) != function.core:
                message = f"{shown_op(op)} in a function of the other kind: no core runs it"
                found.warning("SYS-05", message, op.location, notes=[kind])
    inside = {inner: op for op in sections for region in op.regions for inner in region.walk()}
    for op in sections:
        if op in inside:
            note = Note("this section is around it", inside[op].location)
            found.error("SYS-05-NESTED", f"{shown_op(op)} is in another section", op.location, notes=[note])


def _call(module: Module, op: Op, found: Diagnostics) -> None:
    callee = module.function(op.attrs["callee"])
    if callee is not None:
        _has_body(callee, op, found)


def _has_body(callee: Function, op: Op, found: Diagnostics) -> None:
    if callee.body is None:
        note = Note(f"@{callee.name} is declared here", callee.location)
        found.error("FN-CALL", f"@{callee.name} has no body to run", op.location, notes=[note])


def _launch(module: Module, op: Op, found: Diagnostics) -> None:
    """FN-LAUNCH; a launch that names no function breaks ATTR-1."""
    name = op.attrs.get("callee")
    if name is None:
        return
    callee = module.function(name.removeprefix("@"))
    if callee is None:
        found.error("FN-LAUNCH", f"there is no function @{name.removeprefix('@')}", op.location)
    elif len(callee.params) != len(op.group("args")):
        message = f"@{callee.name} takes {len(callee.params)} arguments, and is given {len(op.group('args'))}"
        note = Note(f"@{callee.name} is defined here", callee.location)
        found.error("FN-LAUNCH", message, op.location, notes=[note])
    else:
        _has_body(callee, op, found)


def _recursion(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    calls = {f.name: surveys[f].calls if f.body is not None else [] for f in module.functions}
    finished: set[str] = set()
    for start in calls:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, i = stack.pop()
            if i == 0:
                if name in finished:
                    continue
                path.append(name)
            ops = calls.get(name, [])
            if i < len(ops):
                stack.append((name, i + 1))
                callee = ops[i].attrs["callee"]
                if callee in path:
                    cycle = " -> ".join(f"@{n}" for n in [*path[path.index(callee) :], callee])
                    function = module.function(callee)
                    assert function is not None
                    notes = [Note(f"@{name} calls @{callee} here", ops[i].location)]
                    found.error("FN-3", f"@{callee} calls itself: {cycle}", function.location, notes=notes)
                elif callee not in finished:
                    stack.append((callee, 0))
            else:
                finished.add(name)
                path.pop()


# What can be checked of a text that could not be read completely.


def readable_functions(module: Module, found: Diagnostics) -> list[Function] | None:
    """The functions of a text that have none of the errors `found`; None, for all, if there are no errors.

    An error before the first function, in a type alias for example, may concern all of them: then there is none.
    """
    errors = [(d.location.line, d.location.column) for d in found.errors]
    if not errors:
        return None
    starts = [(f.location.line, f.location.column) for f in module.functions]
    if not starts or min(errors) < starts[0]:
        return []
    spans = zip(module.functions, starts, [*starts[1:], (sys.maxsize, 0)], strict=True)
    return [f for f, start, end in spans if not any(start <= error < end for error in errors)]


# What a module says about its target (assembly 2.1).


ARCH = "pto.target_arch"
DEVICE = "pto.device-spec"
KIND = "pto.kernel_kind"
A5_DEVICES = ("Ascend950", "Ascend910_95")
"""What the names of devices with target a5 begin with."""


def target_named(arch: object) -> Target:
    """The target whose rules a text with this ``pto.target_arch`` has: a2a3 for no target's name, and for none."""
    try:
        return target(str(arch))
    except KeyError:
        return A2A3


def stated_target(module: Module) -> Target | None:
    """`target_named` of what the module states; None if it states nothing."""
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    found = filter(None, map(stated_arch, (module.attrs, *parts)))
    arch = next(found, None)
    return None if arch is None else target_named(arch)


def stated_arch(attrs: Mapping[str, Any]) -> str | None:
    """The target that a module's attributes name, or the device that they name is one of."""
    arch = attrs.get(ARCH)
    if arch is None and str(attrs.get(DEVICE, "")).startswith(A5_DEVICES):
        return "a5"
    return None if arch is None else str(arch)


def as_compiled(module: Module, target: Target) -> Target:
    """The target as the assembler compiles a text for it.

    A module of one kind of core, which has `pto.kernel_kind`, is what its backend for a5 takes that has templates in
    the place of the library. In other modules tile operations are calls of the library.
    """
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    of_one_kind = module.text and any(KIND in attrs for attrs in (module.attrs, *parts))
    return A5_TEMPLATES if of_one_kind and target == A5 else target


# The three levels of automation, and what each allows (assembly 14).


def stated_level(module: Module) -> int:
    """The level a text is written for: 3 if a tile has an address, 1 if tiles are SSA values, else 2."""
    functions = [f for f in module.functions if f.body is not None]
    if any(op.get("addr") is not None for f in functions for op in Survey(f).named("pto.alloc_tile")):
        return 3
    return 1 if module.ssa else 2


def check_level(survey: Survey, level: int | None, auto_sync: bool, found: Diagnostics) -> None:
    """Report tiles that are placed by the wrong side: AL-5 where no level was asked for, else LV-1 and LV-2.

    Without a level every function may choose its own, but must not mix both ways.
    """
    allocations = [*survey.named("pto.alloc_tile"), *survey.named("pto.alloc_multi_tile")]
    placed = [op for op in allocations if op.get("addr") is not None]
    if level is None:
        _mixed(allocations, placed, found)
    elif level == 3:
        for op in allocations:
            if op.get("addr") is None:
                found.broken(
                    "LV-1", f"{op.result.shown} has no address; level 3 asks for one", op.location, hint=_address(op)
                )
    else:
        for op in placed:
            message = Doubt(f"{op.result.shown} has an address; at level {level} the assembler places tiles")
            found.broken("LV-1", message, op.location, hint="remove `addr`, or check with level 3")
    for op in survey.named("pto.reserve_buffer") if level is not None else ():
        _reserved(op, level == 3, found)
    for op in survey.named("pto.tassign"):
        if level is not None and level != 3:
            found.broken("LV-2", f"tassign at level {level}; it belongs to level 3", op.location)
        elif auto_sync:
            found.broken(
                "LV-2",
                "tassign together with automatic synchronisation, which cannot know what the tile overlaps then",
                op.location,
                hint="write the flags, or give each tile one address",
            )


def _reserved(op: Op, placed: bool, found: Diagnostics) -> None:
    """RB-3. ``placed``: by the program."""
    automatic, base = op.attrs.get("auto") is not False, op.attrs.get("base")
    if placed and (automatic or base is None):
        found.broken("RB-3", "at level 3 the program places the buffer", op.location, hint="auto = false, base = ...")
    elif not placed and base is not None:
        message = Doubt("base is given; at levels 1 and 2 the assembler places the buffer")
        found.broken("RB-3", message, op.location)


def _address(op: Op) -> str:
    if op.result.called is not None:
        return "give it addr=, the number of its first byte"
    return "add `addr = %address`, the number of the tile's first byte as an i64"


def _mixed(allocations: list[Op], placed: list[Op], found: Diagnostics) -> None:
    for op in allocations if placed else []:
        if op.get("addr") is None:
            note = Note(f"{placed[0].result.shown} is placed by the program", placed[0].location)
            message = f"{op.result.shown} has no address, but other tiles do"
            found.broken("AL-5", message, op.location, hint=_address(op), notes=[note])


# What ptokit can check but not run: reported before a launch, and by nothing else.


_RULE = "TEXT-UNIMPLEMENTED"
_RUN = re.compile(r"[su]?i([1-9]|[1-5]\d|6[0-4])\Z|f16\Z|bf16\Z|f32\Z|f64\Z", re.ASCII)


def check_runnable(module: Module, found: Diagnostics) -> None:
    """Report every operation of `module` that has no execution, and every lowered tile (a memref in its place)."""
    for function in module.functions:
        if function.body is not None:
            threads = function.of_threads
            for op in function.body.walk():
                if not (threads and op.name.startswith("arith.")):  # threads have short vectors, too
                    _operation(op, found)


def _is_default(op: Op, entry: Attr | Operand) -> bool:
    return not isinstance(entry, Attr) or op.attrs.get(entry.name, entry.default) == entry.default


def _arithmetic(op: Op, found: Diagnostics) -> None:
    for value in (*op.values, *op.results):
        name = scalar_type(value)
        if op.name == "arith.select" and name is None and not isinstance(value.type, Opaque):
            continue
        if name is None:
            message = "the scalar unit has no vectors"
        elif name != "index" and not _RUN.match(name):
            message = "the scalar unit has integers of up to 64 bits, f16, bf16, f32 and f64"
        else:
            continue
        found.error(_RULE, f"{op.name} of {value.shown_type} cannot be run yet", op.location, hint=message)
        return


def _operation(op: Op, found: Diagnostics) -> None:
    instr = instr_of(op)
    if instr is None:
        if op.name.startswith("arith.") and op.name != "arith.constant":
            _arithmetic(op, found)
        return
    if instr.unrun:
        found.error(_RULE, f"{op.name} cannot be run yet", op.location, hint=instr.unrun)
        return
    if instr.form.tensor and op.results:
        found.error(_RULE, f"{op.name} with a result of type {op.result.shown_type} cannot be run yet", op.location)
    carried = [e.name for e in instr.form.trailing if op.get(e.name) is not None or not _is_default(op, e)]
    if carried:
        found.error(
            _RULE,
            f"{op.name} with {', '.join(carried)} cannot be run yet",
            op.location,
            hint="no public document says what it does; the reference assembler makes the same code without it",
        )
    for operand in instr.operands:
        value = op.get(operand.name)
        if value is not None and operand.kind is Kind.TILE and is_memref(value.type) and Kind.VIEW not in operand.also:
            found.error(
                _RULE,
                f"{op.name} with {operand.name} of type {value.shown_type} cannot be run yet",
                op.location,
                hint="ptokit runs tiles (!pto.tile_buf) and views of global memory",
            )
