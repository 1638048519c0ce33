"""The grammar of ``--arg``, arrays that it makes, and .npy files with types that NumPy has no name for.

``random`` draws floats uniformly from [-1, 1) and rounds them to the type, signed integers from -8 .. 7, unsigned ones
from 0 .. 15, and e8m0 scales from the powers of two 2^-3 .. 2^3. The generator is NumPy's ``default_rng(seed)``.

| form | argument |
|---|---|
| ``mmap:PATH.npy`` | the array in a file, read where the kernel reads it |
| ``mmap:PATH.npy:rw`` | the same; the kernel changes the file |
| ``mmap:PATH.npy:DTYPE:SHAPE`` | a new file with an array of zeros, which the kernel changes |

| form | argument |
|---|---|
| ``PATH.npy`` | the array in the file; the file itself is never modified |
| ``zeros:DTYPE:SHAPE``, ``ones:DTYPE:SHAPE`` | constant array |
| ``full:VALUE:DTYPE:SHAPE`` | array of VALUE |
| ``arange:DTYPE:SHAPE`` | 0, 1, 2, …, wrapping around where the type ends |
| ``random:DTYPE:SHAPE[:seed=N]`` | random numbers as said above; the default seed is the position |
| ``uninit:DTYPE:SHAPE`` | array for output only: the sanitizer reports reads of what the kernel has not written |
| ``mmap:PATH.npy`` … | the array stays in its file, as said above |
| ``block_idx``, ``block_num``, ``subblock_idx``, ``subblock_num`` | the number that each core has of its own |
| ``rank``, ``ranks``, ``comm`` | on several devices: the rank, how many there are, the communication context |
| ``peer:NAME:+1``, ``peer:NAME:0`` | the array that the next rank, or rank 0, has as the argument NAME |
| ``DIR{rank}/PATH.npy`` | the array in the file of each rank |
| ``17``, ``-3``, ``0x1F``, ``2.5``, ``1e-5``, ``inf``, ``true`` | number |

DTYPE is a short name of `ptokit.types.dtypes` or any other spelling of it, SHAPE is ``1024`` or ``16x64``, in elements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, UsageError, define
from ptokit.ir.launch import MOST_RANKS, Each, Peer, Query, RankQuery
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype, lanes

# Arrays made on the command line: ``zeros``, ``ones``, ``full``, ``arange``, ``random``, ``uninit``.


Make = Callable[[], np.ndarray]


class ArgumentSyntaxError(ValueError):
    """Text that the grammar does not have; a usage error."""


def parse_number(text: str) -> int | float | bool | None:
    """The number that `text` says: decimal, hexadecimal, float, ``true`` or ``false``; None if it is none."""
    if text in ("true", "false"):
        return text == "true"
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if re.fullmatch(r"0[xX][0-9a-fA-F]{1,32}", digits):
        return sign * int(digits, 16)
    if re.fullmatch(r"[0-9]{1,40}", digits):
        return sign * int(digits)
    if re.fullmatch(r"([0-9]+\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|inf|nan", digits):
        return sign * float(digits)
    return None


def _constant(value: str) -> Callable[[list[str], int], Make]:
    def read(fields: list[str], _: int) -> Make:
        return _filled(value, *dtype_and_shape(fields))

    return read


def _full(fields: list[str], _: int) -> Make:
    if len(fields) != 3:
        raise ArgumentSyntaxError("expected full:VALUE:DTYPE:SHAPE, for example full:0.5:f32:64x64")
    return _filled(fields[0], *dtype_and_shape(fields[1:]))


def _filled(text: str, element: DType, shape: tuple[int, ...]) -> Make:
    value = parse_number(text)
    if value is None:
        raise ArgumentSyntaxError(f"{text!r} is not a number")
    if element.is_integer:
        low = -(1 << (element.bits - 1)) if element.signed else 0
        high = (1 << (element.bits - 1 if element.signed else element.bits)) - 1
        if value != value or math.isinf(value) or int(value) != value or not low <= value <= high:
            raise ArgumentSyntaxError(f"{text} is not a value of {element.name} ({low} .. {high})")
        value = int(value)
    if value == 0:
        return lambda: np.zeros(stored_shape(element, shape), element.value or element.storage)
    return lambda: _encode(np.full(shape, value), element)


def _arange(fields: list[str], _: int) -> Make:
    element, shape = dtype_and_shape(fields)
    return lambda: _encode(np.arange(math.prod(shape)).reshape(shape), element)


def _random(fields: list[str], position: int) -> Make:
    seed = position
    if len(fields) == 3:
        match = re.fullmatch(r"seed=([0-9]{1,18})", fields.pop())
        if match is None:
            raise ArgumentSyntaxError("expected random:DTYPE:SHAPE:seed=N, for example random:f16:1024:seed=3")
        seed = int(match[1])
    element, shape = dtype_and_shape(fields)

    def make() -> np.ndarray:
        rng = np.random.default_rng(seed)
        if element.name == "e8m0":
            values = np.exp2(rng.integers(-3, 4, shape))
        elif element.is_float:
            values = rng.random(shape, np.float32) * np.float32(2) - np.float32(1)
        elif element.signed:
            values = rng.integers(-8, 8, shape)
        else:
            values = rng.integers(0, 16, shape)
        return _encode(values, element)

    return make


def _uninit(fields: list[str], _: int) -> Make:
    element, shape = dtype_and_shape(fields)

    def make() -> np.ndarray:
        from ptokit.sanitize import uninit

        return uninit(shape, element)

    return make


GENERATORS: dict[str, Callable[[list[str], int], Make]] = {
    "zeros": _constant("0"),
    "ones": _constant("1"),
    "full": _full,
    "arange": _arange,
    "random": _random,
    "uninit": _uninit,
}


def dtype_and_shape(fields: list[str]) -> tuple[DType, tuple[int, ...]]:
    """The element type and the sizes that ``DTYPE:SHAPE`` names. Raises `ArgumentSyntaxError`."""
    if len(fields) != 2:
        raise ArgumentSyntaxError("expected NAME:DTYPE:SHAPE, for example zeros:f32:64x64")
    spelling, sizes = fields
    if not is_dtype(spelling):
        raise ArgumentSyntaxError(f"{spelling!r} is not an element type; there are {', '.join(DTYPES)}")
    if not re.fullmatch(r"[0-9]{1,15}(x[0-9]{1,15}){0,7}", sizes):
        raise ArgumentSyntaxError(f"{sizes!r} is not a shape; write elements, such as 1024 or 16x64")
    shape = tuple(int(n) for n in sizes.split("x"))
    if math.prod(shape) * dtype(spelling).size >= 1 << 62:
        raise ArgumentSyntaxError(f"an array of shape {sizes} is larger than any memory")
    return dtype(spelling), shape


def stored_shape(element: DType, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the array that holds `shape` elements: one byte for two where the type is packed."""
    return (element.nbytes(math.prod(shape)),) if element.packed else shape


