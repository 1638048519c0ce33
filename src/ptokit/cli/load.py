"""From a file name and ``--target`` to a checked module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ptokit.diagnostics import Diagnostics
from ptokit.targets import TARGETS, Target
from ptokit.targets import target as target_named

if TYPE_CHECKING:
    from ptokit.ir import Module

TARGET_CHOICES = ", ".join(TARGETS)


def parse_target(name: str | None) -> Target | None:
    """The value of ``--target``. A name there is not is a usage error."""
    if name is None:
        return None
    try:
        return target_named(name)
    except KeyError:
        raise typer.BadParameter(f"{name!r} is not one of {TARGET_CHOICES}.", param_hint="--target") from None


def load(
    file: str,
    wanted: Target | None,
    *,
    extended: bool = False,
    check: bool = True,
    level: int | None = None,
    auto_sync: bool = False,
    assembler: bool = False,
) -> tuple[Module, Target, Diagnostics]:
    """Read and, unless ``check`` is false, verify `file` for `wanted`, or for the target the file states.

    The diagnostics hold all that was found; errors among them mean that the module must not be used. Neither an
    option nor a statement in the file is a usage error: there is no default target. ``level``, ``auto_sync`` and
    ``assembler``: as for `ptokit.ir.verify`.
    """
    from ptokit.ir.module_target import stated_target
    from ptokit.ir.readable_functions import readable_functions
    from ptokit.ir.verify import verify

    from .inputs import parse

    result = parse(file, wanted)
    found = Diagnostics()
    for diagnostic in result.diagnostics:
        found.add(diagnostic)
    target = wanted or stated_target(result.module)
    if target is None:
        if not found.errors:
            raise typer.BadParameter(
                f"{file} states no pto.target_arch; say which target is meant: one of {TARGET_CHOICES}.",
                param_hint="--target",
            )
        return result.module, next(iter(TARGETS.values())), found
    if check:
        readable = readable_functions(result.module, found)
        for diagnostic in verify(
            result.module,
            target,
            extended=extended,
            level=level,
            auto_sync=auto_sync,
            assembler=assembler,
            functions=readable,
        ):
            found.add(diagnostic)
    return result.module, target, found
