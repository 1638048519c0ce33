"""pypto's programs run here: ``with ptokit.pypto.on_device():`` is the device, ``ptokit.pypto.run`` runs one.

pypto compiles as ever. In the place of the assembler a script leaves each kernel as the text that pypto wrote; in the
place of its runtime "simpler" are modules that hand a compiled program to `ptokit.cpp.orchestration`.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ptokit.api.parts import find_target
from ptokit.cpp.compiler import HEADERS
from ptokit.cpp.orchestration import Assembled, DataType, Device, LaunchedTask, OrchestrationError, Tensor
from ptokit.targets import Target

TRIED_WITH = "hw-native-sys/pypto e2d0f78a"
"""The pypto that all of this was tried with."""


# What users call.


@contextmanager
def on_device(target: str | Target | None = None, *, sanitize: bool = False) -> Iterator[Device]:
    """Programs of pypto that are compiled and called inside of it run here.

    ``target``: the only one that is run; by default whatever platform a program is compiled for ("a2a3", "a2a3sim",
    "a5", "a5sim": all are the same here). ``sanitize``: look at each launch for races, uninitialised data and accesses
    outside of arrays before it runs; an error raises `DiagnosticError`, which names program, kernel and launch, and
    ``device.findings`` has the warnings. Raises `ModuleNotFoundError` without pypto.
    """
    device = Device(find_target(target), sanitize)
    _pypto("on_device")
    with tempfile.TemporaryDirectory(prefix="ptokit-pypto-") as folder, _instead(device, Path(folder)):
        yield device


def run(program: Any, tensors: Sequence[Any], *, target: str | Target = "a2a3", sanitize: bool = False) -> Device:
    """Compile a program of pypto (``@pl.program``, ``@pl.jit``, ``ir.Program``) and run it on torch tensors, in place.

    ``target`` and ``sanitize`` as for `on_device`, whose device is returned. Numbers among the tensors are passed on.
    """
    with on_device(target, sanitize=sanitize) as device:
        runtime = _pypto("run").runtime
        config = runtime.RunConfig(platform=f"{device.target.name}sim" if device.target else "a2a3sim")
        if hasattr(program, "lower"):  # a function of pypto.jit
            program(*tensors, config=config)
        else:
            runtime.run(program, *tensors, config=config)
    return device


def _pypto(called: str) -> Any:
    """pypto, whose runtime is imported. Raises `ModuleNotFoundError` that says how to get it."""
    try:
        if importlib.util.find_spec("pypto.pypto_core") is None:
            raise ModuleNotFoundError(name="pypto")
        importlib.import_module("pypto.runtime")
        return importlib.import_module("pypto")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pypto", "torch"):
            raise
        message = (
            f"ptokit.pypto.{called} needs pypto and torch: pip install ptokit[torch], and build pypto from "
            f"https://github.com/hw-native-sys/pypto ({TRIED_WITH} was tried)"
        )
        raise ModuleNotFoundError(message, name=error.name) from error


# What takes the place of assembler and runtime while programs run here.


_ASSEMBLER = r"""
import re, sys
text, out = sys.argv[1], sys.argv[sys.argv.index("-o") + 1]
unit = re.split(r"[/\\]", text)[-1]
names = re.findall(r"func\.func\s+@([\w.$-]+)\s*\(", open(text).read())
with open(out, "w") as file:
    for name in dict.fromkeys(names):
        file.write("template <typename... Ts>\nstatic void %s(Ts... values) {\n" % name)
        file.write('    ptokit_called("%s:%s", values...);\n}\n' % (unit, name))
"""
"""What pypto calls as the assembler: kernels that say with which arguments they are called."""

_REPLACED = ("pypto.runtime.task_interface", "pypto.runtime.device_runner", "pypto.runtime.kernel_compiler")
"""Modules of pypto that hold objects of the runtime, and are imported anew."""


@contextmanager
def _instead(device: Device, folder: Path) -> Iterator[None]:
    script = folder / "ptoas"
    script.write_text(f"#!{sys.executable} -IS{_ASSEMBLER}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    root = os.environ.get("PTOAS_ROOT")
    runtime = _stand_ins(device)
    names = [n for n in sys.modules if n.partition(".")[0] in ("simpler", "simpler_setup") or n in _REPLACED]
    held = {name: sys.modules.pop(name) for name in names}
    caches = importlib.import_module("pypto.runtime.worker")
    kept = {name: getattr(caches, name, None) for name in ("_SimplerWorker", "_SimplerCallConfig")}
    modules = importlib.import_module("pypto.runtime.tensor_arg")._modules
    try:
        os.environ["PTOAS_ROOT"] = str(folder)
        sys.modules.update(runtime)
        for name in kept:
            setattr(caches, name, None)
        modules.cache_clear()
        runner: Any = importlib.import_module("pypto.runtime.device_runner")
        runner.compile_and_assemble = partial(_assembled, device)
        yield
    finally:
        for name in [*runtime, *_REPLACED]:
            sys.modules.pop(name, None)
        sys.modules.update(held)
        for name, value in kept.items():
            setattr(caches, name, value)
        for name in _REPLACED:
            _restore(name)
        modules.cache_clear()
        if root is None:
            os.environ.pop("PTOAS_ROOT", None)
        else:
            os.environ["PTOAS_ROOT"] = root


def _restore(name: str) -> None:
    """Let a package name the module that is imported now as its own, if there is one."""
    package, _, last = name.rpartition(".")
    if name in sys.modules:
        setattr(sys.modules[package], last, sys.modules[name])
    elif hasattr(sys.modules[package], last):
        delattr(sys.modules[package], last)


_OF_TORCH = {
    "float32": DataType.FLOAT32, "float16": DataType.FLOAT16, "bfloat16": DataType.BFLOAT16, "int64": DataType.INT64,
    "int32": DataType.INT32, "int16": DataType.INT16, "int8": DataType.INT8, "uint8": DataType.UINT8,
    "uint64": DataType.UINT64, "uint32": DataType.UINT32, "uint16": DataType.UINT16, "bool": DataType.BOOL,
    "float8_e4m3fn": DataType.FP8E4M3FN, "float8_e8m0fnu": DataType.FP8E8M0, "float4_e2m1fn_x2": DataType.FP4E2M1,
}  # fmt: skip


def _dtype(dtype: Any) -> DataType:
    return _OF_TORCH[str(dtype).removeprefix("torch.")]


def _tensor(*args: Any) -> Tensor:
    """The memory of a torch tensor: the last argument, after a worker."""
    given = args[-1]
    nbytes = given.numel() * given.element_size()
    return Tensor(given.data_ptr(), nbytes, tuple(given.shape), _dtype(given.dtype), given)


class Memory:
    """Memory that a worker has allocated."""

    def __init__(self, nbytes: int) -> None:
        self.bytes = np.zeros(max(1, nbytes), np.uint8)
        self.base, self.nbytes = self.bytes.ctypes.data, nbytes

    def tensor(self, shapes: Sequence[int], dtype: DataType) -> Tensor:
        """This memory as an argument."""
        return Tensor(self.base, self.nbytes, tuple(shapes), dtype, self)


class TaskArgs:
    """The arguments of an orchestration."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.numbers: list[int] = []
        self.add_tensor, self.add_scalar = self.tensors.append, self.numbers.append