def _encode(values: np.ndarray, element: DType) -> np.ndarray:
    if element.value is not None:
        return values.astype(element.value)
    if (several := lanes(element)) is not None:  # of short vectors all numbers are equal
        codes = _encode(values, several[0])
        return np.repeat(codes[..., np.newaxis], several[1], -1).view(element.storage)[..., 0]
    from ptokit.types.codecs import encode, pack_nibbles

    codes = encode(element, values, saturate=False)
    return pack_nibbles(codes.reshape(-1)) if element.packed else codes


# The rule of files with arguments.


ARGUMENT_FILE = define(
    "CLI-01",
    "an argument file is a readable .npy array of numbers",
    scope=Scope.RUN,
    why="The kernel works on the array's elements; a pickle, an archive or a cut-off file has none to give.",
    source="docs/formats.md, Arguments",
    example="{--arg x.npy        with numpy.save('x.npy', numpy.zeros((64, 64), "
    "numpy.float32))|--arg x.npy        with a text file, an .npz archive or an array of Python objects}",
    unrun="it is about files",
)


# Arrays in .npy files, which have no names for bf16 and the 8-bit and 4-bit types.


NATIVE = frozenset(map(np.dtype, "?bhilqBHILQefd"))
"""The element types that NumPy's own files can name."""


def load_array(path: str) -> np.ndarray:
    """The array in a .npy file, as a new C-contiguous array of native byte order. Raises `DiagnosticError`."""
    # Mapping checks the size a header claims against the file before anything is allocated.
    loaded = open_array(path, "r")
    return np.array(loaded, dtype=loaded.dtype.newbyteorder("="), order="C", subok=False)


