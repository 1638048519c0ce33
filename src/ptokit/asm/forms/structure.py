"""How operations outside of the instruction table are written, in the notation of forms (assembly 10, 11).

Those with regions, constants, selections and switches have readers and printers of their own.
"""

from __future__ import annotations

from ptokit.isa.scalar.arithmetic import (
    ARITH_BINARY,
    ARITH_CASTS,
    ARITH_EXTENDED,
    ARITH_UNARY,
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
)

_PASSED = "<? %values* : T(values) ?>"
_PAIR = "%lhs , %rhs F {} : T(lhs,rhs)"

FORMS: dict[str, str] = {
    **dict.fromkeys(sorted(ARITH_BINARY), f"{_PAIR} R=same"),
    **dict.fromkeys(sorted(ARITH_UNARY), "%in F {} : T(in) R=same"),
    **dict.fromkeys(sorted(ARITH_CASTS), "%in F {} : T(in) to R"),
    **dict.fromkeys(sorted(ARITH_EXTENDED), f"{_PAIR} R=same R=same"),
    "arith.addui_extended": f"{_PAIR} R=same R,=truth",
    "arith.cmpi": f"W(predicate) , {_PAIR} R=truth",
    "arith.cmpf": f"W(predicate) , {_PAIR} R=truth",
    "scf.yield": _PASSED,
    "func.return": _PASSED,
    "scf.condition": f"~( %condition:i1 ) {_PASSED}",
    "func.call": "S(callee) ~( %args* ) {} : T+(args) -> R+",
    "cf.br": "J(args) {}",
    "cf.cond_br": "%condition:i1 <? weights ~( [ L(branch_weights) ] ) ?> , J(true) , J(false) {}",
    "cf.assert": "%condition:i1 , Q(msg) {}",
    "memref.alloc": "~( %sizes*:index ) {} : R",
    "memref.alloca": "~( %sizes*:index ) {} : R",
    "memref.dealloc": "%in {} : T(in)",
    "memref.reinterpret_cast": "%in to offset ~: [ M(offset) ] , sizes ~: [ M(sizes) ] , strides ~: [ M(strides) ] {} "
    ": T(in) to R",
    "memref.subview": "%in ~[ M(offsets) ] [ M(sizes) ] [ M(strides) ] {} : T(in) to R",
    "builtin.unrealized_conversion_cast": "<? %in* : T(in) ?> to R* {}",
    # of the `llvm` dialect, what texts of threads have: memory on the stack, and bits; nothing runs them
    "llvm.alloca": "%count x Y(element) {} : ( T(count) ) -> R",
    "llvm.getelementptr": "%base ~[ M!(places) ] {} : ( T(base) T?(places) ) -> R , Y(element)",
    "llvm.extractelement": "%vector ~[ %lane : T(lane) ] {} : T(vector) R=element",
    "llvm.load": "%in {} : T(in) -> R",
    "llvm.store": "%args* {} : T(args)",
    **dict.fromkeys(("llvm.bitcast", "llvm.inttoptr", "llvm.ptrtoint"), "%in {} : T(in) to R"),
}
"""By full name."""

PREDICATES = {"arith.cmpi": tuple(INTEGER_PREDICATES), "arith.cmpf": tuple(FLOAT_PREDICATES)}
