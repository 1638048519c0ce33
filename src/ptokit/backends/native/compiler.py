"""From LLVM text to machine code in memory."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

LEVEL = 2


@cache
def host() -> Any:
    """The machine that code is made for: this one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features(), opt=LEVEL, jit=True)


@cache
def features() -> str:
    """What this processor knows, without vectors of 512 bits."""
    found: str = llvm.get_host_cpu_features().flatten()
    return found


def has(feature: str) -> bool:
    """True if this processor knows something."""
    return bool(llvm.get_host_cpu_features().get(feature))


def identity() -> str:
    """Everything but the text that decides about the code."""
    version = ".".join(map(str, llvm.llvm_version_info))
    parts = (llvmlite.__version__, version, llvm.get_default_triple(), llvm.get_host_cpu_name(), features(), LEVEL)
    return "\n".join(map(str, parts))


def triple() -> str:
    found: str = llvm.get_default_triple()
    return found


def object_code(text: str) -> bytes:
    """Machine code for a module. Raises `RuntimeError` if LLVM refuses the text."""
    machine = host()
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=LEVEL)
    options.loop_vectorization = False  # vectors are written as such
    options.slp_vectorization = False
    options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    manager = builder.getModulePassManager()
    manager.run(module, builder)
    code: bytes = machine.emit_object(module)
    return code


class Loaded:
    """Machine code in memory, as long as the object lives. ``call(state, first, last, arguments)``."""

    def __init__(self, code: bytes) -> None:
        empty = llvm.parse_assembly(f'target triple = "{triple()}"')
        self._engine = llvm.create_mcjit_compiler(empty, host_copy())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.call = self._function("run")
        self.scan = self._function("scan")

    def _function(self, name: str) -> Any:
        """A function of the code; calling it does nothing but fail where there is none."""
        signature = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
        return signature(self._engine.get_function_address(f"ptokit_{name}"))


def host_copy() -> Any:
    """A machine of its own for an engine, which takes possession of it."""
    host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features(), opt=LEVEL, jit=True)
