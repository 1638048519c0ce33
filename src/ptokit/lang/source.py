"""The source of functions as syntax trees: the text that was imported, also where its file has been edited since.

The texts of files are kept when a kernel is decorated. A text is that of a function only if it compiles to the code
that the function has: neither an edited file nor another text of the same name is taken for it.
"""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from copy import deepcopy
from functools import lru_cache, reduce, update_wrapper
from inspect import Signature, signature
from itertools import count
from operator import or_
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ptokit.diagnostics import DiagnosticError, Location
from ptokit.diagnostics.finding import keep_text

from . import rules
from .rules import refusal

_SESSIONS = ("<ipython-input-", "<python-input-", "<stdin>")
_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {sys.prefix + "/lib"}
)
_FUTURE = reduce(or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_PACKAGE = __name__.partition(".")[0]

MOST_TEXTS = 16
"""Texts of one file that are kept: it may be edited and imported again many times."""

Definition = tuple[ast.FunctionDef, str]
"""A statement that defines a function, and the name of the innermost class around it, or ""."""


class _Text:
    """One text of a file."""

    def __init__(self, file: str, text: str, lines: list[str]) -> None:
        self.file, self.text, self.lines = file, text, lines
        self._tree: ast.Module | None = None
        self._found: dict[tuple[str, int], list[Definition]] = {}
        self._codes: dict[tuple[int, bool], dict[tuple[str, int], list[CodeType]]] = {}

    def function(self, code: CodeType) -> Definition | None:
        """The definition of a function; None if it is not in this text."""
        return next((found for found, made in self._candidates(code, bare=False) if made == code), None)

    def rewritten(self, code: CodeType) -> Definition | None:
        """The same for code that something has rewritten, as pytest does assertions: it has all that is written."""
        return next((found for found, made in self._candidates(code, bare=True) if _words(made) <= _words(code)), None)

    def _candidates(self, code: CodeType, *, bare: bool) -> Iterator[tuple[Definition, CodeType]]:
        """The functions of this name in this line, with the code that the text gives; ``bare``: without assertions."""
        self._parse()
        key = code.co_name, code.co_firstlineno
        if key in self._found:
            yield from zip(self._found[key], self._compiled(code.co_flags & _FUTURE, bare).get(key, ()))

    def _parse(self) -> None:
        if self._tree is not None:
            return
        try:
            self._tree = ast.parse(self.text)
        except (SyntaxError, ValueError):
            self._tree = ast.Module([], [])
        for node, around in _functions(self._tree, ""):
            self._found.setdefault((node.name, first_line(node)), []).append((node, around))

    def _compiled(self, flags: int, bare: bool) -> dict[tuple[str, int], list[CodeType]]:
        """The code of all functions."""
        known = self._codes.get((flags, bare))
        if known is None:
            assert self._tree is not None
            tree = _WithoutAssertions().visit(deepcopy(self._tree)) if bare else self._tree
            known = self._codes[flags, bare] = {}
            for code in _codes(compile(tree, self.file, "exec", flags, dont_inherit=True)):
                known.setdefault((code.co_name, code.co_firstlineno), []).append(code)
        return known


_TEXTS: dict[str, list[_Text]] = {}


def _now(file: str, variables: dict[str, Any] | None = None) -> _Text | None:
    """The text that a file has now; None if it cannot be read."""
    linecache.checkcache(file)
    lines = linecache.getlines(file, variables)
    if not lines:
        return None
    kept = _TEXTS.setdefault(file, [])
    found = next((text for text in kept if text.lines is lines), None)
    if found is None:
        text = "".join(lines)
        found = next((each for each in kept if each.text == text), None)
    if found is None:
        found = _Text(file, text, lines)
        kept.append(found)
        del kept[:-MOST_TEXTS]
    return found


_SEEN: dict[str, Any] = {}
"""The files of modules whose texts have been kept, each with the import it was kept for."""


def keep(function: FunctionType) -> None:
    """Keep the text of a function, and those of the user's modules that its module names, as they are now."""
    _now(function.__code__.co_filename, function.__globals__)
    pending = [function.__globals__]
    while pending:
        for module in _modules_named(pending.pop()):
            file, spec = module.get("__file__"), module.get("__spec__")
            if spec is not None and isinstance(file, str) and _SEEN.get(file) is not spec and is_own(module):
                _SEEN[file] = spec
                _now(file, module)
                pending.append(module)


def _modules_named(variables: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The variables of the modules that variables are, or whose functions, classes and objects they are."""
    names: set[str] = set()
    for value in list(variables.values()):
        if isinstance(value, ModuleType):
            yield vars(value)
        else:
            names.add(str((value if isinstance(value, FunctionType | type) else type(value)).__module__))
    yield from (vars(sys.modules[name]) for name in names if name in sys.modules)


def is_own(variables: Mapping[str, Any]) -> bool:
    """True for the variables of a module of the user's, that is neither Python's, nor installed, nor this package."""
    file = variables.get("__file__")
    if (variables.get("__name__") or "").partition(".")[0] == _PACKAGE:
        return False
    return not is_library_file(file) if isinstance(file, str) else variables.get("__spec__") is None


def is_library_file(file: str) -> bool:
    """True for files of Python itself and of installed packages, and for code that no file has."""
    return (file.startswith("<") and not file.startswith(_SESSIONS)) or file.startswith(_LIBRARIES)


def is_installed(file: str) -> bool:
    """True for files of Python itself and of installed packages."""
    return file.startswith((*_LIBRARIES, "<frozen "))


def tree_of(code: CodeType) -> ast.Module | None:
    """The statement that defines a function; None if its source cannot be read."""
    try:
        found = definition_of(code)
    except DiagnosticError:
        return None
    return None if found is None else ast.Module([found[0]], [])


def definition_of(code: CodeType) -> Definition | None:
    """The definition of a function as it was imported; None if its source cannot be read.

    Raises `DiagnosticError` (LANG-CONTROL) if its file has been edited since, and the text from before is not known.
    """
    known = _KNOWN.get((code, code.co_filename))
    return _definition_of(code, code.co_filename) if known is None else known


_KNOWN: dict[tuple[CodeType, str], Definition] = {}


def made_of(code: CodeType, definition: Definition | None) -> None:
    """Say that code has been made of this definition, which no text would give."""
    if definition is not None:
        _KNOWN[code, code.co_filename] = definition


@lru_cache(maxsize=1024)
def _definition_of(code: CodeType, file: str) -> Definition | None:  # codes of two files may be equal
    now = _now(file)
    texts = list(reversed(_TEXTS.get(file, [])))
    for look in (_Text.function, _Text.rewritten):
        for text in texts:
            found = look(text, code)
            if found is not None:
                return found
    if now is None or code.co_name.startswith("<"):
        return None
    raise refusal(
        rules.CONTROL,
        f"the source of {code.co_name} has changed since it was imported",
        location=Location(file, code.co_firstlineno),
        hint="import it again: a kernel is compiled from the source of what is imported",
    )


def with_text(function: FunctionType, text: str) -> FunctionType:
    """A function as another text of its file has it, which must have the same functions. The text gets a name."""
    old = function.__code__
    stem, dot, end = old.co_filename.rpartition(".")
    file = next(
        name for k in count() if (name := f"{stem or end}[{k}]{dot}{end if stem else '.py'}") not in linecache.cache
    )
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    keep_text(file, text)
    codes = _codes(compile(text, file, "exec", old.co_flags & _FUTURE, dont_inherit=True))
    code = next(code for code in codes if code.co_qualname == old.co_qualname)
    made = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    made.__kwdefaults__ = function.__kwdefaults__
    update_wrapper(made, function)
    return made


def parameters_of(function: FunctionType) -> Signature:
    """The parameters of the code that a call runs; a wrapper may name another function as the one that it wraps."""
    bare = FunctionType(function.__code__, {}, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__ = function.__kwdefaults__
    return signature(bare)


def first_line(node: ast.FunctionDef) -> int:
    """The line in which a function begins, as its code says: that of the first decorator."""
    return min([node.lineno, *(n.lineno for n in node.decorator_list)])


class _WithoutAssertions(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return ast.copy_location(ast.Pass(), node)


def _functions(node: ast.AST, around: str) -> Iterator[Definition]:
    """All functions in a tree, in the order in which they stand, each with the innermost class around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield child, around
        yield from _functions(child, child.name if isinstance(child, ast.ClassDef) else around)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner
            yield from _codes(inner)


def _words(code: CodeType) -> set[tuple[str, str]]:
    """The names and constants in a function, and in functions inside of it."""
    names = {*code.co_names, *code.co_varnames, *code.co_freevars, *code.co_cellvars}
    found = {("name", name) for name in names}
    found |= {("constant", repr(c)) for c in code.co_consts if not isinstance(c, CodeType)}
    return found.union(*(_words(c) for c in code.co_consts if isinstance(c, CodeType)))
