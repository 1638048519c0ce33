"""Operations that are not instructions: constants, arithmetic, control flow, calls.

For each: the names of its operands in text order. Result types and text forms are in assembly section 11; how they run
is in `ptokit.run`.

| op | operands | attributes | results and regions |
|---|---|---|---|
| arith.constant | | value | 1 |
| arith.cmpi, arith.cmpf | lhs, rhs | predicate | 1 (i1) |
| arith.select | condition, true, false | | 1 |
| arith binary | lhs, rhs | | 1 |
| arith.negf, arith casts | in | | 1 |
| arith extended | lhs, rhs | | 2: sum and carry (i1), or the low and the high half of a product |
| scf.for | lower, upper, step, init (group) | | one per init; region: [iv, carried…] |
| scf.if | condition | | results; regions then, else (else may be missing) |
| scf.while | init (group) | | results; regions before (scf.condition), after |
| scf.execute_region | | | results; one region |
| scf.index_switch | index | cases (integers) | results; regions default, then one per case |
| scf.yield, func.return | values (group) | | |
| scf.condition | condition, values (group) | | |
| func.call | args (group) | callee | results |
| cf.br | args (group) | | successor |
| cf.cond_br | condition, true (group), false (group) | branch_weights | successors true, false |
| cf.switch | flag, default (group), cases (group) | values, sizes (of their groups) | successors default, cases |
| cf.assert | condition | msg | |
"""

from __future__ import annotations


def _names(prefix: str, words: str) -> frozenset[str]:
    return frozenset(f"{prefix}.{word}" for word in words.split())


ARITH_BINARY = _names(
    "arith",
    "addi subi muli divsi divui ceildivsi ceildivui floordivsi remsi remui andi ori xori shli shrsi shrui "
    "maxsi maxui minsi minui addf subf mulf divf remf maximumf minimumf maxnumf minnumf",
)
ARITH_CASTS = _names(
    "arith", "index_cast index_castui trunci extsi extui bitcast sitofp uitofp fptosi fptoui extf truncf"
)
ARITH_UNARY = _names("arith", "negf")
ARITH_EXTENDED = _names("arith", "addui_extended mulsi_extended mului_extended")
CONTROL = _names("scf", "for if while execute_region index_switch yield condition") | _names("func", "call return")

INTEGER_PREDICATES = tuple("eq ne slt sle sgt sge ult ule ugt uge".split())
FLOAT_PREDICATES = tuple("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split())
