"""Rules of the Python front end, places in the user's source, and how something is refused there."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ptokit.diagnostics import UNKNOWN_LOCATION, Diagnostic, DiagnosticError, Location, Note, Rule, Scope, define
from ptokit.diagnostics.finding import characters, place_of

# Rules of the Python front end: what a kernel function and its call may contain.


def _rule(id: str, what: str, why: str, example: str, **more: Any) -> Rule:
    return define(id, what, scope=Scope.RUN, why=why, example=example, **more)


CONTEXT = _rule(
    "LANG-CONTEXT",
    "Tiles, views, instructions and the words for control flow belong inside a kernel function.",
    "They record operations of the kernel that is being traced; outside there is nothing to record into.",
    """
        @kernel(target="a5")
        def example():
            t = Tile(Vec, f32, 8, 8){|
        Tile(Vec, f32, 8, 8)}
    """,
)
TARGET = _rule(
    "LANG-TARGET",
    "A kernel names its target: cpu, a2a3 (also a2, a3) or a5.",
    "The targets accept and compute different things, so there is no default.",
    """
        @kernel{(target="a5")|}
        def example():
            pass
    """,
)
FILE = _rule(
    "LANG-FILE",
    "A Python file with kernels can be executed and has them at its top level.",
    "Kernels are made when their file is executed, as a module; what it does as a script is left out.",
    "{ptokit check kernels.py:scale|ptokit check kernels.py    # where kernels.py raises an exception}",
    unrun="it is about files",
)
NAME = _rule(
    "LANG-NAME",
    "A kernel names what is there: variables, instructions and types of ptokit, attributes of its objects.",
    "Python would say so when it comes to the line; a kernel is compiled before it runs.",
    "t = Tile(Vec, f32, 8, 8); {TADD|TADDD}(t, t, t)",
)
RAISES = _rule(
    "LANG-RAISES",
    "What Python carries out while a kernel is compiled or interpreted raises nothing.",
    "Sizes, lists and calls of Python are decided before the kernel runs, and an exception ends that.",
    "rows = 16 // {2|0}; Tile(Vec, f32, rows, 8)",
)
PARAMETER = _rule(
    "LANG-PARAM",
    "The kind and element type of every parameter are known: from its annotation or from the argument of a call.",
    "A kernel is traced once per signature; without types there is nothing to trace.",
    """
        @kernel(target="a5")
        def example({x: Ptr[f32]|x}):
            x[0] = 1.0
        example.to_pto()
    """,
)
ARGUMENT = _rule(
    "LANG-ARG",
    "Arguments of a launch fit the parameters: arrays in C order for pointers, numbers for scalars.",
    "Global memory is the caller's own array, seen without a copy, so its bytes must be where a pointer expects them.",
    """
        @kernel(target="a5")
        def example(x: Ptr[f32]):
            x[0] = 1.0
        example({np.zeros(64, np.float32)|[1.0, 2.0]})
    """,
)
WATCH = _rule(
    "LANG-WATCH",
    "What is to be watched is named by a tile's name, by a line with an instruction, or by both.",
    "A name that is not there would never be seen.",
    """
        @kernel(target="a5")
        def example(x: Ptr[f32]):
            acc = Tile(Vec, f32, 8, 8)
            TLOAD(acc, GlobalTensor(x, (8, 8)))
        example.watch("{acc|akk}")(np.zeros(64, np.float32))
    """,
)
WRITE = _rule(
    "LANG-WRITE",
    "Arrays that the kernel stores to are writable.",
    "Results go into the caller's array.",
    """
        core = Core("a5")
        x = np.zeros((16, 64), np.float32)
        x.flags.writeable = {True|False}
        core.TSTORE(core.GlobalTensor(x), core.Tile(Vec, f32, 16, 64).set(1))
    """,
)
BLOCKS = _rule(
    "LANG-BLOCKS",
    "The number of blocks of a launch is a positive integer.",
    "Blocks are counted from 0 to blocks - 1.",
    """
        @kernel(target="a5")
        def example(x: Ptr[f32]):
            x[get_block_idx()] = 1.0
        example[{4|0}](np.zeros(64, np.float32))
    """,
)
CALL = _rule(
    "LANG-CALL",
    "An instruction is called with the operands of its signature, destination first.",
    "Operands are recorded by name in the order of the instruction table.",
    "t = Tile(Vec, f32, 8, 8); TADD(t, t{, t|})",
)
KIND = _rule(
    "LANG-KIND",
    "Each operand is of its kind: a tile, a view of global memory, a number or a pointer.",
    "Tiles live on the core and views in global memory; only movement instructions connect them.",
    "x: Ptr[f32]; t = Tile(Vec, f32, 8, 8); g = GlobalTensor(x, (8, 8)); TLOAD({t, g|g, t})",
)
ATTRIBUTE = _rule(
    "LANG-ATTR",
    "Attributes of an instruction exist and have one of their values.",
    "An attribute that no rule knows would be dropped silently.",
    'x: Ptr[f32]; t = Tile(Vec, f32, 8, 8); TSTORE(GlobalTensor(x, (8, 8)), t, atomic={AtomicType.AtomicAdd|"sum"})',
)
SCALAR = _rule(
    "LANG-SCALAR",
    "A traced number has no value while the kernel is compiled: it cannot become a Python int or float.",
    "The kernel is compiled once for all blocks and arguments; its own if, for and while may depend on the number.",
    "n: int; x: Ptr[f32]; x[0] = {x[n]|[1.0, 2.0][n]}",
)
SCOPE = _rule(
    "LANG-SCOPE",
    "A value made inside a loop, a branch or another kernel is used only there.",
    "After it has ended the value may never have been computed. A variable that every way gives a value may be used.",
    """
        n: int
        x: Ptr[f32]
        {at = 2
        |}if n > 4:
            at = 1
        x[at] = 0.0
    """,
)
CONTROL = _rule(
    "LANG-CONTROL",
    "The statements of a kernel are those that can be compiled, and its source can be read.",
    "The kernel is compiled from its syntax tree: for, while, if, break, continue, return, calls of other functions. "
    "Nothing leaves a with-statement, or a loop written with pto.range, before its end.",
    """
        x: Ptr[f32]
        {if x[0] > 1.0:
            x[0] = 1.0|try:
            x[0] = 1.0
        except ValueError:
            pass}
    """,
)
CARRIED = _rule(
    "LANG-CARRIED",
    "What a loop or a branch changes is a variable of one kind: a number, tile, register or pointer of one type.",
    "Such variables are values of the kernel. Lists and other objects of Python belong to the time when it is "
    "compiled, where a body is gone through once: at its end they hold what they held before it.",
    """
        n: int
        x: Ptr[i32]
        seen = {0|[]}
        for i in range(n):
            seen {= seen + 1|.append(i)}
    """,
)
TILE = _rule(
    "LANG-TILE",
    "A tile has a location, an element type and static sizes; only a DYNAMIC valid dimension can change.",
    "Storage and instructions are planned from the type.",
    "n: int; Tile(Vec, f32, {16, 64, valid_row=n|n, 64})",
)
VIEW = _rule(
    "LANG-VIEW",
    "A tensor in global memory has 1 to 5 dimensions with one stride each, and is sliced with steps of 1.",
    "A view is an offset and a size per dimension; anything else needs strides of its own.",
    "x: Ptr[f32]; g = GlobalTensor(x, (16, 64)); TLOAD(Tile(Vec, f32, 8, 64), g[{0:8|::2}])",
)
SYNC = _rule(
    "LANG-SYNC",
    "TSYNC waits for events: what an instruction returned, or tiles and views.",
    "An event is that of the instruction that wrote the operand.",
    "x: Ptr[f32]; e = TLOAD(Tile(Vec, f32, 8, 64), GlobalTensor(x, (8, 64))); TSYNC({e|3})",
)
PIPE = _rule(
    "LANG-PIPE",
    "A pipe has a direction, slots, and a place for them: addresses in the consumers' buffers, and global memory where "
    "it leads through that.",
    "Both kinds of core compute addresses of slots from them.",
    "TPipe(0, Direction.DIR_C2V, 8192, 2{, c2v_consumer_buf=0|})",
)
CONTENTS = _rule(
    "LANG-CONTENTS",
    "What is put into a tile has the shape of its valid region, and numbers that its element type holds.",
    "Floats are rounded to the element type; an integer has no nearest value that would not surprise.",
    'core = Core("a5"); t = core.Tile(Vec, u8, 1, 32); t.set([{200|300}] * 32)',
)


# Places in the user's Python source, and how the front end refuses something there.


_PLACES: dict[tuple[str, CodeType, int], Location] = {}  # codes of two files may be equal
_ASSIGNMENT = re.compile(r"\s*([A-Za-z]\w*)\s*(?::[^=]*)?=\s*(?=[^=\s])")


def user_frame() -> FrameType | None:
    """The innermost frame outside ptokit, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module != "ptokit" and not module.startswith("ptokit."):
            return frame
        frame = frame.f_back
    return None


