"""From the LLVM IR of a kernel to operations: a function of several blocks, with the same arithmetic and branches.

`roots` finds what pointers may point into. `function` goes through the blocks, `numbers` has scalars, `memory` pointers
and local arrays, `library` what LLVM calls, `instructions` what the headers tell. All record into a `Lifting`, a trace
as that of a kernel in Python, so that operands are bound as they are there.
"""

from .function import lift as lift
