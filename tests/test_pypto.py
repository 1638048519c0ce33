"""Programs as pypto writes them to a folder, run here; pypto itself is not needed."""

from __future__ import annotations

import ctypes
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.cpp import orchestration
from ptokit.cpp.orchestration import Texts
from ptokit.diagnostics import DiagnosticError
from ptokit.targets import TARGETS

HEADER = Path(pto.__file__).parent / "cpp" / "headers" / "pypto" / "data_type.h"
TILE = "!pto.tile_buf<vec, 8x64xf32>"
VIEW = "!pto.tensor_view<?x?xf32>"
PART = "!pto.partition_tensor_view<8x64xf32>"
SCALE = f"""
module attributes {{pto.target_arch = "a2a3"}} {{
  func.func @scale(%arg0: !pto.ptr<f32>, %arg1: !pto.ptr<f32>, %arg2: f32, %arg3: index, %__pypto_spmd_block_idx: i32)
      attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %block = arith.index_cast %__pypto_spmd_block_idx : i32 to index
    %row = arith.muli %block, %c8 : index
    %s = pto.make_tensor_view %arg0, shape = [%arg3, %c64], strides = [%c64, %c1] : {VIEW}
    %d = pto.make_tensor_view %arg1, shape = [%arg3, %c64], strides = [%c64, %c1] : {VIEW}
    %sp = pto.partition_view %s, offsets = [%row, %c0], sizes = [%c8, %c64] : {VIEW} -> {PART}
    %dp = pto.partition_view %d, offsets = [%row, %c0], sizes = [%c8, %c64] : {VIEW} -> {PART}
    %t = pto.alloc_tile : {TILE}
    pto.tload ins(%sp : {PART}) outs(%t : {TILE})
    pto.tmuls ins(%t, %arg2 : {TILE}, f32) outs(%t : {TILE})
    pto.tstore ins(%t : {TILE}) outs(%dp : {PART})
    return
  }}
}}
"""
WRAPPER = """
#include <cstdint>
#include <pto/pto-inst.hpp>
#include "tensor.h"
#include "intrinsic.h"
using namespace pto;
%s
extern "C" __aicore__ __attribute__((always_inline)) void kernel_entry(__gm__ int64_t* args) {
    int32_t block = get_block_idx(args);
    __gm__ ChipTensor* x = reinterpret_cast<__gm__ ChipTensor*>(args[0]);
    __gm__ ChipTensor* y = reinterpret_cast<__gm__ ChipTensor*>(args[1]);
    union { uint64_t u64; float val; } factor;
    factor.u64 = args[2];
    __gm__ float* px = reinterpret_cast<__gm__ float*>(x->buffer.addr) + x->start_offset;
    __gm__ float* py = reinterpret_cast<__gm__ float*>(y->buffer.addr) + y->start_offset;
    scale(px, py, factor.val, static_cast<int64_t>(x->shapes[0]), block);
}
"""
# y = x * factor, through memory that a task makes and whose first element gets 1 more; rows after the first eight only
# where the last argument is not 0.
ORCHESTRATION = """
#include "runtime.h"
#include "pto_orchestration_api.h"
extern "C" {
PTO2OrchestrationConfig aicpu_orchestration_config(const ChipTaskArgs& args) { return {.expected_arg_count = 3}; }
void aicpu_orchestration_entry(const ChipTaskArgs& orch_args) {
    const ChipTensor& ext_x = orch_args.tensor(0).ref();
    const ChipTensor& ext_y = orch_args.tensor(1).ref();
    float factor = from_u64<float>(orch_args.scalar(0));
    uint32_t sizes[2] = {ext_x.shapes[0], 64};
    PTO2_SCOPE() {
        TensorCreateInfo made(sizes, 2, DataType::FLOAT32);
        CoreTaskArgs t0;
        t0.add_input(ext_x);
        t0.add_output(made);
        t0.add_scalar(to_u64(factor));
        t0.launch_spec.set_block_num(ext_x.shapes[0] / 8);
        TaskOutputTensors out = rt_submit_aiv_task(0, t0);
        const ChipTensor& half = out.get_ref(0);
        uint32_t first[2] = {0, 0};
        set_tensor_data<float>(half, 2, first, get_tensor_data<float>(half, 2, first) + 1.0f);
        for (int64_t row = 0; row < ext_x.shapes[0]; row += 8) {
            uint32_t at[2] = {static_cast<uint32_t>(row), 0};
            uint32_t part[2] = {std::min<uint32_t>(8, ext_x.shapes[0] - row), 64};
            ChipTensor from = half.view(part, at), to = ext_y.view(part, at);
            PTO2TaskId deps[1] = {out.task_id()};
            CoreTaskArgs t1;
            t1.add_input(from);
            t1.add_inout(to);
            t1.add_scalar(to_u64(1.0f));
            t1.set_dependencies(deps, 1);
            CoreTaskPredicate when;
            when.operand.tensor = &orch_args.tensor(2).ref();
            when.operand.ndims = 1;
            when.operand.indices[0] = 0;
            when.op = PredicateOp::NE;
            if (row) t1.set_predicate(when);
            rt_submit_aiv_task(0, t1);
        }
    }
}
}
"""
CONFIG = """
from pathlib import Path
_ROOT_DIR = Path(__file__).parent
RUNTIME_CONFIG = {"runtime": "tensormap_and_ringbuffer"}
ORCHESTRATION = {"source": str(_ROOT_DIR / "orchestration" / "main.cpp")}
KERNELS = [{"func_id": 0, "name": "scale", "source": str(_ROOT_DIR / "scale.cpp"), "core_type": "aiv"}]
"""


