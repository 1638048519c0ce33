"""Ordinary mistakes of Python in a kernel as findings: names that are not there, what tiles do not do, what raises."""

from __future__ import annotations

import ast
import builtins
import dis
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from enum import EnumMeta
from types import FrameType, FunctionType, ModuleType, TracebackType
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError, Location, Note, Rule
from ptokit.diagnostics.finding import place_of, suggestion
from ptokit.isa.table import TABLE

from . import rules
from .rules import location_at, refusal, target_name, user_frame
from .scalar import is_number
from .source import definition_of, is_library_file

DEBUG = "PTOKIT_DEBUG"
"""Set to 1, exceptions keep their class and all frames of ptokit."""

_KNOWN_ELSEWHERE = dict(
    pair.split("=")
    for pair in (
        "float16=f16 float32=f32 float=f32 half=f16 bfloat16=bf16 bfloat16_t=bf16 float8_e4m3=e4m3 float8_e5m2=e5m2 "
        "hifloat8=hif8 int8=i8 int16=i16 int32=i32 int64=i64 uint8=u8 uint16=u16 uint32=u32 uint64=u64 "
        "program_id=get_block_idx num_programs=get_block_num block_idx=get_block_idx block_dim=get_block_num "
        "constexpr=Static jit=kernel tensor=GlobalTensor load=TLOAD store=TSTORE dot=TMATMUL matmul=TMATMUL "
        "copy=TMOV cast=TCVT "
        "where=TSEL zeros=TEXPANDS full=TEXPANDS arange=TCI transpose=TTRANS sum=TROWSUM max=TROWMAX min=TROWMIN "
        "sqrt=TSQRT exp=TEXP log=TLOG abs=TABS relu=TRELU __syncthreads=pipe_barrier syncthreads=pipe_barrier "
        "barrier=pipe_barrier debug_barrier=pipe_barrier blockIdx=get_block_idx gridDim=get_block_num "
        "maximum=TMAX minimum=TMIN add=TADD mul=TMUL sub=TSUB div=TDIV sin=TSIN cos=TCOS tanh=TTANH arange=TCI"
    ).split()
)
"""Names of C++, NumPy, torch and Triton for what has another name here."""

_OF_TILES = {
    "shape": "its sizes are {0}.rows and {0}.cols, those of the valid region {0}.valid_row and {0}.valid_col",
    "size": "it has {0}.rows * {0}.cols elements",
    "ndim": "a tile has two dimensions, {0}.rows and {0}.cols",
    "valid_rows": "write {0}.valid_row",
    "valid_cols": "write {0}.valid_col",
    "T": "write pto.TTRANS(dst, {0}, tmp)",
    "astype": "write pto.TCVT(dst, {0}, pto.RoundMode.CAST_RINT) with a tile of the other element type",
    "to": "write pto.TCVT(dst, {0}, pto.RoundMode.CAST_RINT) with a tile of the other element type",
    "copy": "write pto.TMOV(dst, {0})",
    "fill": "write pto.TEXPANDS({0}, value)",
    "sum": "write pto.TROWSUM(dst, {0}, tmp) or pto.TCOLSUM(dst, {0}, tmp)",
    "max": "write pto.TROWMAX(dst, {0}, tmp) or pto.TCOLMAX(dst, {0})",
    "min": "write pto.TROWMIN(dst, {0}, tmp) or pto.TCOLMIN(dst, {0})",
}

_OPERATORS = {
    "add": ("+", "TADD", "TADDS"),
    "sub": ("-", "TSUB", "TSUBS"),
    "mul": ("*", "TMUL", "TMULS"),
    "truediv": ("/", "TDIV", "TDIVS"),
    "mod": ("%", "TREM", "TREMS"),
    "and": ("&", "TAND", "TANDS"),
    "or": ("|", "TOR", "TORS"),
    "xor": ("^", "TXOR", "TXORS"),
    "lshift": ("<<", "TSHL", "TSHLS"),
    "rshift": (">>", "TSHR", "TSHRS"),
    "matmul": ("@", "TMATMUL", ""),
    "floordiv": ("//", "", ""),
    "pow": ("**", "", ""),
}
_COMPARISONS = {"lt": ("<", "LT"), "le": ("<=", "LE"), "gt": (">", "GT"), "ge": (">=", "GE")}
_OF_ONE = {"neg": ("-", "TNEG"), "abs": ("abs()", "TABS"), "invert": ("~", "TNOT")}
_ASKED = {
    "len": ("has no length", "its sizes are {0}.rows and {0}.cols"),
    "iter": ("cannot be iterated over", "instructions work on all of it; for r in range({0}.rows) counts its rows"),
    "contains": ("cannot be searched", "what it holds is known only on the device"),
    "int": ("is no number", "pto.TGETVAL reads one element"),
    "float": ("is no number", "pto.TGETVAL reads one element"),
    "index": ("is no number", "pto.TGETVAL reads one element"),
}


