"""Arrays made on the command line: ``zeros``, ``ones``, ``full``, ``arange``, ``random``, ``uninit``.

``random`` draws floats uniformly from [-1, 1) and rounds them to the type, signed integers from -8 .. 7, unsigned ones
from 0 .. 15, and e8m0 scales from the powers of two 2^-3 .. 2^3. The generator is NumPy's ``default_rng(seed)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from ptokit.types.dtypes import DTYPES, DType, dtype, is_dtype

Make = Callable[[], np.ndarray]


class ArgumentSyntaxError(ValueError):
    """Text that the grammar does not have; a usage error."""


def parse_number(text: str) -> int | float | bool | None:
    """The number `text` stands for: decimal, hexadecimal, float, ``true`` or ``false``; None if it is none."""
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
    from ptokit.types.codecs import encode, pack_nibbles

    codes = encode(element, values, saturate=False)
    return pack_nibbles(codes.reshape(-1)) if element.packed else codes
