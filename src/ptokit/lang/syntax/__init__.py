"""The body of a kernel function, compiled from its syntax tree.

Statements without control flow are executed by Python itself while the kernel is traced. Loops, branches and jumps are
compiled: `body` has the statements, `regions` the branches and loops of the kernel, `liveness` which variables matter
after them, `carry` how values go in and out, `expressions` what becomes of ``and``, ``or``, ``not``, ``if else`` and
calls.
"""

from .body import function, run
from .loops import static, static_range

__all__ = ["function", "run", "static", "static_range"]
