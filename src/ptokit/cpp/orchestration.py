"""Orchestrations of pypto: compiled to machine code, their tasks carried out as launches of the kernels they name.

The orchestration that pypto generates is compiled for this machine, with pypto's own wrappers of the kernels, against
``headers/pypto/pto_orchestration_api.h``. A task is carried out when it is submitted: its wrappers say with which
arguments they call which kernels, and these are launched from their texts.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.arguments.derive import asked
from ptokit.asm import parse_module
from ptokit.asm.text.lexer import read_text
from ptokit.backends.native.compiler import folder as cache_folder
from ptokit.backends.native.compiler import read as read_entry
from ptokit.backends.native.compiler import write as write_entry
from ptokit.diagnostics import DiagnosticError, Diagnostics, Note, UsageError
from ptokit.ir.core import Function, Module, Value
from ptokit.ir.functions import stated_target
from ptokit.ir.launch import Query, found_for, pair, with_function, with_reached
from ptokit.ir.verify import verify
from ptokit.records import dataclass
from ptokit.run import Program, compile_program
from ptokit.run.tensors import words_in_memory
from ptokit.sanitize.api import sanitize_launch
from ptokit.targets import TARGETS, Target
from ptokit.targets.base import default_part
from ptokit.types.choices import LaunchOptions, Mode, SanitizeOptions
from ptokit.types.values import Ptr, Scalar

from .compiler import HEADERS, Options
from .kernels import CppFile
from .replay import host_compilers


class OrchestrationError(RuntimeError):
    """An orchestration does not compile, or breaks what the runtime requires."""


@dataclass
class LaunchedTask:
    """A launch that has been carried out. ``number``: of its run of the program, from 1; ``kernels``: their names."""

    program: str
    number: int
    kernels: tuple[str, ...]
    blocks: int
    findings: Diagnostics = field(default_factory=Diagnostics)

    @property
    def title(self) -> str:
        """Where it belongs."""
        return f"program {self.program}, kernel {'+'.join(self.kernels)}, launch {self.number}"


@dataclass
class Device:
    """What is used as a device: on which target it runs, whether it looks for faults, and what has been launched."""

    target: Target | None
    sanitize: bool
    launches: list[LaunchedTask] = field(default_factory=list)

    @property
    def findings(self) -> Diagnostics:
        """All findings, each with a note that names program, kernel and launch."""
        found = Diagnostics()
        for launch in self.launches:
            found.extend(replace(each, notes=(*each.notes, Note(launch.title))) for each in launch.findings)
        return found

    def target_of(self, platform: str) -> Target:
        """The target of a platform as pypto names it. Raises `UsageError` where that is another one than this."""
        target = TARGETS[platform.removesuffix("sim")]
        if self.target is not None and self.target is not target:
            message = f"the program is compiled for {platform}, and launches run on {self.target.name} here."
            raise UsageError(message, "target")
        return target


class DataType(IntEnum):
    """Element types as the runtime numbers them."""

    FLOAT32, FLOAT16, INT32, INT16, INT8, UINT8, BFLOAT16, INT64, UINT64, UINT16, UINT32, BOOL = range(12)
    FP8E4M3FN, FP8E8M0, FP4E2M1 = range(12, 15)


@dataclass(frozen=True, eq=False)
class Tensor:
    """Memory of an argument. ``owner`` keeps it."""

    address: int
    nbytes: int
    shape: tuple[int, ...]
    dtype: DataType
    owner: Any = None


_SUBMIT = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64)
_CALLED = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_uint64), ctypes.c_int32
)


class _Host(ctypes.Structure):
    """``PtokitHost`` of the header."""

    _fields_ = [("allocate", _ALLOCATE), ("called", _CALLED), ("submit", _SUBMIT)]
    _fields_ += [("clusters", ctypes.c_int32), ("vectors", ctypes.c_int32)]


class _ChipTensor(ctypes.Structure):
    """``ChipTensor`` of the header."""

    _fields_ = [
        ("address", ctypes.c_uint64), ("size", ctypes.c_uint64), ("owner", ctypes.c_uint64), ("start", ctypes.c_uint64),
        ("version", ctypes.c_int32), ("ndims", ctypes.c_uint32), ("dtype", ctypes.c_uint8), ("manual", ctypes.c_bool),
        ("contiguous", ctypes.c_bool), ("space", ctypes.c_uint8), ("shapes", ctypes.c_uint32 * 5),
        ("extent", ctypes.c_uint64), ("strides", ctypes.c_uint32 * 5), ("rest", ctypes.c_uint8 * 36),
    ]  # fmt: skip


def _described(array: Any, tensors: Sequence[Tensor]) -> Any:
    """The tensors as an orchestration gets them."""
    for made, tensor in zip(array, tensors):
        made.address, made.size, made.owner = tensor.address, tensor.nbytes, 2**64 - 1
        made.ndims, made.dtype, made.contiguous = max(1, len(tensor.shape)), tensor.dtype, True
        stride = 1
        for axis, size in reversed(list(enumerate(tensor.shape or (1,)))):
            made.shapes[axis], made.strides[axis] = size, stride
            stride *= size
        made.extent = stride
    return array


class Assembled:
    """A program: an orchestration, and the kernels that it submits by their numbers."""

    def __init__(
        self, device: Device, target: Target, folder: Path, source: Path, kernels: Sequence[Mapping[str, Any]]
    ) -> None:
        self.device, self.target, self.name = device, target, source.stem
        self.texts = Texts(folder / "ptoas", target, {k["name"]: k for k in kernels if k.get("external")})
        self._library = ctypes.CDLL(str(_compiled(folder, _together(source, kernels))))
        self._library.ptokit_run.restype = ctypes.c_char_p

    def run(self, tensors: Sequence[Tensor], numbers: Sequence[int]) -> None:
        """Carry out the orchestration, task by task. Raises what a launch raises, or `OrchestrationError`."""
        flight = _Flight(self, tensors)
        part = default_part(self.target)
        clusters = part.cores if part is not None else 1
        host = _Host(_ALLOCATE(flight.allocate), _CALLED(flight.called), _SUBMIT(flight.submit), clusters, 2 * clusters)
        given = _described((_ChipTensor * max(1, len(tensors)))(), tensors)
        words = (ctypes.c_uint64 * max(1, len(numbers)))(*numbers)
        why = self._library.ptokit_run(ctypes.byref(host), given, len(tensors), words, len(numbers))
        if flight.failed is not None:
            raise flight.failed
        if why is not None:
            raise OrchestrationError(f"program {self.name}: {why.decode()}")


def _together(source: Path, kernels: Sequence[Mapping[str, Any]]) -> str:
    """One file with the orchestration and pypto's wrappers, which call kernels with the arguments that they unpack."""
    lines = ['#include "pto_orchestration_api.h"', "PtokitState ptokit_state;", f'#include "{source}"']
    names = {}
    for kernel in kernels:
        number = kernel["func_id"]
        names[number] = f"ptokit_of_{number}::ptokit_entry_{number}"
        lines += [f"#define kernel_entry ptokit_entry_{number}", f"namespace ptokit_of_{number} {{"]
        if kernel.get("external"):
            body = f'ptokit_called_by_words("{EXTERNAL}:{kernel["name"]}", args);'
            lines += [f"void kernel_entry(int64_t *args) {{ {body} }}"]
        else:
            lines += [f'#include "{kernel["source"]}"']
        lines += ["}", "#undef kernel_entry"]
    count = max(names, default=-1) + 1
    table = ", ".join(names.get(number, "nullptr") for number in range(count)) or "nullptr"
    lines += [f"void (*const ptokit_kernels[])(int64_t *) = {{{table}}};"]
    lines += [f"const int32_t ptokit_kernel_count = {count};"]
    return "\n".join(lines) + "\n"