def open_array(path: str, mode: Literal["r", "r+"]) -> np.ndarray:
    """The array in a .npy file, mapped to read or to change the file. Raises `DiagnosticError`."""
    try:
        loaded = np.load(path, mmap_mode=mode, allow_pickle=False)
    except FileNotFoundError:
        raise _unusable(path, "the file does not exist") from None
    except PermissionError:
        raise _unusable(path, "no permission") from None
    except Exception as error:  # a malformed header ends in whatever NumPy's reader happens to trip over
        raise _unusable(path, f"not a usable .npy file: {_first_line(error)}") from None
    if not isinstance(loaded, np.ndarray):
        raise _unusable(path, "an .npz archive, not an .npy file")
    if loaded.dtype.kind not in "fiubV" or loaded.dtype.names is not None or loaded.dtype.subdtype is not None:
        raise _unusable(path, f"elements of type {loaded.dtype} are not numbers")
    return loaded


def as_parameter(value: Any, wanted: DType) -> Any:
    """`value` with raw unsigned integers (or NumPy voids) reinterpreted as `wanted` where NumPy lacks that type.

    Everything else is returned as it is: whether it suits the parameter is for the launch to say.
    """
    if not isinstance(value, np.ndarray) or wanted.value in NATIVE:
        return value
    raw = value.dtype == wanted.storage or (value.dtype.kind == "V" and value.dtype.itemsize == wanted.size)
    if not raw:
        return value
    return value.view(wanted.storage if wanted.value is None else wanted.value)


def portable(array: np.ndarray) -> np.ndarray:
    """`array`, or its raw unsigned integers where NumPy itself lacks the element type."""
    return array if array.dtype in NATIVE else array.view(np.dtype(f"u{array.dtype.itemsize}"))


def _unusable(path: str, why: str) -> DiagnosticError:
    message = f"argument file {path}: {why}"
    hint = "write it with numpy.save, or use a generator such as zeros:f32:64x64"
    return DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path), hint))


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


# Arrays that stay in their files: tensors larger than memory.


def mapped(text: str) -> tuple[str, bool, Callable[[], np.ndarray]]:
    """Of `text`, without ``mmap:``: the file, whether a kernel changes it, what makes the array.

    Raises `ArgumentSyntaxError`.
    """
    found = re.fullmatch(r"(.+?\.npy)(?::(rw|[^:]+:[^:]+))?", text)
    if found is None:
        raise ArgumentSyntaxError("expected mmap:PATH.npy, mmap:PATH.npy:rw or mmap:PATH.npy:DTYPE:SHAPE")
    path, rest = found[1], found[2]
    if rest in (None, "rw"):
        return path, rest == "rw", lambda: open_array(path, "r" if rest is None else "r+")
    element, shape = dtype_and_shape(rest.split(":"))
    return path, True, lambda: _create(path, np.dtype(element.value or element.storage), stored_shape(element, shape))


def _create(path: str, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    if Path(path).exists():
        message = f"argument file {path}: it exists already"
        hint = f"write mmap:{path}:rw to let the kernel change it"
        raise DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path), hint))
    stored = dtype if dtype in NATIVE else np.dtype(f"u{dtype.itemsize}")
    try:
        return np.lib.format.open_memmap(path, mode="w+", dtype=stored, shape=shape)
    except (OSError, ValueError) as error:
        message = f"argument file {path}: {getattr(error, 'strerror', None) or error}"
        raise DiagnosticError(Diagnostic(ARGUMENT_FILE.id, Severity.ERROR, message, Location(path))) from None


# The grammar of ``--arg``: what a kernel argument means that is written as text.


Value = Any  # np.ndarray, int, float, bool, Query, RankQuery, Peer or Each
_QUERIES = tuple(query.value for query in Query)
_RANK_QUERIES = tuple(query.value for query in RankQuery)


@dataclass(frozen=True)
class Argument:
    """One argument: its text, and a function that makes the value (a new one at each call).

    ``make`` raises `DiagnosticError` if a file cannot be used, `MemoryError` if an array does not fit. ``file`` is the
    file that it reads, with ``{rank}`` in its name where each rank has its own; "" where it reads none. ``changes``:
    the kernel changes the file.
    """

    text: str
    make: Callable[[], Value]
    file: str = ""
    changes: bool = False


