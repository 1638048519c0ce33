"""Rules of kernels in C++: what is needed to compile one, and what can be lifted from it."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Note, Rule, Scope, define


def _rule(id: str, what: str, why: str, example: str) -> Rule:
    unrun = "a compiler for C++ need not be there"
    return define(id, what, scope=Scope.RUN, why=why, example=example, unrun=unrun)


COMPILER = _rule(
    "CPP-COMPILER",
    "Kernels in C++ need clang, version 15 or later.",
    "Templates, constants and overloads of C++ are decided by a compiler; ptokit reads what it makes of them.",
    "{pip install ptokit[cpp]|PTOKIT_CXX=g++ ptokit check kernel.cpp}",
)
COMPILE = _rule(
    "CPP-COMPILE",
    "The compiler accepts the file, together with ptokit's headers.",
    "What it refuses has no meaning that could be checked. The message is the compiler's own.",
    "{TADD(dst, src0, src1);|TADDD(dst, src0, src1);}",
)
INCLUDE = _rule(
    "CPP-INCLUDE",
    "Every header that the file includes is there.",
    "ptokit has headers for the PTO instructions only. Others are found with -I.",
    '{#include <pto/pto-inst.hpp>|#include "kernel_operator.h"}',
)
LIMIT = _rule(
    "CPP-LIMIT",
    "Compiling a file ends in time, and with the memory that it may have.",
    "Templates can make a compiler work without end. PTOKIT_CXX_SECONDS and PTOKIT_CXX_BYTES say how much it may take.",
    "{template <int N> struct F { static constexpr int v = F<N - 1>::v; }; "
    "template <> struct F<0> { ... };|constexpr int n = [] { int i = 0; while (true) i++; return i; }();}",
)
KERNEL = _rule(
    "CPP-KERNEL",
    "A file has a kernel, a function that is __global__; a template is named with its arguments.",
    "A template is no function before it has arguments, and only functions can be run.",
    "{ptokit check kernel.cpp --entry 'Add<float, 64>'|ptokit check kernel.cpp    # whose only kernel is a "
    "template that it does not instantiate}",
)
POINTER = _rule(
    "CPP-POINTER",
    "A pointer to global memory points into one argument of the kernel, which is known when it is compiled.",
    "A view has its memory in its place in the program; sizes and offsets may change from run to run, the array not.",
    "{GlobalTensor<...> in(i & 1 ? x + n : x);|GlobalTensor<...> in(i & 1 ? y : x);}",
)
MEMORY = _rule(
    "CPP-MEMORY",
    "A local array holds numbers, each read with the size with which it was written.",
    "Numbers of local arrays are kept as numbers, not as bytes.",
    "{int order[4] = {3, 1, 0, 2};|memcpy(bytes, &number, 4); use(bytes[1]);}",
)
CALL = _rule(
    "CPP-CALL",
    "A kernel calls instructions, and functions whose bodies the compiler can put in their place.",
    "A function that is only declared, calls itself, or is called through a pointer has no operations to look at.",
    "{AICORE inline void step(Tile& t) { ... }|int f(int n) { return n ? f(n - 1) : 0; }}",
)
OPERANDS = _rule(
    "CPP-OPERANDS",
    "A call has the operands and options that the instruction takes.",
    "ptokit's headers take any operands in a call; the instruction table says which there are.",
    "{TADD(dst, src0, src1);|TADD(dst, src0);}",
)
OPTION = _rule(
    "CPP-OPTION",
    "Options of an instruction, and the types of its tiles, are known when it is compiled.",
    "They choose what the instruction is.",
    "{TCVT(dst, src, RoundMode::CAST_RINT);|TCVT(dst, src, n ? RoundMode::CAST_RINT : RoundMode::CAST_FLOOR);}",
)
ASSEMBLY = _rule(
    "CPP-ASM",
    "A kernel has no inline assembly and no intrinsics of a processor.",
    "What the assembly of one device does cannot be told from its text.",
    '{get_sys_cnt()|asm volatile("MOV %0, SYS_CNT" : "=l"(t));}',
)

WRITE = _rule(
    "CPP-WRITE",
    "What is written as C++ has a counterpart there: instructions of tiles, flags, numbers, loops and branches.",
    "The file compiles against the headers of the PTO library, whose calls are the only ones it may have.",
    "{pto.trowsum ins(%x, %tmp : !t, !t) outs(%y : !c)|pto.trowsum ins(%x : !t) outs(%y : !c)}    # written with "
    "ptokit convert --to cpp",
)

REPLAY = _rule(
    "CPP-REPLAY",
    "A suite to replay has a host program, kernels and the data that its tests read.",
    "Its own host program, script and comparison decide whether a test passes.",
    "{ptokit replay tests/npu/a5/src/st/testcase/tadd --target a5|ptokit replay tests/npu/a5/src/st/testcase}",
)


def refusal(
    rule: Rule, message: str, place: Location, hint: str | None = None, notes: tuple[Note, ...] = ()
) -> DiagnosticError:
    """The error to raise for one finding."""
    return DiagnosticError(Diagnostic(rule.id, rule.severity, message, place, hint, notes))


class Unliftable(Exception):
    """What has no operation, before its place is known: a rule, a message and a hint."""

    def __init__(self, rule: Rule, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.hint = rule, message, hint
