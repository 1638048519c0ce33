"""Refuses statements that leave a traced branch on its way (LANG-CONTROL).

A branch is always traced, so ``continue`` or ``return`` in it would end the trace of what follows for every case. The
body of a with-statement cannot tell at run time how it was left: the source does.
"""

from __future__ import annotations

import ast
import dis
from functools import lru_cache
from types import CodeType, FrameType

from ptokit.diagnostics import Location, Note

from . import rules
from .source import tree_of
from .where import location_of, refusal, user_frame

_HINT = "guard the rest of the body with pto.if_ and pto.else_, or compute a condition for pto.select"


def check_entered(word: str, location: Location) -> None:
    """To be called when the user's code enters a branch or section made at `location`.

    Raises `DiagnosticError` (LANG-CONTROL) for a statement in its body that leads out of it.
    """
    frame = user_frame()
    if frame is None:
        return
    if tree_of(frame.f_code) is None:
        _without_source(frame, word)
        return
    found = _jumps(frame.f_code).get(location_of(frame).line)
    if found is None:
        message = f"the {word} is entered, but not by a with-statement"
        raise refusal(rules.CONTROL, message, location=location, hint="write: with pto.if_(condition):")
    for keyword, line, column in found:
        place = Location(frame.f_code.co_filename, line, column, len(keyword))
        notes = [Note(f"the {word} begins here", location)]
        message = f"{keyword} leaves the {word}, which is always traced"
        raise refusal(rules.CONTROL, message, location=place, hint=_HINT, notes=notes)


Jump = tuple[str, int, int]
"""Keyword, line, column from 1."""


@lru_cache(maxsize=256)
def _jumps(code: CodeType) -> dict[int, list[Jump]]:
    """For each line of the head of a with-statement the statements in its body that lead out of it."""
    tree = tree_of(code)
    assert tree is not None
    found: dict[int, list[Jump]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.With):
            jumps = [jump for statement in node.body for jump in _leaving(statement, loop=False)]
            last = max(item.context_expr.end_lineno or node.lineno for item in node.items)
            for line in range(node.lineno, last + 1):
                found.setdefault(line, []).extend(jumps)
    return found


def _leaving(node: ast.AST, *, loop: bool) -> list[Jump]:
    """The jumps in a statement that lead out of the body around it; ``loop``: it stands in a loop in there."""
    if isinstance(node, ast.Return):
        return [("return", node.lineno, node.col_offset + 1)]
    if isinstance(node, ast.Break | ast.Continue):
        return [] if loop else [(type(node).__name__.lower(), node.lineno, node.col_offset + 1)]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
        return []
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        inside = [jump for statement in node.body for jump in _leaving(statement, loop=True)]
        return inside + [jump for statement in node.orelse for jump in _leaving(statement, loop=loop)]
    return [jump for child in ast.iter_child_nodes(node) for jump in _leaving(child, loop=loop)]


def _without_source(frame: FrameType, word: str) -> None:
    place = location_of(frame)
    if place.line in _elsewhere(frame.f_code):
        message = f"break, continue or return leaves the {word}, which is always traced"
        raise refusal(rules.CONTROL, message, location=place, hint=_HINT)


@lru_cache(maxsize=256)
def _elsewhere(code: CodeType) -> set[int]:
    """Lines of with-statements that some way through their body leaves for another place than what follows them.

    A body that raises what ``__exit__`` suppresses goes on behind the statement; every other end of the body calls
    ``__exit__`` with three times None, and should go on there, too.
    """
    steps = [i for i in dis.get_instructions(code) if i.opname not in ("PRECALL", "CACHE", "NOP", "NOT_TAKEN")]
    number = {instruction.offset: k for k, instruction in enumerate(steps)}

    def landing(k: int, skipped: tuple[str, ...]) -> list[tuple[str, object]]:
        """What is done from step k on, behind what only tidies up."""
        while k < len(steps) and (steps[k].opname in skipped or steps[k].opname.startswith("JUMP")):
            jumps = steps[k].opname.startswith("JUMP")
            k = number.get(steps[k].argval, k + 1) if jumps else k + 1
        return [(step.opname, step.argval) for step in steps[k : k + 3]]

    behind: dict[int, list[tuple[str, object]]] = {}
    ends: dict[int, list[list[tuple[str, object]]]] = {}
    for k, step in enumerate(steps):
        line = step.positions.lineno if step.positions is not None else None
        if line is None:
            continue
        if step.opname == "WITH_EXCEPT_START":
            test = next((s for s in steps[k : k + 4] if "JUMP" in s.opname and "TRUE" in s.opname), None)
            if test is not None and test.argval in number:
                behind[line] = landing(number[test.argval], ("POP_TOP", "POP_EXCEPT", "POP_BLOCK"))
        nones = [s.opname == "LOAD_CONST" and s.argval is None for s in steps[max(0, k - 3) : k]]
        if step.opname == "CALL" and len(nones) == 3 and all(nones):
            ends.setdefault(line, []).append(landing(k + 2, ()))  # behind the POP_TOP of the result
    return {line for line, after in behind.items() if any(end != after for end in ends.get(line, []))}