def location_of(frame: FrameType) -> Location:
    """Place of the expression that `frame` evaluates: file, line, column (from 1) and length on that line."""
    place = location_at(frame.f_code, frame.f_lasti)
    return place if place.line else Location(frame.f_code.co_filename, frame.f_lineno)


def location_at(code: CodeType, instruction: int) -> Location:
    """The same for an instruction of a function's code; without a line where the code does not tell."""
    key = (code.co_filename, code, instruction)
    place = _PLACES.get(key)
    if place is None:
        positions = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
        place = _PLACES[key] = place_of(code.co_filename, positions)
    return place


def here() -> Location:
    """Place of the user's call that is being executed."""
    frame = user_frame()
    return UNKNOWN_LOCATION if frame is None else location_of(frame)


def is_item(place: Location) -> bool:
    """True if the expression at a place is an item of something: ``bufs[i]``."""
    if place.file is None or not place.line:
        return False
    text = linecache.getline(place.file, place.line)[place.column - 1 : place.column - 1 + place.length]
    with suppress(SyntaxError, ValueError):
        return isinstance(ast.parse(text, mode="eval").body, ast.Subscript)
    return False


def target_name(location: Location) -> str:
    """A readable name for the value made at this place: the variable that the statement assigns it to.

    Empty if the place is not the whole right-hand side of an assignment.
    """
    if location.file is None or not location.line:
        return ""
    line = linecache.getline(location.file, location.line)
    span = (location.column - 1, location.column - 1 + location.length)
    return next((name for name, place in _assigned(line) if place == span), "")


