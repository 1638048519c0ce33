"""Rules that only a run can break: arguments, memory bounds, scalar arithmetic."""

from functools import partial

from ptokit.diagnostics import Scope, Severity, define

_rule = partial(define, scope=Scope.RUN)

_rule(
    "RUN-ARG-COUNT",
    "A launch gives one argument per kernel parameter.",
    why="Arguments are matched by position.",
    rejected="kernel(x, y) for @k(%x, %y, %n)",
    accepted="kernel(x, y, 64)",
)
_rule(
    "RUN-ARG-TYPE",
    "Pointer parameters take arrays, scalar parameters numbers of their kind.",
    rejected="7 for a parameter of type !pto.ptr<f32>",
    accepted="numpy.zeros(64, numpy.float32)",
)
_rule(
    "RUN-ARG-DTYPE",
    "An array has the parameter's element type, or unsigned integers of its width (raw bits).",
    why="Global memory is the caller's array itself; nothing is converted.",
    rejected="a float64 array for !pto.ptr<f32>",
    accepted="a float32 or uint32 array for !pto.ptr<f32>",
)
_rule(
    "RUN-ARG-LAYOUT",
    "An array argument is contiguous in memory (C order).",
    why="A pointer has no strides: the kernel describes shape and strides itself.",
    rejected="x[:, ::2]",
    accepted="numpy.ascontiguousarray(x[:, ::2])",
)
_rule(
    "RUN-ARG-SHAPE",
    "The array for a memref with open sizes has its rank and its stated sizes.",
    why="The sizes that the type leaves open are those of the array.",
    rejected="an array of shape (64,) for memref<?x16xf32>",
    accepted="an array of shape (4, 16)",
)
_rule(
    "RUN-ARG-READONLY",
    "An array that the kernel writes is writable.",
    rejected="an array with flags.writeable == False as the destination of TSTORE",
    accepted="y = numpy.zeros(...)",
)
_rule(
    "RUN-ARG-RANGE",
    "An integer argument fits the parameter's type.",
    rejected="1 << 40 for i32",
    accepted="1 << 30 for i32",
)
_rule(
    "RUN-RANKS",
    "A launch on several devices gives each of its ranks, 1 to 64, arguments of its own.",
    why="Every rank has global memory of its own: an array has a leading axis for the ranks, or is one of a list.",
    rejected="an array of shape (3, 64) for a launch on 4 ranks",
    accepted="an array of shape (4, 64), or a list of four arrays",
)
_rule(
    "RUN-BACKEND",
    "A backend that is named exists and can run the kernel.",
    why="Asked for by name, a backend does not give way to another one silently.",
    rejected="--backend native for a kernel whose cores wait for each other",
    accepted="--backend numpy",
)
_rule(
    "RUN-BLOCKS",
    "A launch has at least one block, and at most 2147483647: the number of a block is an int32.",
    rejected="--blocks 0",
    accepted="--blocks 1",
)
_rule(
    "RUN-ENTRY",
    "A launch names a kernel, or the file has exactly one.",
    source="assembly 2.2, 14",
    rejected="two functions, none marked pto.entry",
    accepted="--entry softmax",
)
_rule(
    "RUN-DIV-ZERO",
    "Integers of the scalar unit are not divided by zero.",
    rejected="arith.divsi %a, %c0 : index",
    accepted="arith.divsi %a, %c2 : index",
)
_rule(
    "RUN-SHIFT",
    "Scalar shifts are by 0 .. width-1 bits.",
    rejected="arith.shli %a, %c64 : i64",
    accepted="arith.shli %a, %c3 : i64",
)
_rule(
    "RUN-CONVERT",
    "A float converted to an integer is one that the type can hold, without its fraction.",
    why="MLIR leaves other results undefined.",
    rejected="arith.fptosi of NaN, or of 300.0 to i8",
    accepted="arith.fptosi of -2.5 (gives -2)",
)
_rule(
    "RUN-ASSERT",
    "The condition of cf.assert is true.",
    rejected='cf.assert %c, "n is even" where %c is false',
    accepted="the same where %c is true",
)
_rule(
    "RUN-RANGE",
    "A number of type index fits 64 bits where it is used.",
    rejected="the product of two indices of 1 << 40 as an offset that differs between blocks",
    accepted="1 << 40",
)
_rule(
    "RUN-STEP",
    "The step of scf.for is positive.",
    source="assembly 11",
    rejected="scf.for %i = %c0 to %n step %c0",
    accepted="scf.for %i = %c0 to %n step %c1",
)
_rule(
    "RUN-REGION",
    "What an instruction reads and writes lies inside its tiles.",
    why="Instructions take their extent from one operand; a smaller one would be read or written past its end.",
    rejected="TMULS(dst valid 64x32, src of 16x32)",
    accepted="operands with the same valid region",
)
define(
    "GM-OOB",
    "Transfers stay inside the argument's memory.",
    scope=Scope.SYNC,
    why="The device reads or overwrites whatever lies there.",
    source="memory-model-and-sync 10; seed: not allowed",
    rejected="a slice that ends past the array, or a tensor view larger than the array",
    accepted="sizes clipped at the edge of the tensor, with the tile's valid region to match",
)
define(
    "GM-SLICE",
    "A slice stays inside the declared shape of its tensor.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="What it reaches past a dimension is the beginning of the next row or plane: mostly a mistake, and no fault.",
    source="memory-model-and-sync 10",
    rejected="columns 8 to 24 of a 4x16 tensor, whose last row ends before the array does",
    accepted="columns 8 to 16",
)
define(
    "GM-NULL",
    "A view that is used has memory behind it.",
    scope=Scope.SYNC,
    source="memory-model-and-sync 10",
    rejected="TLOAD from a GlobalTensor without a pointer",
    accepted="TLOAD from a view of an argument",
)
_rule(
    "RUN-INDEX",
    "An index into an array on the stack, or of one of several tiles, is one that there is.",
    why="The device would read and write what lies beside it.",
    rejected="pto.local_array_get %a[%i] with %i = 4 of a !pto.local_array<4xi32>",
    accepted="%i = 3",
)
