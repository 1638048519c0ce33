"""``ptokit lsp``."""

from __future__ import annotations

import logging
import sys

import typer

from ptokit.api.parts import find_target

from .console import remark

_MISSING = "ptokit lsp needs pygls and lsprotocol: pip install '.[lsp]' in a clone of ptokit\n"


def serve(target_name: str | None, port: int | None) -> bool:
    """Serve an editor over stdin and stdout, or over a local TCP port, until it leaves.

    False without pygls, and if the editor did not ask for the end before it left.
    """
    target = find_target(target_name)
    try:
        from ptokit.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        typer.echo(_MISSING, err=True, nl=False)
        return False
    logging.basicConfig(format="ptokit lsp: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_traceback)
    server = make_server(target)
    try:
        if port is not None:
            server.start_tcp("127.0.0.1", port)
        elif sys.stdin is not None:
            server.start_io()
        else:
            remark("ptokit lsp: it talks over stdin, which is closed")
    except (OverflowError, MemoryError):
        remark("ptokit lsp: the editor announces a message that no memory can hold")
    except OSError as error:
        remark(f"ptokit lsp: {error.strerror or error}")
    return server.asked_to_end


def _without_traceback(record: logging.LogRecord) -> bool:
    """The library tells the editor what went wrong, and whoever looks at stderr in one line."""
    record.exc_info = None
    return True