class NoArithmetic:
    """What is computed on by instructions, not by operators: each of them is refused with what to write (LANG-KIND)."""

    merged = False
    """True for a tile that a branch or loop of the run has chosen among others."""

    def _refused(self, message: str, hint: str) -> DiagnosticError:
        return refusal(rules.KIND, f"a tile {message}", hint=hint.format(self._named()))

    def no_truth(self, place: Location | None = None) -> DiagnosticError:
        """The refusal of a tile as a condition, at a place; by default that of the user's call."""
        hint = "what a tile holds is known only on the device; compare numbers that the kernel has"
        return refusal(rules.KIND, "a tile is neither true nor false", hint=hint, location=place)

    def __bool__(self) -> bool:
        raise self.no_truth()

    def _named(self) -> str:
        """What the source calls it."""
        raise NotImplementedError

    def __array__(self, *args: object, **named: object) -> Any:
        raise self._refused("is no array", "pto.TSTORE brings what it holds into one")

    def __array_ufunc__(self, function: Any, method: str, *inputs: object, **named: object) -> Any:
        instruction = f"T{function.__name__.upper()}"
        hint = f"pto.{instruction}" if instruction in TABLE else "instructions"
        raise self._refused("is nothing that NumPy computes with", f"compute it with {hint}")

    def no_arithmetic(self, sign: str) -> DiagnosticError:
        """The refusal of an operator between a number of the run, on the left, and this tile."""
        name = next((number for key, _, number in _OPERATORS.values() if key == sign and sign in "+*&|^"), "")
        hint = _call_with(name, "{0}", "number") if name else "compute it with instructions"
        return self._refused(f"has no {sign}", hint)

    def no_iteration(self, place: Location | None = None) -> DiagnosticError:
        """The refusal of a loop over a tile, at a place; by default that of the user's call."""
        message, hint = _ASKED["iter"]
        return refusal(rules.KIND, f"a tile {message}", hint=hint.format(self._named()), location=place)

    def __getitem__(self, at: Any) -> Any:
        raise self._refused("has no items", "{0}.subview(row, col, rows, cols) is a window of it")

    def __setitem__(self, at: Any, value: Any) -> None:
        raise self._refused("has no items that can be set", "pto.TEXPANDS({0}, value) fills it")

    def __eq__(self, other: object) -> bool:
        return self._is(other, "==", "EQ")

    def __ne__(self, other: object) -> bool:
        return not self._is(other, "!=", "NE")

    def _is(self, other: object, sign: str, mode: str) -> bool:
        if is_number(other):
            raise self._refused(f"cannot be compared with {sign}", _compared("{0}", other, mode))
        return same_object(self, other)

    def __hash__(self) -> int:
        if self.merged:
            raise _by_run("which tile this is, so no set or dictionary can be asked for it")
        return object.__hash__(self)


def same_object(a: object, b: object) -> bool:
    """``a is b``. Raises `DiagnosticError` (LANG-SCALAR) where only the run knows which of some tiles one is."""
    if a is not b and isinstance(a, NoArithmetic) and isinstance(b, NoArithmetic) and (a.merged or b.merged):
        raise _by_run("whether these are one tile")
    return a is b


def _by_run(what: str) -> DiagnosticError:
    return refusal(rules.SCALAR, f"only the run knows {what}", hint="ask for the number that chooses the tile instead")


def _call_with(instruction: str, *operands: str) -> str:
    frame = user_frame()
    place = location_at(frame.f_code, frame.f_lasti) if frame is not None else Location(None)
    dst = target_name(place) or "dst"
    return f"write pto.{instruction}({', '.join([dst, *operands])}) with a tile {dst} for the result"


