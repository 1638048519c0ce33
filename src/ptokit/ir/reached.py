"""What a launch has to do with: the functions that a kernel calls or launches, and the findings in them."""

from __future__ import annotations

import sys
from dataclasses import replace

from ptokit.diagnostics import Diagnostic, Diagnostics, Severity

from .control import is_call
from .core import Function, Module
from .entry_calls import imports, with_function


def with_reached(module: Module, kernel: Function) -> Module:
    """The module with `kernel` and the functions that it reaches, and no other.

    It reaches what it calls or launches, and the functions whose reserved buffers it imports.
    """
    module = with_function(module, kernel)
    names, waiting = {kernel.name}, [kernel]
    while waiting:
        function = waiting.pop()
        for name in _named(function) - names:
            names.add(name)
            found = module.function(name)
            if found is not None:
                waiting.append(found)
    return replace(module, functions=[f for f in module.functions if f.name in names])


def _named(function: Function) -> set[str]:
    ops = function.body.walk() if function.body is not None else ()
    calls = (op for op in ops if is_call(op) or op.name == "pto.simt_launch")
    return {str(op.attrs.get("callee", "")).removeprefix("@") for op in calls} | imports(function)


def found_for(module: Module, kernel: Function, found: Diagnostics) -> Diagnostics:
    """The findings in `module`, in which errors do not keep `kernel` from running where it does not reach them.

    They become warnings. An error before the first function, in a type alias for example, may concern any of them.
    """
    reached = set(map(id, with_reached(module, kernel).functions))
    starts = [(f.location.line, f.location.column) for f in module.functions]
    ends = [*starts[1:], (sys.maxsize, 0)]
    apart = [(start, end) for f, start, end in zip(module.functions, starts, ends, strict=True) if id(f) not in reached]

    def placed(finding: Diagnostic) -> Diagnostic:
        at = (finding.location.line, finding.location.column)
        elsewhere = finding.severity is Severity.ERROR and any(start <= at < end for start, end in apart)
        return replace(finding, severity=Severity.WARNING) if elsewhere else finding

    result = Diagnostics()
    result.extend(placed(finding) for finding in found)
    return result
