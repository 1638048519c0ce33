"""`UNKNOWN`: a size that only the run knows.

Arithmetic on it is `UNKNOWN`; every comparison with it is false. Rules are therefore written as the condition that
*breaks* them, and pass until the value is known.
"""

from __future__ import annotations

from typing import Any


class Unknown:
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def _same(self, *_: Any) -> Unknown:
        return self

    def _false(self, _: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = _same
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _false  # type: ignore[assignment]

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()
Size = int | Unknown


def known(*values: object) -> bool:
    """True if none of the values is `UNKNOWN`."""
    return not any(isinstance(v, Unknown) for v in values)


def product(values: Any) -> Any:
    """Product that stays `UNKNOWN` if a factor is."""
    out: Any = 1
    for v in values:
        out = out * v
    return out


def least(*sizes: Size) -> Size:
    """The least of several sizes; `UNKNOWN` if one of them is."""
    return min(sizes) if known(*sizes) else UNKNOWN  # type: ignore[type-var]