def _compared(name: str, other: object, mode: str) -> str:
    instruction = "TCMP" if isinstance(other, NoArithmetic) else "TCMPS"
    return _call_with(instruction, name, _operand(other), f"pto.CmpMode.{mode}")


def _operand(value: object) -> str:
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, NoArithmetic):
        return value._named()
    return getattr(getattr(value, "value", None), "name", "") or "number"


def shown(value: object) -> str:
    """What a message calls a value that is not what is wanted: the tile t, an array of shape (16, 64), 'u'."""
    if isinstance(value, NoArithmetic):
        return f"the tile {value._named()}"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return repr(value)


def _install() -> None:
    """Give `NoArithmetic` the operators of Python."""

    def binary(sign: str, both: str, number: str, swapped: bool) -> Any:
        def refused(self: NoArithmetic, other: object) -> Any:
            instruction = both if isinstance(other, NoArithmetic) else number
            operands = ["{0}", _operand(other)]
            if swapped and sign == "/":
                operands.reverse()
            elif swapped and sign not in "+*&|^":
                instruction = ""
            hint = _call_with(instruction, *operands) if instruction else "compute it with instructions"
            raise self._refused(f"has no {sign}", hint)

        return refused

    def compared(sign: str, mode: str) -> Any:
        def refused(self: NoArithmetic, other: object) -> Any:
            raise self._refused(f"cannot be compared with {sign}", _compared("{0}", other, mode))

        return refused

    def single(sign: str, instruction: str) -> Any:
        def refused(self: NoArithmetic) -> Any:
            raise self._refused(f"has no {sign}", _call_with(instruction, "{0}"))

        return refused

    def asked(message: str, hint: str) -> Any:
        def refused(self: NoArithmetic, *args: object) -> Any:
            raise self._refused(message, hint)

        return refused

    for name, (sign, both, number) in _OPERATORS.items():
        setattr(NoArithmetic, f"__{name}__", binary(sign, both, number, swapped=False))
        setattr(NoArithmetic, f"__r{name}__", binary(sign, both, number, swapped=True))
    for name, (sign, mode) in _COMPARISONS.items():
        setattr(NoArithmetic, f"__{name}__", compared(sign, mode))
    for name, (sign, instruction) in _OF_ONE.items():
        setattr(NoArithmetic, f"__{name}__", single(sign, instruction))
    for name, (message, hint) in _ASKED.items():
        setattr(NoArithmetic, f"__{name}__", asked(message, hint))


_install()


class NoName(AttributeError):
    """This package has no such name; ``known``: those that it has."""

    def __init__(self, wanted: str, known: Iterable[str]) -> None:
        close = _KNOWN_ELSEWHERE.get(wanted) or close_names(wanted, known)
        self.wanted, self.hint = wanted, suggestion(wanted, close, python=True) if close else None
        super().__init__(f"ptokit has no instruction or name {wanted!r}{f'; {self.hint}' if close else ''}")

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


NoName.__module__, NoName.__qualname__ = "builtins", "AttributeError"  # as tracebacks call it


def refuse_result(function: FunctionType, value: object) -> None:
    """Refuse what a kernel returns, which nothing would get (LANG-CONTROL)."""
    if value is None:
        return
    file, definition = function.__code__.co_filename, definition_of(function.__code__)
    place = Location(file, function.__code__.co_firstlineno)
    for node in _own_statements(definition[0].body if definition else []):
        if isinstance(node, ast.Return) and node.value is not None:
            place = place_of(file, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))
            break
    raise refusal(
        rules.CONTROL,
        f"a kernel returns nothing, and {function.__name__} returns {value!r}",
        location=place,
        hint="store results with TSTORE, to an array that is a parameter",
    )


