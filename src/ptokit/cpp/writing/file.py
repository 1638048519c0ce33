"""A whole file of C++: functions and kernels of a module, with what builds and launches them."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.diagnostics import Location
from ptokit.ir import Function, Module, Op
from ptokit.ir.control import is_call
from ptokit.ir.launch import launch_of, with_reached
from ptokit.isa.table import BY_OPERATION
from ptokit.run.program import choose_entry
from ptokit.targets import A5, Target
from ptokit.types.enums import Pipe
from ptokit.types.values import Ptr

from ..rules import WRITE, refusal
from .body import GUARDS, INDENT, Names, Shared, function_name
from .function import Writer, parameter
from .numbers import FUNCTIONS, ctype

_ARCH = {"vector": "vec", "cube": "cube", "": ""}


def cpp_text(module: Module, target: Target, entry: str | None = None) -> str:
    """The kernels of a module, or one of them, as a file of C++.

    It compiles against the headers of the PTO library for the target, and against ptokit's own. Raises
    `DiagnosticError` for what C++ does not have (CPP-WRITE), and for a kernel that there is not (RUN-ENTRY).
    """
    marked = [f for f in module.entries() if f.is_entry or len(module.entries()) == 1]
    kernels = [choose_entry(module, entry)] if entry is not None or not marked else marked
    return _File(module, target, kernels).text()


class _File:
    def __init__(self, module: Module, target: Target, kernels: Sequence[Function]) -> None:
        self.target, self.kernels = target, kernels
        if not target.is_device:
            raise refusal(
                WRITE,
                f"C++ is written for a device, and the target is {target.name}",
                Location(module.file),
                "name one with --target",
            )
        self.launches = {kernel: launch_of(with_reached(module, kernel), kernel, target) for kernel in kernels}
        reached = [f for kernel in kernels for f in with_reached(module, kernel).functions]
        self.functions = [f for f in dict.fromkeys(reached) if f.body is not None]
        places = [op.get("addr") is not None for op in self._ops() if op.name in ("pto.alloc_tile",)]
        self.auto = bool(places) and not any(places)
        self.names = Names()
        self.names.taken |= {function_name(f.name) for f in self.functions}
        whole = Module(self.functions, module.attrs, file=module.file)
        self.shared = Shared(whole, target, not self.auto, self.names)

    def _ops(self) -> Sequence[Op]:
        return [op for f in self.functions if f.body is not None for op in f.body.walk()]

    def text(self) -> str:
        """The whole file."""
        bodies = [line for function in self._in_order() for line in self._function(function)]
        launchers = [line for kernel in self.kernels for line in self._launcher(kernel)]
        lines = self._head(signals=any(" comm::" in line for line in bodies))
        for name in FUNCTIONS:
            if name in self.shared.used:
                lines += [*FUNCTIONS[name].split("\n"), ""]
        lines += [f"using {alias} = {full};" for full, alias in self.shared.aliases.items()]
        lines += [""] * bool(self.shared.aliases)
        return "\n".join([*lines, *bodies, *launchers]).rstrip("\n") + "\n"

    def _in_order(self) -> list[Function]:
        """Functions, each after those that it calls."""
        by_name = {f.name: f for f in self.functions}
        found: dict[Function, None] = {}

        def add(function: Function) -> None:
            if function in found or function.body is None:
                return
            for op in function.body.walk():
                if is_call(op) and op.attrs["callee"] in by_name:
                    add(by_name[op.attrs["callee"]])
            found[function] = None

        for function in self.functions:
            add(function)
        return list(found)

    def _function(self, function: Function) -> list[str]:
        kernel = function in self.kernels
        own = self.launches[function].mixed if kernel else False
        writer = Writer(self.shared, function, function.core)
        writer.only = self.launches[function].only if own else {}
        body = writer.write()
        parameters = ", ".join(parameter(writer, p) for p in function.params)
        name = function_name(function.name)
        result = "void"
        if function.results:
            shown = ctype(function.results[0]) if len(function.results) == 1 else None
            if shown is None:
                message = f"@{function.name} returns {', '.join(map(str, function.results))}"
                raise refusal(WRITE, message, function.location, "return one number, or write through a pointer")
            result = shown
        head = 'extern "C" __global__ AICORE void' if kernel else f"AICORE inline {result}"
        lines = [f"{head} {name}({parameters}) {{", *body, "}"]
        if function.core and not kernel:
            lines = [f"#if defined({GUARDS[function.core]})", *lines, "#endif"]
        return [*lines, ""]

    def _head(self, *, signals: bool) -> list[str]:
        names = " and ".join(f.name for f in self.kernels)
        kinds = {self._kind(kernel) for kernel in self.kernels}
        generation = "c310" if self.target.is_a(A5) else "c220"
        arch = "-".join(filter(None, (f"dav-{generation}", _ARCH[kinds.pop()] if len(kinds) == 1 else "")))
        memory = "REGISTER_BASE" if self.target.is_a(A5) else "MEMORY_BASE"
        auto = " -D__PTO_AUTO__ --cce-pto-enable --cce-pto-auto-enable" if self.auto else ""
        file = f"{function_name(self.kernels[0].name)}.cpp"
        lines = [
            f"// {names} for {self.target.name}.",
            "//",
            f"// Device:    bisheng -xcce -O2 -std=c++17 --cce-aicore-arch={arch} -D{memory}{auto} \\",
            f"//                -I $PTO_ISA/include -I $ASCEND_HOME_PATH/include -c {file}",
            f"// Simulator: clang++ -std=c++20 -ffp-contract=off -D__CPU_SIM -D__DAV_VEC__ -D__DAV_CUBE__"
            f"{' -D__PTO_AUTO__' * self.auto} \\",
            f"//                -I $PTO_ISA/include -c {file}",
            f"// ptokit:    ptokit check {file} --target {self.target.name}{' -D __PTO_AUTO__' * self.auto}",
        ]
        if self.auto:
            lines += ["//", "// Auto mode: the compiler places the tiles, and orders the pipes."]
        more = ["#include <pto/comm/pto_comm_inst.hpp>"] if signals else []
        return [*lines, "#include <pto/pto-inst.hpp>", *more, "using namespace pto;", ""]

    def _kind(self, kernel: Function) -> str:
        roles = self.launches[kernel].roles
        if len(roles) > 1:
            return ""
        if roles[0].kind:
            return roles[0].kind
        pipes = {getattr(BY_OPERATION.get(op.name), "pipe", None) for op in self._ops()}
        return "cube" if Pipe.M in pipes else "vector"

    def _launcher(self, kernel: Function) -> list[str]:
        """A function of the host that launches a kernel."""
        name = function_name(kernel.name)
        writer = Writer(self.shared, kernel)
        parameters, arguments = [], []
        for k, param in enumerate(kernel.params):
            called = writer.names.new(param.name, f"arg{k}")
            shown = ctype(param.type) or ""
            host = "void*" if isinstance(param.type, Ptr) else shown
            parameters.append(f"{host} {called}")
            arguments.append(f"({shown}){called}" if isinstance(param.type, Ptr) else called)
        inside = ", ".join(arguments)
        listed = ", ".join(["uint32_t blocks", "void* stream", *parameters])
        return [
            f'extern "C" void launch_{name}({listed}) {{',
            "#ifdef __CPU_SIM",
            f"{INDENT}(void)stream;",
            f"{INDENT}cpu_sim::EnsureRuntimeInitialized();",
            f"{INDENT}cpu_sim::runtime_config().num_cores = blocks;",
            f"{INDENT}for (uint32_t block = 0; block < blocks; block++) {{",
            f"{INDENT * 2}cpu_sim::set_execution_context(block, 0, 1);",
            f"{INDENT * 2}{name}({inside});",
            f"{INDENT}}}",
            "#else",
            f"{INDENT}{name}<<<blocks, nullptr, stream>>>({inside});",
            "#endif",
            "}",
            "",
        ]