@lru_cache(maxsize=1024)
def _assigned(line: str) -> list[tuple[str, tuple[int, int]]]:
    """Variables that a line assigns, each with the columns of its value: ``x = f()`` and ``x, y = f(), g()``."""
    text = line.strip()
    indent = len(line) - len(line.lstrip())
    try:
        (statement,) = ast.parse(text).body
    except (SyntaxError, ValueError):  # the first of several lines: of a value, only its beginning counts
        start = _ASSIGNMENT.match(line)
        return [(start[1], (start.end(), start.end() + 1))] if start else []
    if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
        return []
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            pairs += zip(target.elts, statement.value.elts)
        else:
            pairs.append((target, statement.value))
    return [
        (target.id, (characters(text, value.col_offset) + indent, characters(text, value.end_col_offset) + indent))
        for target, value in pairs
        if isinstance(target, ast.Name) and value.end_col_offset is not None
    ]


def refusal(
    rule: Rule,
    message: str,
    *,
    hint: str | None = None,
    notes: Iterable[Note] = (),
    location: Location | None = None,
) -> DiagnosticError:
    """The error to raise for one finding, at the user's call unless a place is given."""
    place = here() if location is None else location
    return DiagnosticError(Diagnostic(rule.id, rule.severity, message, place, hint, tuple(notes)))
