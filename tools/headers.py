"""Writes those of ptokit's C++ headers that follow from the instruction table and the enumerations.

python tools/headers.py            writes src/ptokit/cpp/headers
python tools/headers.py --check    says whether they are up to date
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from ptokit.cpp.lift.library import (
    OF_LANGUAGE,
    PIPES,
    enumerations,
    instruction_names,
    register_instructions,
    tags,
)

HEADERS = Path(__file__).parents[1] / "src" / "ptokit" / "cpp" / "headers"
MADE = "// Made by tools/headers.py.\n#pragma once\n"
LIBRARY = """
    arch_macro constants debug event fifo fixpipe kernel_meta memory pto_instr pto_instr_impl pto_tile type
    utils cpu_stub arch_capability buffer_limits tassign_check"""
"""Headers of the C++ library that kernels include by name; here one has all."""


BY_TARGET = {
    "a2a3": "MGather MScatter TAssign TLoad TQuant TSort32 TStore",
    "a5": "MGather MScatter TInsert TMov TQuant",
}
"""Headers of single instructions that kernels include by name."""

OF_CLUSTERS = "TSyncCVID TSync_Custom"
"""Headers of flags between the cores of a cluster, which each target has."""


def wrapped(items: Iterable[str]) -> str:
    """Items with commas between them, in lines of at most 120 letters."""
    lines = [""]
    for item in items:
        if len(lines[-1]) + len(item) > 112:
            lines.append("")
        lines[-1] += f"{item}, "
    return "\n".join(f"    {line.rstrip()}" for line in lines)


def enum(name: str, members: Iterable[tuple[str, int]], type: str = "int32_t", word: str = "enum class") -> str:
    """The declaration of an enumeration."""
    return f"{word} {name} : {type} {{\n{wrapped(f'{key} = {value}' for key, value in members)}\n}};"


def enumerations_header() -> str:
    """Enumerations of the language and of the library, their names as text, and the pipes of operations."""
    apart = ['#pragma push_macro("PIPE_FIX")', "#undef PIPE_FIX", '#pragma pop_macro("PIPE_FIX")']  # kernels define it
    out = [MADE, *apart[:2], enum("pipe_t", ((p.text, k) for k, p in enumerate(PIPES)), word="enum"), apart[2]]
    out += [enum(name, zip(members, range(99)), word="enum") for name, members in OF_LANGUAGE.items()]
    out.append("\nnamespace pto {")
    for name, members in enumerations().items():
        numbers = [(key, number) for key, (number, _) in members.items()]
        wide = name == "PadValue"
        numbers += [("CustomBase", 1 << 32)] if wide else []
        word = "enum" if name == "Direction" else "enum class"  # whose enumerators are numbers, too
        out.append(enum(name, numbers, "uint64_t" if wide else "int32_t", word))
    pipes = tags()
    out.append(enum("Op", [*zip(pipes, range(1000)), ("OP_COUNT", len(pipes))]))
    out.append("constexpr pipe_t pipe_of(Op op) {\n    switch (op) {")
    for pipe in dict.fromkeys(pipes.values()):
        if pipe is not None:
            cases = [f"case Op::{tag}:" for tag, its in pipes.items() if its is pipe]
            out += [f"        {case}" for case in cases] + [f"            return {pipe.text};"]
    out.append("        default:\n            return PIPE_ALL;\n    }\n}")
    named = {**{name: name for name in (*enumerations(), *OF_LANGUAGE)}, "pipe_t": "Pipe", "Op": "Op"}
    out.append('template <class E>\nconstexpr const char* enum_name() {\n    return "?";\n}')
    for name, text in named.items():
        out.append(f'template <>\nconstexpr const char* enum_name<{name}>() {{\n    return "{text}";\n}}')
    out.append("}  // namespace pto")
    return "\n".join(out) + "\n"


def instructions_header() -> str:
    """A function for every instruction."""
    lines = [f"PTOKIT_INSTRUCTION({name})" for name in instruction_names()]
    lines = [MADE + "#include <ptokit/threads.hpp>\n", *register_instructions(), "\nnamespace pto {", *lines]
    return "\n".join([*lines, "}  // namespace pto\n"])


def texts() -> dict[Path, str]:
    """All headers that are made, with their texts."""
    made = {
        HEADERS / "ptokit" / "enumerations.hpp": enumerations_header(),
        HEADERS / "ptokit" / "instructions.hpp": instructions_header(),
    }
    for name in LIBRARY.split():
        made[HEADERS / "pto" / "common" / f"{name}.hpp"] = MADE + "#include <pto/pto-inst.hpp>\n"
    for name in ("common/debug.h", "npu/kernels/Pto_prefetch.hpp"):
        made[HEADERS / "pto" / name] = MADE + "#include <pto/pto-inst.hpp>\n"
    for name in (
        "pto_comm_inst",
        "comm_types",
        "pto_comm_instr_impl",
        "async/sdma/sdma_types",
        "async/urma/urma_async_intrin",
    ):
        made[HEADERS / "pto" / "comm" / f"{name}.hpp"] = MADE + "#include <ptokit/comm.hpp>\n"
    for name in ("sdma", "urma"):
        path = HEADERS / "pto" / "comm" / "async" / name / f"{name}_workspace_manager.hpp"
        made[path] = MADE + "#include <ptokit/engines.hpp>\n"
    for target, names in BY_TARGET.items():
        for name in names.split():
            made[HEADERS / "pto" / "npu" / target / f"{name}.hpp"] = MADE + "#include <pto/pto-inst.hpp>\n"
        for name in OF_CLUSTERS.split():
            path = HEADERS / "pto" / "npu" / target / "custom" / f"{name}.hpp"
            made[path] = MADE + "#include <ptokit/clusters.hpp>\n"
    return made


def main() -> int:
    """Write the headers, or compare them."""
    check, old = "--check" in sys.argv[1:], []
    for path, text in texts().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            old.append(path)
            if not check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in old:
        print(f"{path.relative_to(HEADERS)} {'is out of date' if check else 'written'}")
    return 1 if check and old else 0


if __name__ == "__main__":
    sys.exit(main())
