"""Rules that only a run can break: arguments, memory bounds, scalar arithmetic."""

from functools import partial

from ptokit.diagnostics import Scope, Severity, define

_rule = partial(define, scope=Scope.RUN)

_rule(
    "RUN-ARG-COUNT",
    "A launch gives one argument per kernel parameter.",
    why="Arguments are matched by position.",
    example="""
        // ptokit run --arg zeros:f32:64{| --arg 4}
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-TYPE",
    "Pointer parameters take arrays, scalar parameters numbers of their kind.",
    example="""
        // ptokit run --arg {zeros:f32:64|7}
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-DTYPE",
    "An array has the parameter's element type, or unsigned integers of its width (raw bits).",
    why="Global memory is the caller's array itself; nothing is converted.",
    example="""
        // ptokit run --arg zeros:{f32|i64}:64
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-ARG-LAYOUT",
    "An array argument is contiguous in memory (C order).",
    why="A pointer has no strides: the kernel describes shape and strides itself.",
    example="""
        @kernel(target="a5")
        def clear(x: Ptr[f32]):
            x[0] = 0.0
        x = np.zeros((4, 16), np.float32)
        clear({x|x[:, ::2]})
    """,
)
_rule(
    "RUN-ARG-SHAPE",
    "The array for a memref with open sizes has its rank and its stated sizes.",
    why="The sizes that the type leaves open are those of the array.",
    example="""
        // ptokit run --arg zeros:f32:{4x16|64}
        func.func @example(%x: memref<?x16xf32>) { return }
    """,
)
_rule(
    "RUN-ARG-READONLY",
    "An array that the kernel writes is writable.",
    example="""
        @kernel(target="a5")
        def clear(x: Ptr[f32]):
            x[0] = 0.0
        x = np.zeros(64, np.float32)
        x.flags.writeable = {True|False}
        clear(x)
    """,
)
_rule(
    "RUN-ARG-RANGE",
    "An integer argument fits the parameter's type.",
    example="""
        // ptokit run --arg {1|1099511627776}
        func.func @example(%n: i32) { return }
    """,
)
_rule(
    "RUN-RANKS",
    "A launch on several devices gives each of its ranks, 1 to 64, arguments of its own.",
    why="Every rank has global memory of its own: an array has a leading axis for the ranks, or is one of a list.",
    example="""
        // ptokit run --ranks 4 --arg zeros:f32:{4|3}x64
        func.func @example(%x: !pto.ptr<f32>) { return }
    """,
)
_rule(
    "RUN-BACKEND",
    "A backend that is named exists and can run the kernel.",
    why="Asked for by name, a backend does not give way to another one silently.",
    example="""
        # ptokit run --backend {numpy|native}
        with cube_section():
            sync.set(PIPE_FIX, 3)
        with vector_section():
            sync.wait(PIPE_V, 3)
    """,
    on="a2a3",
)
_rule(
    "RUN-BLOCKS",
    "A launch has at least one block, and at most 2147483647: the number of a block is an int32.",
    example="""
        // ptokit run --blocks {1|0}
        func.func @example() { return }
    """,
)
_rule(
    "RUN-ENTRY",
    "A launch names a kernel, or the file has exactly one.",
    source="assembly 2.2, 14",
    example="""
        func.func @first(){| attributes {pto.entry}} { return }
        func.func @second() attributes {pto.entry} { return }
    """,
)
_rule(
    "RUN-DIV-ZERO",
    "Integers of the scalar unit are not divided by zero.",
    example="n: int = {2|0}; x: Ptr[i32]; x[0] = 8 // n",
)
_rule(
    "RUN-SHIFT",
    "Scalar shifts are by 0 .. width-1 bits.",
    example="n: int = {3|64}; x: Ptr[i64]; x[0] = x[1] << n",
)
_rule(
    "RUN-CONVERT",
    "A float converted to an integer is one that the type can hold, without its fraction.",
    why="MLIR leaves other results undefined.",
    example="""
        // ptokit run --arg {100.0|300.0}
        %b = arith.fptosi %a : f32 to i8
        %c = arith.negf %a : f32
    """,
)
_rule(
    "RUN-ASSERT",
    "The condition of cf.assert is true.",
    example='n: int = {4|3}; assert n % 2 == 0, "n is even"',
)
_rule(
    "RUN-RANGE",
    "A number of type index fits 64 bits where it is used.",
    example="{1 << 40|the product of two indices of 1 << 40 as an offset that differs between blocks}",
    unrun="a guard: checks before it find such programs",
)
_rule(
    "RUN-STEP",
    "The step of scf.for is positive.",
    source="assembly 11",
    example="""
        n: int = {1|0}; x: Ptr[i32]
        for i in range(0, 4, n):
            x[i] = 1
    """,
)
_rule(
    "RUN-REGION",
    "What an instruction reads and writes lies inside its tiles.",
    why="Instructions take their extent from one operand; a smaller one would be read or written past its end.",
    example="{operands with the same valid region|TMULS(dst valid 64x32, src of 16x32)}",
    unrun="a guard: checks before it find such programs",
)
define(
    "GM-OOB",
    "Transfers stay inside the argument's memory.",
    scope=Scope.SYNC,
    why="The device reads or overwrites whatever lies there.",
    source="memory-model-and-sync 10; seed: not allowed",
    example="x: Ptr[f32]; g = GlobalTensor(x, ({512|1024}, 32)); TLOAD(Tile(Vec, f32, 16, 32), g[{496:512|1008:1024}])",
)
define(
    "GM-SLICE",
    "A slice stays inside the declared shape of its tensor.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    why="What it reaches past a dimension is the beginning of the next row or plane: mostly a mistake, and no fault.",
    source="memory-model-and-sync 10",
    example="x: Ptr[f32]; g = GlobalTensor(x, (32, 16)); TLOAD(Tile(Vec, f32, 4, {8|16}), g[0:4, 8:{16|24}])",
)
define(
    "GM-NULL",
    "A view that is used has memory.",
    scope=Scope.SYNC,
    source="memory-model-and-sync 10",
    example="{x: Ptr[f32]; |}TLOAD(Tile(Vec, f32, 16, 32), GlobalTensor({x|f32}, (16, 32)))",
)
_rule(
    "RUN-INDEX",
    "An index into an array on the stack, or of one of several tiles, is one that there is.",
    why="The device would read and write what lies beside it.",
    example="""
        // ptokit run --arg {3|4}
        %a = pto.declare_local_array -> !pto.local_array<4xi32>
        %v = pto.local_array_get %a[%i] : !pto.local_array<4xi32> -> i32
    """,
)
