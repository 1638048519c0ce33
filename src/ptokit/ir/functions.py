"""Checks of functions and of the module as a whole (assembly 14)."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostics, Note

from .core import Function, Module, Op
from .facts import shown_op
from .survey import Survey, Surveys

_SECTIONS = ("pto.section.cube", "pto.section.vector")
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
    sections = [op for name in _SECTIONS for op in survey.named(name)]
    if "pto.kernel_kind" in function.attrs:
        kind = Note(f"@{function.name} is for {function.core or 'one kind of'} cores", function.location)
        for op in sections:
            if not op.name.endswith(f".{function.core}"):
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