def _own_statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Statements of a function, in order, without those of the functions in it."""
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield node
            yield from _own_statements(ast.iter_child_nodes(node))


# --- what Python raises ----------------------------------------------------------------------------------------------


def as_finding(error: BaseException, what: str = "") -> DiagnosticError | None:
    """The finding for what code of the user's raised, at its place; None where ptokit itself is at fault.

    Also None for what the user raises by ``raise`` or ``assert``, unless ``what`` says whose code that is: a caller may
    want to catch it by its class.
    """
    own = [trace for trace in _traces(error) if not _internal(trace.tb_frame)]
    if not own or not of_users(error):
        return None
    users = [trace for trace in own if not is_library_file(trace.tb_frame.f_code.co_filename)] or own
    last = users[-1]
    if not what and own[-1] is last and _raises(last):
        return None
    rule, message, hint = _described(error, last.tb_frame)
    place, *outer = [location_at(trace.tb_frame.f_code, trace.tb_lasti) for trace in reversed(users)]
    inner = [place, *outer]  # one in the same line says nothing more
    notes = [Note("called here", at) for at, of in zip(outer, inner) if (at.file, at.line) != (of.file, of.line)]
    if own[-1] is not last and rule is rules.RAISES:
        notes.insert(0, Note("raised here", location_at(own[-1].tb_frame.f_code, own[-1].tb_lasti)))
    if what and rule is rules.RAISES:
        message = f"{what} raises {message}"
    return refusal(rule, message, hint=hint, location=place, notes=notes)


def users_traceback(trace: TracebackType | None, *, own: bool = False) -> TracebackType | None:
    """The part of a traceback that lies outside of ptokit, and, if ``own``, of other libraries."""
    kept = []
    while trace is not None:
        frame = trace.tb_frame
        if not _internal(frame) and not (own and is_library_file(frame.f_code.co_filename)):
            kept.append(trace)
        trace = trace.tb_next
    result: TracebackType | None = None
    for each in reversed(kept):
        result = TracebackType(result, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return result


def debugging() -> bool:
    """True where the environment asks for exceptions as they are."""
    return os.environ.get(DEBUG) == "1"


def _traces(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _internal(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    return module == "ptokit" or module.startswith("ptokit.") or frame.f_code.co_filename.startswith("<ptokit ")


def of_users(error: BaseException) -> bool:
    """True for what code of the user's raises, or a function of Python's that it calls; not this package."""
    if isinstance(error, NoName) or (isinstance(error, AttributeError) and _is_package(error.obj)):
        return True
    modules = [trace.tb_frame.f_globals.get("__name__") or "" for trace in _traces(error)]
    while modules and modules[-1].startswith(_CALLING):
        modules.pop()
    return bool(modules) and modules[-1].partition(".")[0] != "ptokit"


_CALLING = ("ptokit.lang.syntax.", "ptokit.lang.core", "ptokit.lang.params")
"""Modules that make the calls that the user wrote."""


def _raises(trace: TracebackType) -> bool:
    """True where a frame stopped at ``raise`` or ``assert``."""
    at = next((i for i in dis.get_instructions(trace.tb_frame.f_code) if i.offset == trace.tb_lasti), None)
    return at is not None and at.opname in ("RAISE_VARARGS", "RERAISE")


def _described(error: BaseException, frame: FrameType) -> tuple[Rule, str, str | None]:
    """Rule, message and hint for what Python raised in a frame of the user's."""
    unbound = re.search(r"variable '(\w+)'", said_by(error)) if isinstance(error, UnboundLocalError) else None
    if unbound is not None:
        return rules.SCOPE, f"{unbound[1]} has no value here", "give it a value before, on every way that leads here"
    if isinstance(error, NameError) and error.name:
        return rules.NAME, f"there is no variable {error.name}", _other_name(error.name, frame)
    if isinstance(error, NoName):
        return rules.NAME, f"ptokit has no instruction or name {error.wanted}", error.hint
    if isinstance(error, AttributeError) and error.name:
        if _is_package(error.obj):
            hint = NoName(error.name, dir(error.obj)).hint
            return rules.NAME, f"ptokit has no instruction or name {error.name}", hint
        return rules.NAME, *_no_attribute(error.name, error.obj)
    said = next(iter(said_by(error).splitlines()), "")
    if isinstance(error, TypeError):
        wrong = _wrong_call(said)
        if wrong is not None:
            return rules.CALL, *wrong
        if re.search("'(GlobalTensor|Partition)'", said):
            return rules.KIND, f"global memory is not computed on: {said}", "pto.TLOAD brings a part of it into a tile"
        if "'function'" in said:
            return rules.RAISES, f"TypeError: {said}", "a function is called with parentheses, ()"
    return rules.RAISES, f"{type(error).__name__}: {said}" if said else type(error).__name__, None


_CALL = re.compile(r"(?:(\w+)\.)?(\w+)\(\) (missing|takes|got)")


