"""The ``ptokit`` command: options and help. What a command does is imported when it runs, to start quickly.

typer has them checked by a library that takes a tenth of a second to import; others still are. Where its parameters do
not look as they do here, it does that for all of them.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable
from copy import copy
from enum import Enum
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from ptokit import __version__
from ptokit.diagnostics import DiagnosticError, UsageError

from .commands import (
    CHECK_EPILOG,
    DIFF_EPILOG,
    PROVE_EPILOG,
    RUN_EPILOG,
    SANITIZE_EPILOG,
    SYNC_EPILOG,
    check,
    diff,
    prove,
    run,
    sanitize,
    sync,
)
from .console import EXIT_ERRORS, EXIT_INTERNAL, EXIT_INTERRUPTED
from .more_commands import (
    CAMPAIGN_EPILOG,
    CONFORMANCE_EPILOG,
    DOCS_EPILOG,
    LSP_EPILOG,
    TIME_EPILOG,
    TUNE_EPILOG,
    campaign,
    conformance,
    docs,
    lsp,
    time,
    tune,
)
from .page_commands import (
    CONVERT_EPILOG,
    EXPLAIN_EPILOG,
    FMT_EPILOG,
    ISA_EPILOG,
    KERNELS_EPILOG,
    LAYOUT_EPILOG,
    REPLAY_EPILOG,
    TARGETS_EPILOG,
    convert,
    explain,
    fmt,
    isa,
    kernels,
    layout,
    replay,
    targets,
)

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


# The cyclic garbage collector while the command starts.


_OBJECTS = 150_000
"""More containers than the modules of a command have (about 95 000), all of them there to stay."""


def spare_start() -> None:
    """Put the first collection off until there are more objects than modules have; from then on all is as usual.

    Going through the modules again and again while they are loaded would take a fifth of a small run.
    """
    usual = gc.get_threshold()

    def collecting(phase: str, info: dict[str, Any]) -> None:
        gc.callbacks.remove(collecting)
        gc.set_threshold(*usual)

    gc.callbacks.append(collecting)
    gc.set_threshold(_OBJECTS, *usual[1:])


# The ``ptokit`` command: options and help. What a command does is imported when it runs, to start quickly.


_BLAS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""Products of tiles are too small for threads: waiting for one another makes them up to 100 times slower."""


app = Application(
    name="ptokit",
    cls=Commands,
    help="Write, check, run and debug PTO tile programs for Ascend NPUs on any machine.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ptokit {__version__}")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """Handled before the command: --version by its callback, --debug by `main`."""


for command, epilog in (
    *((run, RUN_EPILOG), (diff, DIFF_EPILOG), (sanitize, SANITIZE_EPILOG), (check, CHECK_EPILOG), (time, TIME_EPILOG)),
    *((tune, TUNE_EPILOG), (prove, PROVE_EPILOG), (sync, SYNC_EPILOG), (fmt, FMT_EPILOG), (convert, CONVERT_EPILOG)),
    *((isa, ISA_EPILOG), (explain, EXPLAIN_EPILOG), (targets, TARGETS_EPILOG)),
    *((layout, LAYOUT_EPILOG), (docs, DOCS_EPILOG)),
    *((kernels, KERNELS_EPILOG), (replay, REPLAY_EPILOG)),
    *((conformance, CONFORMANCE_EPILOG), (campaign, CAMPAIGN_EPILOG), (lsp, LSP_EPILOG)),
):
    app.command(epilog=epilog)(command)


def main() -> None:
    """Run the command line. Exits with 0, 1 (errors in the input), 2 (usage), 130 (interrupted) or 70 (our bug)."""
    try:
        from .console import prepare_streams, show_diagnostics, written_out

        prepare_streams()
        for library in _BLAS:  # read when NumPy is imported
            os.environ.setdefault(library, "1")
        with written_out():
            app(prog_name="ptokit")
    except DiagnosticError as error:
        show_diagnostics(error.diagnostics, error.labels)
        sys.exit(EXIT_ERRORS)
    except KeyboardInterrupt:
        sys.stderr.write("\nptokit: interrupted\n")
        sys.exit(EXIT_INTERRUPTED)
    except Exception as error:
        if "--debug" in sys.argv:
            raise
        if isinstance(error, OSError) and error.filename is not None:  # no bug: a file that cannot be used
            sys.stderr.write(f"ptokit: cannot use {str(error.filename)[:300]!a}: {error.strerror}\n")
            sys.exit(EXIT_ERRORS)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        sys.stderr.write(f"ptokit: internal error: {text[:300]}; please report it (--debug shows the traceback)\n")
        sys.exit(EXIT_INTERNAL)


if __name__ == "__main__":
    main()
