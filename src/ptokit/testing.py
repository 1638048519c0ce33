"""For tests of kernels: `assert_clean` fails where the sanitizer finds something, `assert_proved` without a proof."""

from __future__ import annotations

import os
import warnings as _warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from ptokit.api.prove import prove
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.render import render, summary
from ptokit.lang import kernels
from ptokit.lang.kernels import Kernel, Launcher
from ptokit.lang.params import as_array
from ptokit.prove.report import Proof
from ptokit.run.tensors import holds_memory
from ptokit.sanitize import Report, sanitize
from ptokit.sanitize.findings.race import copies
from ptokit.targets import target as find_target


class NotChecked(UserWarning):
    """The sanitizer found nothing, and there is something that it did not check."""


def assert_clean(
    kernel: Kernel | Launcher | str | os.PathLike[str],
    *args: Any,
    blocks: int | None = None,
    target: str | None = None,
    order: str = "strict",
    warnings: bool = True,
    witness: bool = False,
    entry: str | None = None,
    mode: str | None = None,
) -> Report:
    """Run a kernel under the sanitizer and return its report; fail if it has findings.

    ``kernel``: a Python kernel, one with its number of blocks (``k[8]``), or the path of a `.pto` file; ``entry``
    names its function. ``args``: as for a launch; they hold the results afterwards. ``blocks``: default 1,
    or that of the launcher. ``target``: of a Python kernel its own by default; needed for a file that names none.
    ``order``, ``witness``, ``mode``: as of `Kernel.sanitize`. ``warnings``: whether warnings count, too.

    Warns `NotChecked` where the kernel leaves the order of pipes to the compiler and ``mode`` does not say that it may:
    nobody looked at it.

    Raises `AssertionError` with the findings as the command line shows them, and `DiagnosticError` for arguments that
    cannot be used.
    """
    __tracebackhide__ = True
    if isinstance(kernel, Launcher):
        blocks, of = kernel.blocks if blocks is None else blocks, kernel.kernel
        kernel = cast(Kernel, of)
    if isinstance(kernel, Kernel):
        if target is not None:
            kernel = kernel.on(target)
        report = kernel.sanitize(*args, blocks=blocks or 1, order=order, witness=witness, mode=mode)
    else:
        more = {"order": order, "witness": witness, "entry": entry, "mode": mode}
        report = _sanitize_file(Path(kernel), args, blocks or 1, target, more)
    _fail(report, warnings=warnings)
    return report


def assert_proved(
    kernel: Kernel | str | os.PathLike[str],
    *args: Any,
    assume: Sequence[str] = (),
    blocks: int | None = None,
    target: str | None = None,
    entry: str | None = None,
) -> Proof:
    """Prove a kernel for all arguments and return the proof; fail if a claim is refuted or open.

    ``kernel``: a Python kernel, or the path of a `.pto` file; ``entry`` names its function. ``args``: of a Python
    kernel, where its annotations do not say which types it has. ``assume``: conditions of parameters and ``blocks``,
    "n % 16 == 0". ``blocks``: None for any number of them. ``target``: as for `assert_clean`.

    Raises `AssertionError` with the proof as the command line shows it, `DiagnosticError` for a program with errors,
    `UsageError` for assumptions that hold for no arguments.
    """
    __tracebackhide__ = True
    program = kernel if isinstance(kernel, Kernel) else os.fspath(kernel)
    proof = prove(program, args, target=target, entry=entry, assume=assume, blocks=blocks)
    if not proof.proved:
        raise AssertionError(str(proof))
    return proof


def _sanitize_file(path: Path, args: tuple[Any, ...], blocks: int, target: str | None, more: dict[str, Any]) -> Report:
    from ptokit.asm import read_module
    from ptokit.ir.functions import stated_target

    on = None if target is None else find_target(target)
    parsed = read_module(str(path), target=on)
    parsed.diagnostics.raise_if_errors()
    on = on or stated_target(parsed.module)
    if on is None:
        raise ValueError(f"{path} names no target: pass target=")
    return sanitize(parsed.module, on, args, blocks, **more)


def _fail(report: Report, *, warnings: bool) -> None:
    __tracebackhide__ = True
    found = [*report.errors, *(report.warnings if warnings else ())]
    if found:
        shown = Diagnostics()
        for diagnostic in found:
            shown.add(diagnostic)
        where = f"{report.name} on {report.target}, {report.blocks} block{'s' if report.blocks > 1 else ''}"
        raise AssertionError(f"{where}: {summary(found)}\n{render(shown)}")
    if not report.coverage.complete:
        _warnings.warn(f"{report.name}: {report.verdict}", NotChecked, stacklevel=3)


@contextmanager
def sanitized_launches(*, order: str = "strict", warnings: bool = True, witness: bool = False) -> Iterator[None]:
    """Every launch of a Python kernel inside runs under the sanitizer first, on copies of its arguments.

    Raises `AssertionError` at the launch, as `assert_clean` does.
    """

    def watch(kernel: Kernel, blocks: int, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        __tracebackhide__ = True
        names, values = zip(*kernel.parameters.bind(args, named).items()) if args or named else ((), ())
        arrays = [as_array(n, v) if holds_memory(v) else v for n, v in zip(names, values)]
        given = dict(zip(names, copies(arrays)))
        _fail(kernel.sanitize(blocks=blocks, order=order, witness=witness, **given), warnings=warnings)

    kernels.watchers.append(watch)
    try:
        yield
    finally:
        kernels.watchers.remove(watch)


__all__ = ["NotChecked", "assert_clean", "assert_proved", "sanitized_launches"]