def _compiled(folder: Path, text: str) -> Path:
    """A program as a shared library; what the same text was compiled to before is kept."""
    place = Path(tempfile.mkdtemp(prefix="ptokit-", dir=folder))
    source, made = place / "program.cpp", place / "program.so"
    source.write_text(text)
    how = [*host_compilers()[0], "-std=c++17", "-w", "-O0", "-D__CPU_SIM", "-I", str(HEADERS / "pypto")]
    whole = subprocess.run([*how, "-E", "-P", str(source)], capture_output=True, text=True).stdout
    key = hashlib.sha256("\0".join([*how, whole]).encode()).hexdigest()
    cache = cache_folder()
    kept = None if cache is None else read_entry(cache / f"{key}.so", key)
    if kept is not None:
        made.write_bytes(kept)
        return made
    done = subprocess.run([*how, "-shared", "-fPIC", str(source), "-o", str(made)], capture_output=True, text=True)
    if done.returncode:
        why = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
        raise OrchestrationError(f"the orchestration does not compile: {why}")
    if cache is not None:
        write_entry(cache / f"{key}.so", key, made.read_bytes())
    return made


EXTERNAL = "C++"
"""In the place of a text, of kernels that somebody has written in C++."""


class Texts:
    """The kernels of a program, read from the texts that pypto wrote, and compiled once for all launches.

    ``external``: what pypto says of those in C++.
    """

    def __init__(self, folder: Path, target: Target, external: Mapping[str, Mapping[str, Any]]) -> None:
        self.folder, self.target, self.external = folder, target, external
        self._read: dict[str, tuple[Module, Diagnostics]] = {}
        self._programs: dict[tuple[str, tuple[str, ...], int], Program] = {}

    def program(self, unit: str, names: tuple[str, ...], vector_cores: int) -> Program:
        """A function, or a cube and a vector function that run together. Raises `DiagnosticError`."""
        key = (unit, names, vector_cores)
        if key not in self._programs and unit == EXTERNAL:
            kernel = self.external[names[0]]
            folders = (str(HEADERS / "pypto" / "kernel"), *kernel.get("extra_include_dirs", ()))
            file = CppFile(kernel["source"], self.target, Options(folders), _CORES[kernel["core_type"]])
            self._programs[key] = compile_program(file.module(file.kernel("kernel_entry")), self.target)
        elif key not in self._programs:
            module, found = self._module(unit)
            functions = [function for name in names if (function := module.function(name)) is not None]
            entry = pair(*functions) if len(functions) == 2 else functions[0]
            found_for(with_function(module, entry), entry, found).raise_if_errors()
            reached = with_reached(module, entry)
            self._programs[key] = Program(reached, entry, self.target, extended=False, vector_cores=vector_cores)
        return self._programs[key]

    def _module(self, unit: str) -> tuple[Module, Diagnostics]:
        if unit not in self._read:
            text, found = read_text(str(self.folder / unit))
            found.raise_if_errors()
            read = parse_module(text or "", str(self.folder / unit))
            if (stated := stated_target(read.module)) not in (None, self.target):
                assert stated is not None
                raise OrchestrationError(
                    f"{unit} is compiled for {stated.name}, and the program runs on {self.target.name}"
                )
            read = read if stated else parse_module(text or "", str(self.folder / unit), target=self.target)
            found.extend(read.diagnostics)
            found.extend(verify(read.module, self.target))
            self._read[unit] = read.module, found
        return self._read[unit]


