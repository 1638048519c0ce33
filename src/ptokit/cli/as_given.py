"""Values of options that are right as they are: text, and what is absent.

typer has them checked by a library that takes a tenth of a second to import; others still are. Where its parameters do
not look as they do here, it does that for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any


class AsGiven:
    """Stands where typer keeps what checks the values of one parameter."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value, checked where there is something to check. Raises `typer.BadParameter`."""
        many = param.multiple or param.nargs == -1
        wanted = param.type_descriptor.annotation
        if value is None:
            return () if many else None
        if wanted is str and isinstance(value, str):
            return value
        if wanted == list[str] and isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value):
            return list(value)
        if isinstance(wanted, type) and issubclass(wanted, (Enum, int)) and isinstance(value, wanted):
            return value  # a default: what was given is text
        param._runtime_param = None  # typer's own
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def take_as_given(params: Iterable[Any]) -> None:
    """Let these parameters take text as it is."""
    for param in params:
        found = getattr(param, "type_descriptor", None)
        if hasattr(param, "_runtime_param") and found is not None and not (found.is_path or found.is_file):
            param._runtime_param = AsGiven()
