"""The ``ptokit`` command: options and help. What a command does is imported when it runs, to start quickly."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ptokit import __version__
from ptokit.diagnostics import DiagnosticError

from .application import Application, Commands
from .commands import CHECK_EPILOG, DIFF_EPILOG, RUN_EPILOG, SANITIZE_EPILOG, check, diff, run, sanitize
from .console import EXIT_ERRORS, EXIT_INTERNAL, EXIT_INTERRUPTED
from .cpp_commands import KERNELS_EPILOG, REPLAY_EPILOG, kernels, replay
from .more_commands import (
    CAMPAIGN_EPILOG,
    CONFORMANCE_EPILOG,
    DOCS_EPILOG,
    LSP_EPILOG,
    campaign,
    conformance,
    docs,
    lsp,
)
from .reference_commands import (
    EXPLAIN_EPILOG,
    ISA_EPILOG,
    LAYOUT_EPILOG,
    TARGETS_EPILOG,
    explain,
    isa,
    layout,
    targets,
)
from .text_commands import CONVERT_EPILOG, FMT_EPILOG, convert, fmt

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
    *((run, RUN_EPILOG), (diff, DIFF_EPILOG), (sanitize, SANITIZE_EPILOG), (check, CHECK_EPILOG)),
    *((fmt, FMT_EPILOG), (convert, CONVERT_EPILOG)),
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
