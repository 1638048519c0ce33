"""``ptokit lsp``."""

from __future__ import annotations

import typer

from .load import parse_target

_MISSING = "ptokit lsp needs the packages of the extra 'lsp': pip install 'ptokit[lsp]'\n"


def serve(target_name: str | None, port: int | None) -> bool:
    """Serve an editor over stdin and stdout, or over a local TCP port, until it leaves.

    False without pygls, and if the editor did not ask for the end before it left.
    """
    target = parse_target(target_name)
    try:
        from ptokit.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        typer.echo(_MISSING, err=True, nl=False)
        return False
    server = make_server(target)
    if port is None:
        server.start_io()
    else:
        server.start_tcp("127.0.0.1", port)
    return server.asked_to_end