def _word(value: Any) -> int:
    """The bits of a ctypes number."""
    return int.from_bytes(bytes(value), sys.byteorder)


class Worker:
    """A device as pypto's runtime has it; memory of the device is memory of this process."""

    host_dlopen_count = 0

    def __init__(self, **_: Any) -> None:
        self._ran: set[Assembled] = set()

    @property
    def aicpu_dlopen_count(self) -> int:
        """How many programs it has run."""
        return len(self._ran)

    def init(self, *_: Any, **__: Any) -> None:
        """Nothing has to be prepared."""

    close = unregister = free = init

    def register(self, program: Assembled) -> Assembled:
        """The handle of a program: itself."""
        return program

    def run(self, program: Assembled, args: TaskArgs, config: Any = None) -> None:
        """Run a program to its end."""
        self._ran.add(program)
        program.run(args.tensors, args.numbers)

    def malloc(self, nbytes: int) -> Memory:
        """Memory of the device."""
        return Memory(nbytes)

    def copy_to(self, memory: Memory, source: Any) -> None:
        """From the host to the device."""
        ctypes.memmove(memory.base, source, len(source))

    def copy_from(self, target: Any, memory: Memory) -> None:
        """From the device to the host."""
        ctypes.memmove(target, memory.base, len(target))


def _stand_ins(device: Device) -> dict[str, ModuleType]:
    """The modules of the runtime that pypto imports."""
    plain = {name: type(name, (SimpleNamespace,), {}) for name in ("ChipCallable", "CoreCallable", "ChipTensor")}
    config = type("CallConfig", (SimpleNamespace,), {"runtime_env": SimpleNamespace()})
    directions = SimpleNamespace(IN="in", OUT="out", INOUT="inout", SCALAR="scalar")
    tensors = {"make_tensor_arg": _tensor, "make_chip_tensor_arg": _tensor, "torch_dtype_to_datatype": _dtype}
    holds: dict[str, Mapping[str, Any]] = {
        "simpler": {},
        "simpler.task_interface": {
            **plain, "CallConfig": config, "ArgDirection": directions, "ChipStorageTaskArgs": TaskArgs,
            "TaskArgs": TaskArgs, "Tensor": Tensor, "DataType": DataType, "scalar_to_uint64": _word,
        },
        "simpler.worker": {"Worker": Worker},
        "simpler_setup": {"KernelCompiler": SimpleNamespace},
        "simpler_setup.torch_interop": tensors,
        "simpler_setup.pto_isa": {"ensure_pto_isa_root": lambda **_: str(HEADERS)},
    }  # fmt: skip
    made = {name: ModuleType(name, f"In the place of pypto's runtime: {name}.") for name in holds}
    for name, module in made.items():
        module.__dict__.update(holds[name])
        module.__path__ = []
        package, _, last = name.rpartition(".")
        if package:
            setattr(made[package], last, module)
    return made


def _assembled(device: Device, work_dir: Path, platform: str) -> tuple[Assembled, str, dict[str, Any]]:
    """What pypto's function of the same place returns: the program, the name of the runtime, its settings."""
    folder = Path(work_dir)
    if not (folder / "kernel_config.py").exists():
        raise FileNotFoundError(f"{folder} holds no compiled program: compile it inside of ptokit.pypto.on_device")
    spec = importlib.util.spec_from_file_location("_kernel_config", folder / "kernel_config.py")
    assert spec is not None
    assert spec.loader is not None
    config: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(config)
    settings = getattr(config, "RUNTIME_CONFIG", {})
    program = Assembled(
        device, device.target_of(platform), folder, Path(config.ORCHESTRATION["source"]), config.KERNELS
    )
    return program, settings.get("runtime", "tensormap_and_ringbuffer"), settings


__all__ = ["Device", "LaunchedTask", "OrchestrationError", "on_device", "run"]
