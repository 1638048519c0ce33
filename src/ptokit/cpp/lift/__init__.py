"""From the LLVM IR of a kernel to operations: a function of several blocks, with the same arithmetic and branches.

`function` goes through the blocks, `numbers` has scalars, `memory` pointers and local arrays, `intrinsics` what LLVM
calls, `instructions` what the headers tell. All record into a `Lifting`, a trace as that of a kernel in Python, so that
operands are bound as they are there.
"""

from .function import lift as lift
