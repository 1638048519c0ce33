"""One operation on registers as a line of text, and whole programs around it.

``$f32`` stands for a vector register of f32, ``$b32`` for a predicate; ``%a``, ``%b``, ``%c`` are registers or pointers
to the unified buffer, ``%m``, ``%n``, ``%o``, ``%q`` predicates, ``%s`` a number.
"""

from __future__ import annotations

import re

from ptokit.types.dtypes import dtype

_SHORT = re.compile(r"\$(\w+)")
_NUMBERS = {"index": "1", "i64": "1", "i32": "5", "i16": "3", "i8": "7", "f16": "1.5", "bf16": "1.5", "f32": "1.5"}
SOURCES = ("%a", "%b", "%c")


def spelled(line: str) -> str:
    """The line with its types written out."""

    def type_of(found: re.Match[str]) -> str:
        word = found[1]
        if word in ("b8", "b16", "b32"):
            return f"!pto.mask<{word}>"
        return f"!pto.vreg<{256 // dtype(word).size}x{word}>"

    return _SHORT.sub(type_of, line)


def split(line: str) -> tuple[list[str], list[str], list[str]]:
    """Names of the results, types of the operands, types of the results."""
    names = re.findall(r"%\w+", line.split(" = ")[0]) if " = " in line else []
    _, _, types = line.rpartition(" : ")
    sources, _, results = types.rpartition(" -> ")
    if not sources and names:
        sources, results = ("", types) if "->" not in types else (sources, results)
    return names, [t for t in sources.split(", ") if t], [t for t in results.split(", ") if t]


def operands(line: str) -> dict[str, str]:
    """The type of every named operand."""
    body = re.sub(r"^%.*? = ", "", line).rpartition(" : ")[0]
    body = re.sub(r'\{[^}]*\}|"[^"]*"', "", body)
    names = re.findall(r"%\w+", body)
    types = split(line)[1]
    return dict(zip(names, types)) | dict.fromkeys(names[len(types) :], "index")


def program(line: str) -> str:
    """A kernel that loads the operands of the line from %in and stores its results to %out, 256 bytes each.

    Registers and predicates lie in %in in their order as operands.
    """
    line = spelled(line)
    head = [
        "func.func @one(%in: !pto.ptr<ui8, gm>, %out: !pto.ptr<ui8, gm>) {",
        "  %z = arith.constant 0 : i64",
        "  %one = arith.constant 1 : i64",
        "  %size = arith.constant 2048 : i64",
        "  %at = arith.constant 4096 : i64",
        "  %ub = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>",
        "  %res = pto.castptr %at : i64 -> !pto.ptr<ui8, ub>",
        "  pto.mte_gm_ub %in, %ub, %z, %size nburst(%one, %size, %size)"
        " : !pto.ptr<ui8, gm>, !pto.ptr<ui8, ub>, i64, i64, i64, i64, i64",
    ]
    body = []
    place = 0
    for name, type in operands(line).items():
        if type.startswith(("!pto.vreg", "!pto.mask")):
            body.append(f"    %k{place} = arith.constant {256 * place} : index")
            if type.startswith("!pto.mask"):
                body.append(f'    {name} = pto.plds %ub[%k{place}], "NORM" : !pto.ptr<ui8, ub>, index -> {type}')
            else:
                element = type[type.index("x") + 1 : -1]
                body.append(f"    %p{place} = pto.addptr %ub, %k{place} : !pto.ptr<ui8, ub> -> !pto.ptr<ui8, ub>")
                body.append(f"    %w{place} = pto.castptr %p{place} : !pto.ptr<ui8, ub> -> !pto.ptr<{element}, ub>")
                body.append(f"    {name} = pto.vlds %w{place} : !pto.ptr<{element}, ub> -> {type}")
            place += 1
        else:
            head.append(f"  {name} = arith.constant {_NUMBERS[type]} : {type}")
    body.append(f"    {line}")
    names, _, results = split(line)
    for i, (name, type) in enumerate(zip(names, results)):
        body.append(f"    %r{i} = arith.constant {256 * i} : index")
        if type.startswith("!pto.mask"):
            body.append(f'    pto.psts {name}, %res[%r{i}], "NORM" : {type}, !pto.ptr<ui8, ub>, index')
        elif type.startswith("!pto.vreg"):
            element = type[type.index("x") + 1 : -1]
            body.append(f"    %x{i} = pto.addptr %res, %r{i} : !pto.ptr<ui8, ub> -> !pto.ptr<ui8, ub>")
            body.append(f"    %y{i} = pto.castptr %x{i} : !pto.ptr<ui8, ub> -> !pto.ptr<{element}, ub>")
            body.append(f"    pto.vsts {name}, %y{i} : {type}, !pto.ptr<{element}, ub>")
        else:
            body.append(f"    %x{i} = arith.constant {256 * i // 4} : index")
            body.append("    %words = pto.castptr %res : !pto.ptr<ui8, ub> -> !pto.ptr<i32, ub>")
            body.append(f"    pto.store_scalar {name}, %words[%x{i}] : !pto.ptr<i32, ub>, i32")
    end = [
        "  pto.mte_ub_gm %res, %out, %size nburst(%one, %size, %size)"
        " : !pto.ptr<ui8, ub>, !pto.ptr<ui8, gm>, i64, i64, i64, i64",
        "  pto.barrier #pto.pipe<PIPE_ALL>",
    ]
    return "\n".join([*head, "  pto.vecscope {", *body, "  }", *end, "  return", "}", ""])