def _wrong_call(said: str) -> tuple[str, str | None] | None:
    """Message and hint for what Python says of the arguments of a function or class of this package."""
    lang = sys.modules["ptokit.lang"]
    found = _CALL.match(said)
    if found is None:
        return None
    owner, name, _ = found.groups()
    home = getattr(lang, owner, None) if owner in dir(lang) else None if owner else lang
    function: Any = getattr(home, name, None)
    made = home if name == "__init__" else function  # what a dataclass is made with names no module
    if function is None or not (getattr(made, "__module__", None) or "").startswith("ptokit"):
        return None
    called = owner if name == "__init__" else name
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    known = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and not p.name.startswith("_")]
    texts = [p.name if p.default is p.empty else f"[{p.name}]" for p in parameters if p.name in known]
    signature = f"{called}({', '.join(texts[:8])}{', …' if len(texts) > 8 else ''})"
    named = re.findall(r"'(\w+)'", said)
    if " missing " in said:
        return f"{signature} lacks {' and '.join(named)}", None
    if " unexpected keyword " in said:
        alike = get_close_matches(named[0], known, 3, 0.7)
        close = min(alike, key=known.index) if alike else close_names(named[0], known)
        hint = suggestion(named[0], close, python=True) if close else f"it has: {', '.join(known)}"
        return f"{called} has no parameter {named[0]}", hint
    if " multiple values " in said:
        return f"{signature} is given {named[0]} twice", None
    return f"{signature} takes no further argument", None


def said_by(error: BaseException) -> str:
    """The message of an error; "" where making it fails, too."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:  # its class is the user's
        return ""


def _other_name(name: str, frame: FrameType) -> str | None:
    variables = {**frame.f_globals, **frame.f_locals}
    package = next((key for key, value in variables.items() if _is_package(value)), "")
    known = dir(variables[package]) if package else []
    if name in known:
        return f"it is a name of ptokit: write {package}.{name}"
    if name == "pto":
        return "import ptokit as pto"
    seen = [key for key in variables if key.isidentifier() and not key.startswith("__")]
    close = close_names(name, [*seen, *(key for key in dir(builtins) if not key[0].isupper())])
    if close:
        return suggestion(name, close, python=True)
    lower = {key.lower(): key for key in reversed(known)}
    alike = get_close_matches(f"t{name.lower()}", lower, 1, 0.85) or get_close_matches(name.lower(), lower, 1, 0.85)
    prefixed = [key for key in known if key.partition("_")[2] == name]
    there = lower[alike[0]] if alike else prefixed[0] if len(prefixed) == 1 else ""
    return suggestion(name, f"{package}.{there}", python=True) if there else None


def _no_attribute(name: str, obj: Any) -> tuple[str, str | None]:
    if isinstance(obj, NoArithmetic):
        message = f"a tile has no {name}"
        if name in _OF_TILES:
            return message, _OF_TILES[name].format(obj._named())
    elif isinstance(obj, EnumMeta):
        close = close_names(name, list(obj.__members__))
        members = ", ".join(obj.__members__)
        return f"{obj.__name__} has no {name}", suggestion(name, close, python=True) if close else f"it has: {members}"
    elif isinstance(obj, ModuleType):
        message = f"module {obj.__name__} has no {name}"
    else:
        kind = obj.__name__ if isinstance(obj, type) else type(obj).__name__
        message = f"{kind} has no {name}"
    close = close_names(name, [key for key in dir(obj) if not key.startswith("_")])
    return message, suggestion(name, close, python=True) if close else None


def _is_package(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in ("ptokit", "ptokit.lang")


def close_names(name: str, known: Iterable[str]) -> str:
    """The name that is meant by one which is not there: spelled nearly so, or with other capitals; "" without one."""
    names = sorted(set(known))
    same = [key for key in names if key.lower() == name.lower()]
    if same:
        return same[0]
    close = get_close_matches(name, names, 1, 0.7)
    if close:
        return close[0]
    prefixed = [key for key in names if key.partition("_")[2] == name]
    if len(prefixed) == 1:
        return prefixed[0]  # PIPE_V
    lower = {key.lower(): key for key in reversed(names)}
    found = get_close_matches(name.lower(), lower, 1, 0.7) or get_close_matches("t" + name.lower(), lower, 1, 0.85)
    if not found:
        found = [key for key in lower if len(key) >= 3 and name.lower().startswith(key)]
    return lower[found[0]] if found else ""