def parse_argument(text: str, position: int) -> Argument:
    """Read one argument; `position` counts from 0. Raises `ArgumentSyntaxError`."""
    if text.startswith("mmap:"):
        path, changes, make = mapped(text.removeprefix("mmap:"))
        return Argument(text, make, path, changes)
    if text.endswith(".npy") and "{rank}" in text:
        each = Each(lambda rank: load_array(text.replace("{rank}", str(rank))))
        return Argument(text, lambda: each, text)
    if text.endswith(".npy"):
        return Argument(text, lambda: load_array(text), text)
    word, *rest = text.split(":")
    if rest and word in GENERATORS:
        return Argument(text, GENERATORS[word](rest, position))
    if text in _QUERIES:
        return Argument(text, lambda: Query(text))
    if text in _RANK_QUERIES:
        return Argument(text, lambda: RankQuery(text))
    if word == "peer":
        peer = _peer(rest)
        return Argument(text, lambda: peer)
    number = parse_number(text)
    if number is None:
        forms = [f"{name}:…" for name in (*GENERATORS, "mmap", "peer")]
        words = ", ".join([*forms, *_QUERIES, *_RANK_QUERIES])
        raise ArgumentSyntaxError(f"{text!r} is neither a number, a path that ends in .npy, nor one of {words}")
    return Argument(text, lambda: number)


def _peer(fields: list[str]) -> Peer:
    if len(fields) != 2 or not fields[0] or not re.fullmatch(r"[+-]?[0-9]{1,4}", fields[1]):
        raise ArgumentSyntaxError("expected peer:NAME:+1, the argument NAME of the next rank, or peer:NAME:0")
    name, rank = fields
    return Peer(name.removeprefix("%"), int(rank), absolute=rank[0] not in "+-")


# Arguments of a launch, as they are given: arrays, numbers, and texts.


def read_arguments(given: Sequence[Any]) -> list[Argument]:
    """The arguments, texts read and nothing made yet. Raises `UsageError` for a text that means nothing."""
    return [_read(value, position) for position, value in enumerate(given)]


def _read(value: Any, position: int) -> Argument:
    if not isinstance(value, str):
        return Argument(repr(value)[:80], lambda: value)
    try:
        return parse_argument(value, position)
    except ArgumentSyntaxError as error:
        raise UsageError(str(error), "arg") from None


def make(arguments: Sequence[Argument]) -> list[Any]:
    """Their values. Raises `UsageError` for one that does not fit into memory, `DiagnosticError` for files."""
    values = []
    for argument in arguments:
        try:
            values.append(argument.make())
        except MemoryError:
            raise UsageError(f"{argument.text} does not fit into memory.", "arg") from None
    return values


def of_ranks(values: Sequence[Any], ranks: int | None) -> list[Any]:
    """The values of a launch on that many devices, those in files of their own read, or on one device (None).

    Raises `UsageError` for what one device does not have.
    """
    if ranks is None:
        for value in values:
            if isinstance(value, RankQuery | Peer | Each):
                raise UsageError("rank, ranks, comm, peer:.. and {rank} need several devices: --ranks.", "arg")
        return list(values)
    if not 1 <= ranks <= MOST_RANKS:
        raise UsageError(f"{ranks} is not in the range 1 to {MOST_RANKS}.", "ranks")
    return [[value.of(rank) for rank in range(ranks)] if isinstance(value, Each) else value for value in values]


def copied(values: Sequence[Any]) -> list[Any]:
    """The values with memory of their own, which they share where the originals do."""
    from ptokit.run.tensors import Unusable, holds_memory, shared
    from ptokit.sanitize.findings.race import copies

    lists = [value if isinstance(value, list | tuple) else [value] for value in values]
    originals = [each for several in lists for each in several]
    with suppress(Unusable):  # the launch will say which argument it is
        originals = [shared(each) if holds_memory(each) else each for each in originals]
    known: dict[int, Any] = {}
    fresh = iter([deepcopy(old, known) if new is old else new for new, old in zip(copies(originals), originals)])
    out = [[next(fresh) for _ in several] for several in lists]
    return [new if isinstance(value, list | tuple) else new[0] for value, new in zip(values, out)]