_CORES = {"aic": "cube", "aiv": "vector"}

Words = Mapping[str, int]
"""What the parameters of a kernel get, by their names."""


@dataclass
class _Call:
    """A wrapper has called its kernel: the text that has it, and the core. ``slot``: 0 cube, 1 and 2 vector cores."""

    unit: str
    name: str
    block: int
    slot: int
    words: list[int]


class _Flight:
    """One run of a program: the memory that its tasks see, and the calls that the task under way consists of."""

    def __init__(self, program: Assembled, tensors: Sequence[Tensor]) -> None:
        self.program, self.device = program, program.device
        self.failed: BaseException | None = None
        self._calls: list[_Call] = []
        self._number = 0
        self._starts: list[int] = []
        self._memory: list[np.ndarray] = []
        for tensor in tensors:
            if tensor.nbytes:
                self._add(np.ctypeslib.as_array((ctypes.c_uint8 * tensor.nbytes).from_address(tensor.address)))

    def _add(self, memory: np.ndarray) -> None:
        start = memory.ctypes.data
        k = bisect_right(self._starts, start)
        self._starts.insert(k, start)
        self._memory.insert(k, memory)

    def allocate(self, nbytes: int) -> int:
        """Memory for the results of a task, until the program ends; 0 where there is none."""
        try:
            memory = np.zeros(max(64, nbytes), np.uint8)
            self._add(memory)
            return memory.ctypes.data
        except BaseException as error:
            self.failed = error
            return 0

    def called(self, kernel: bytes, block: int, slot: int, words: Any, count: int) -> None:
        """A wrapper has called its kernel."""
        try:
            unit, _, name = kernel.decode().partition(":")
            self._calls.append(_Call(unit, name, block, slot, words[:count]))
        except BaseException as error:
            self.failed = error

    def submit(self, _: Any) -> int:
        """Launch what the wrappers of a task have called; 0 if all went well."""
        calls, self._calls = self._calls, []
        try:
            if self.failed is None:
                self._task(calls)
        except BaseException as error:
            self.failed = error
        return self.failed is not None

    def _task(self, calls: Sequence[_Call]) -> None:
        names = tuple(dict.fromkeys(call.name for call in calls))
        self._number += 1
        task = LaunchedTask(self.program.name, self._number, names, 1 + max(call.block for call in calls))
        self.device.launches.append(task)
        try:
            if len(names) == 2 and calls[0].unit == EXTERNAL:
                raise OrchestrationError(f"{task.title}: cube and vector cores run files of C++ of their own")
            if len(names) == 2:
                self._launch(calls, task)
            else:  # both vector cores without their cube core: they do not know of each other
                for slot in sorted({call.slot for call in calls}):
                    self._launch([call for call in calls if call.slot == slot], task)
        except DiagnosticError as error:
            told = (replace(each, notes=(*each.notes, Note(task.title))) for each in error.diagnostics)
            raise DiagnosticError(told) from error

    def _launch(self, calls: Sequence[_Call], task: LaunchedTask) -> None:
        """Launch a kernel on all blocks, or on one after the other where they get different memory."""
        vectors = len({call.slot for call in calls} - {0})
        program = self.program.texts.program(calls[0].unit, task.kernels, max(1, vectors))
        if calls[0].unit == EXTERNAL:
            return self._launch_words(program, calls[0].words, task)
        params = _named(program.entry)
        queries = {name: query for name, param in params if (query := asked(param)) is not None}
        blocks = [_words(program.module, [c for c in calls if c.block == block]) for block in range(task.blocks)]
        if len(blocks) > 1 and all(_without(words, queries) == _without(blocks[0], queries) for words in blocks):
            args = [queries[name] if name in queries else self._value(p, blocks[0][name]) for name, p in params]
            return self._carry_out(program, args, len(blocks), task)
        of_cores = (Query.SUBBLOCK_IDX, Query.SUBBLOCK_NUM) if len(task.kernels) == 2 else ()
        own = {name: query for name, query in queries.items() if query in of_cores}
        for words in blocks:
            args = [own[name] if name in own else self._value(param, words[name]) for name, param in params]
            self._carry_out(program, args, 1, task)
        return None

    def _launch_words(self, program: Program, words: Sequence[int], task: LaunchedTask) -> None:
        """Launch a kernel in C++, which gets its arguments in memory: tensors, then numbers."""
        given: list[Any] = list(words[1:])
        for k in range(words[0]):
            tensor = np.ctypeslib.as_array((ctypes.c_uint64 * 16).from_address(given[k])).tolist()
            given[k] = [self._memory_at(tensor[0]), *tensor[1:]]
        memory, pieces = words_in_memory(given, 0)
        self._carry_out(program, [memory], task.blocks, task)
        for array, there in pieces:
            array[:] = there

    def _carry_out(self, program: Program, args: Sequence[Any], blocks: int, task: LaunchedTask) -> None:
        if self.device.sanitize:
            copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
            options = LaunchOptions(blocks=blocks, entry=program.entry.name, vector_cores=program.vector_cores)
            how = SanitizeOptions(mode=Mode.AUTO_SYNC)
            report = sanitize_launch(program.module, program.target, copies, options, how)
            task.findings.extend(report.diagnostics)
            report.diagnostics.raise_if_errors()
        program.launch(args, blocks)

    def _memory_at(self, address: int) -> np.ndarray:
        """The bytes from an address to the end of what was allocated there."""
        k = bisect_right(self._starts, address) - 1
        if k < 0 or address - self._starts[k] > self._memory[k].size:
            return np.zeros(0, np.uint8)
        return self._memory[k][address - self._starts[k] :]

    def _value(self, param: Value, word: int) -> Any:
        """An argument of a kernel, from the word that its wrapper passes."""
        if isinstance(param.type, Scalar):
            if param.type.is_float:
                return struct.unpack("d", struct.pack("Q", word))[0]
            return bool(word) if param.type.name == "i1" else word - (word >> 63 << 64)
        assert isinstance(param.type, Ptr)
        kind = param.type.dtype.value or param.type.dtype.storage
        rest = self._memory_at(word)
        return rest[: rest.size - rest.size % kind.itemsize].view(kind)


def _named(function: Function) -> list[tuple[str, Value]]:
    return [(param.name or f"arg{position}", param) for position, param in enumerate(function.params)]


def _words(module: Module, calls: Sequence[_Call]) -> Words:
    """What the parameters get of the functions that run together in a block."""
    found: dict[str, int] = {}
    for call in calls:
        function = module.function(call.name)
        for (name, _), word in zip(_named(function) if function is not None else [], call.words):
            found.setdefault(name, word)
    return found


def _without(words: Words, names: Mapping[str, Query]) -> Words:
    return {name: word for name, word in words.items() if name not in names}