RUNTIME = """
class RunConfig:
    def __init__(self, platform):
        self.platform = platform
def run(program, *args, config):
    program.called = args, config.platform
"""


@contextmanager
def fake(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of pypto's name with as much as ptokit touches."""
    runtime = folder / "pypto" / "runtime"
    runtime.mkdir(parents=True)
    for name, text in {
        "__init__": "", "pypto_core": "", "runtime/__init__": RUNTIME, "runtime/worker": "_SimplerWorker = 7",
        "runtime/tensor_arg": "from functools import cache\n@cache\ndef _modules():\n    return 1",
        "runtime/task_interface": "from simpler.worker import Worker\nfrom simpler.task_interface import TaskArgs",
        "runtime/device_runner": "from .task_interface import Worker",
    }.items():  # fmt: skip
        (folder / "pypto" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "pypto"]:
            del sys.modules[name]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled program in a folder, as pypto lays it out; the assembler is ptokit's."""
    folder = tmp_path_factory.mktemp("program")
    patch = pytest.MonkeyPatch()
    with fake(tmp_path_factory.mktemp("package"), patch), pto.pypto.on_device():
        (folder / "ptoas").mkdir()
        (folder / "orchestration").mkdir()
        text, out = folder / "ptoas" / "scale.pto", folder / "scale.out"
        text.write_text(SCALE)
        assembler = [f"{os.environ['PTOAS_ROOT']}/ptoas", str(text), "-o", str(out), "--pto-level=level3"]
        subprocess.run(assembler, check=True)
    patch.undo()
    (folder / "scale.cpp").write_text(WRAPPER % out.read_text())
    (folder / "orchestration" / "main.cpp").write_text(ORCHESTRATION)
    (folder / "kernel_config.py").write_text(CONFIG)
    return folder


def carried_out(folder: Path, rows: int, flag: int, **options: Any) -> tuple[np.ndarray, np.ndarray, pto.pypto.Device]:
    """The program on `rows` rows, as pypto starts it: x, y, and the device."""
    x = np.arange(rows * 64, dtype=np.float32).reshape(rows, 64) + 1
    y, flags = np.zeros_like(x), np.array([flag], np.int32)
    with pto.pypto.on_device(**options) as device:
        runner: Any = importlib.import_module("pypto.runtime.device_runner")
        simpler: Any = importlib.import_module("simpler.task_interface")
        program, _, _ = runner.compile_and_assemble(folder, "a2a3sim")
        args = simpler.TaskArgs()
        for array, dtype in ((x, "FLOAT32"), (y, "FLOAT32"), (flags, "INT32")):
            kind = simpler.DataType[dtype]
            args.add_tensor(simpler.Tensor(array.ctypes.data, array.nbytes, array.shape, kind, array))
        args.add_scalar(simpler.scalar_to_uint64(ctypes.c_float(2)))
        worker = runner.Worker()
        worker.run(worker.register(program), args)
        assert worker.aicpu_dlopen_count == 1
    return x, y, device


def test_a_program_runs(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake(tmp_path, monkeypatch):
        x, y, device = carried_out(compiled, 24, 1)
        expected = 2 * x
        expected[0, 0] += 1
        assert np.array_equal(y, expected)
        assert [(launch.number, launch.kernels, launch.blocks) for launch in device.launches] == [
            (1, ("scale",), 3), (2, ("scale",), 1), (3, ("scale",), 1), (4, ("scale",), 1)
        ]  # fmt: skip
        _, y, device = carried_out(compiled, 24, 0)
        assert np.array_equal(y[:8], expected[:8])
        assert not y[8:].any()
        assert len(device.launches) == 2


def test_findings_name_program_kernel_and_launch(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 rows the last launch gets four, and the kernel loads eight."""
    with fake(tmp_path, monkeypatch):
        for sanitize in (True, False):
            with pytest.raises(DiagnosticError) as caught:
                carried_out(compiled, 20, 1, sanitize=sanitize)
            notes = {each.notes[-1].message for each in caught.value.diagnostics}
            assert notes == {"program main, kernel scale, launch 4"}
        x, y, device = carried_out(compiled, 16, 1, sanitize=True)
        assert not device.findings.errors
        assert np.array_equal(y[1:], 2 * x[1:])


def test_what_an_orchestration_breaks(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake(tmp_path, monkeypatch), pto.pypto.on_device() as device:
        program, _, _ = importlib.import_module("pypto.runtime.device_runner").compile_and_assemble(compiled, "a2a3")
        with pytest.raises(pto.pypto.OrchestrationError, match=r"program main: .* takes more tensors than it is given"):
            program.run([], [])
        assert not device.launches
        (tmp_path / "kernel_config.py").write_text(CONFIG)
        (tmp_path / "orchestration").mkdir()
        (tmp_path / "orchestration" / "main.cpp").write_text("void f() { g(); }")
        (tmp_path / "scale.cpp").write_text("")
        with pytest.raises(pto.pypto.OrchestrationError, match=r"does not compile: .*main.cpp:1"):
            importlib.import_module("pypto.runtime.device_runner").compile_and_assemble(tmp_path, "a2a3")


def test_what_python_raises_ends_the_program(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    for number, (owner, name) in enumerate(((np, "zeros"), (orchestration._Flight, "_task"))):
        with monkeypatch.context() as patch, fake(tmp_path / str(number), monkeypatch):
            patch.setattr(owner, name, interrupted)
            with pytest.raises(KeyboardInterrupt):
                carried_out(compiled, 8, 1)


def test_the_target_is_that_of_the_program(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        fake(tmp_path, monkeypatch),
        pytest.raises(pto.UsageError, match="compiled for a2a3sim, and launches run on a5"),
    ):
        carried_out(compiled, 8, 1, target="a5")
    with pytest.raises(
        pto.pypto.OrchestrationError, match=r"scale.pto is compiled for a2a3, and the program runs on a5"
    ):
        Texts(compiled / "ptoas", TARGETS["a5"], {}).program("scale.pto", ("scale",), 1)


def test_everything_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOAS_ROOT", "before")
    with fake(tmp_path, monkeypatch):
        worker: Any = importlib.import_module("pypto.runtime.worker")
        monkeypatch.setitem(sys.modules, "simpler", worker)
        with pto.pypto.on_device():
            assert os.environ["PTOAS_ROOT"] != "before"
            assert worker._SimplerWorker is None
            assert importlib.import_module("pypto.runtime.task_interface").Worker is not None
        assert (os.environ["PTOAS_ROOT"], worker._SimplerWorker, sys.modules["simpler"]) == ("before", 7, worker)
        assert "pypto.runtime.task_interface" not in sys.modules
        assert not hasattr(sys.modules["pypto.runtime"], "task_interface")


def test_run_compiles_and_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Compiled:
        def __call__(self, *args: Any, config: Any) -> None:
            self.called = args, config.platform

    class OfJit(Compiled):
        def lower(self) -> None: ...

    with fake(tmp_path, monkeypatch):
        for program in (Compiled(), OfJit()):
            device = pto.pypto.run(program, [1, 2.0], target="a5", sanitize=True)
            assert program.called == ((1, 2.0), "a5sim")
            assert (device.target, device.sanitize) == (TARGETS["a5"], True)


def test_without_pypto_there_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypto", None)
    with (
        pytest.raises(ModuleNotFoundError, match=r"ptokit.pypto.on_device needs pypto and torch: pip install"),
        pto.pypto.on_device(),
    ):
        pass


def test_element_types_have_the_numbers_of_the_header() -> None:
    (listed,) = re.findall(r"enum class DataType[^{]*\{([^}]*)\}", HEADER.read_text(encoding="utf-8"))
    assert [name.strip() for name in listed.split(",")] == [each.name for each in sorted(orchestration.DataType)]
