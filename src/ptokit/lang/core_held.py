"""Values of an eager session: they carry what they stand for."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir import Block, Op, Value
from ptokit.types.values import Type


class Held(Value):
    """A value with its run-time object: a tile, a view or pointer of global memory, a Python number.

    ``session`` is the session that made it; no other one takes it. ``stated``: a number that is a constant when the
    kernel is compiled.
    """

    __slots__ = ("held", "session", "stated")

    def __init__(
        self,
        type: Type,
        name: str = "",
        owner: Op | Block | None = None,
        location: Location = UNKNOWN_LOCATION,
        called: str = "",
        *,
        session: Any,
        held: Any = None,
        stated: bool = False,
    ) -> None:
        super().__init__(type, name, owner, location, called)
        self.session = session
        self.held = held
        self.stated = stated


def held(value: Any) -> Any:
    """What a value of a session stands for; lists become tuples, None stays None."""
    if isinstance(value, list):
        return tuple(held(item) for item in value)
    return value.held if isinstance(value, Held) else None
