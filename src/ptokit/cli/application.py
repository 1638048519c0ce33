"""How every command reads its options.

typer has them checked by a library that takes a tenth of a second to import; others still are. Where its parameters do
not look as they do here, it does that for all of them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from copy import copy
from enum import Enum
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from ptokit.api.errors import UsageError

# Values of options that are right as they are: text, and what is absent.


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


# How every command reads its options.


F = TypeVar("F", bound=Callable[..., Any])


class Command(TyperCommand):
    """Takes an option once, unless it is one to be repeated: of two values the first would go unheard."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        take_as_given(self.get_params(ctx))
        valued = {name: p for p in self.params if isinstance(p, TyperOption) and not p.is_flag for name in p.opts}
        given: set[str | None] = set()
        words = iter(args)
        for word in words:
            option = valued.get(word.partition("=")[0])
            if word == "--":
                break
            if option is None:
                continue
            if option.name in given and not option.multiple:
                raise typer.BadParameter("it is given twice.", param_hint=max(option.opts, key=len))
            given.add(option.name)
            if "=" not in word:
                next(words, None)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Wrong usage of the library is wrong usage of the command, by the name of the option."""
        try:
            return super().invoke(ctx)
        except UsageError as error:
            words = {p.name: p for p in self.params}
            parameter = words.get(error.parameter) or words.get(f"{error.parameter}s")
            hint = parameter.metavar if isinstance(parameter, TyperArgument) else None
            raise typer.BadParameter(str(error), ctx, param_hint=hint or _option(error.parameter)) from None


def _option(parameter: str) -> str:
    """The option of a parameter of the library."""
    return "--" + {"form": "to", "watch": "dump"}.get(parameter, parameter).replace("_", "-")


class Commands(TyperGroup):
    """Says of a wrong value only what is wrong with it, without the words of the library that checks it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        take_as_given(self.get_params(ctx))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


class Application(typer.Typer):
    """All commands read their options in the same way.

    Where a process names one, only that is built: the options of all take a tenth of a small run.
    """

    def __call__(self, *args: Any, **named: Any) -> Any:
        word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
        meant = [c for c in self.registered_commands if c.callback is not None and c.callback.__name__ == word]
        if not meant:
            return super().__call__(*args, **named)
        one = copy(self)
        one.registered_commands = meant
        return typer.Typer.__call__(one, *args, **named)

    def command(self, *args: Any, **named: Any) -> Callable[[F], F]:  # type: ignore[override]
        return super().command(*args, **{"cls": Command, **named})
