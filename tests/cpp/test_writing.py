"""Programs as C++: it is read back as the same program, and has no undefined behaviour; what it lacks is refused."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit
from ptokit.asm import parse_module
from ptokit.cpp.writing.body import chosen, forms, option
from ptokit.cpp.writing.file import cpp_text
from ptokit.diagnostics import DiagnosticError
from ptokit.isa.table import TABLE
from ptokit.targets import target

from .random_programs import source

HOST = shutil.which("g++")
EXAMPLES = Path(__file__).parents[2] / "examples"
LIBRARY = """#include <cstdint>
#include <type_traits>
#define __gm__
#define AICORE
#define __global__
"""
HEAD = "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
KERNEL = """
!whole = !pto.tensor_view<?x64xf32>
!slice = !pto.partition_tensor_view<16x64xf32>
module attributes {pto.target_arch = "a5"} {
  func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) attributes {pto.entry} {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %rows = arith.constant 16 : index
    %cols = arith.constant 64 : index
    %p = arith.constant 0 : i64
    %q = arith.constant 8192 : i64
    %xv = pto.make_tensor_view %x, shape = [%n, %cols], strides = [%cols, %one] : !pto.tensor_view<?x64xf32>
    %yv = pto.make_tensor_view %y, shape = [%n, %cols], strides = [%cols, %one] : !pto.tensor_view<?x64xf32>
    %t = pto.alloc_tile addr = %p : !pto.tile_buf<vec, 16x64xf32>
    %u = pto.alloc_tile addr = %q : !pto.tile_buf<vec, 16x64xf32>
    scf.for %i = %zero to %n step %rows {
      %xs = pto.partition_view %xv, offsets = [%i, %zero], sizes = [%rows, %cols] : !whole -> !slice
      %ys = pto.partition_view %yv, offsets = [%i, %zero], sizes = [%rows, %cols] : !whole -> !slice
      pto.tload ins(%xs : !pto.partition_tensor_view<16x64xf32>) outs(%t : !pto.tile_buf<vec, 16x64xf32>)
      BODY
      pto.tstore ins(%u : !pto.tile_buf<vec, 16x64xf32>) outs(%ys : !pto.partition_tensor_view<16x64xf32>)
    }
    return
  }
}
"""
TILE = "!pto.tile_buf<vec, 16x64xf32>"
ADD = f"pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%u : {TILE})"


def written(body: str) -> str:
    """The kernel with these statements, as C++."""
    return ptokit.convert(KERNEL.replace("BODY", body), "cpp")


def test_a_kernel_as_it_is_written() -> None:
    assert """    Vec_16x64_f32 t;
    TASSIGN(t, 0x0);
    Vec_16x64_f32 u;
    TASSIGN(u, 0x2000);
    for (int64_t i = 0; i < n; i += 16) {
        GlobalTensor<float, pto::Shape<1, 1, 1, 16, 64>, pto::Stride<1024, 1024, 1024, 64, 1>> xs(x + multiply(i, 64));
        TLOAD(t, xs);
        TADD(u, t, t);
        GlobalTensor<float, pto::Shape<1, 1, 1, 16, 64>, pto::Stride<1024, 1024, 1024, 64, 1>> ys(y + multiply(i, 64));
        TSTORE(ys, u);
    }
""" in written(ADD)


def test_forms_name_what_the_instruction_has() -> None:
    found = 0
    for instr in TABLE.values():
        known = {o.name for o in instr.operands} | {a.name for a in instr.attrs}
        for form in forms(instr):
            assert set(form.names()) <= known, instr.name
            found += 1
    assert found > 150


@pytest.mark.parametrize(
    ("body", "call"),
    [
        (
            f"pto.tcolsum ins(%t : {TILE}) outs(%u : !pto.tile_buf<vec, 1x64xf32>)".replace("%u", "%v"),
            "TCOLSUM(v, t)",
        ),
        (f"pto.tdivs ins(%t, %c : {TILE}, f32) outs(%u : {TILE})", "TDIVS(u, t, 2.0f)"),
        (f"pto.tdivs ins(%c, %t : f32, {TILE}) outs(%u : {TILE})", "TDIVS(u, 2.0f, t)"),
        (
            f"pto.tcvt ins(%t {{rmode = #pto<round_mode FLOOR>}} : {TILE}) outs(%h : !pto.tile_buf<vec, 16x64xf16>)",
            "TCVT(h, t, RoundMode::CAST_FLOOR)",
        ),
        (
            f"pto.tstore ins(%t : {TILE}) outs(%xs : !pto.partition_tensor_view<16x64xf32>)"
            " {atomicType = #pto<atomic_type atomic_add>}",
            "TSTORE<Vec_16x64_f32, decltype(xs), AtomicType::AtomicAdd>(xs, t)",
        ),
    ],
)
def test_calls_are_those_of_the_library(body: str, call: str) -> None:
    made = """%c = arith.constant 2.0 : f32
      %a = arith.constant 16384 : i64
      %v = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 1x64xf32>
      %h = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 16x64xf16>
      """
    assert f"        {call};\n" in written(f"{made}{body}\n      {ADD}")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("pto.tpush_to_aiv(%t : TILE) {id = 0, split = 1}", "the pipe is not made in this function"),
        ("%f = arith.remf %c, %c : f32", "a function of a library"),
        ("%s = pto.alloc_tile : TILE", "some tiles have addresses, and others not"),
        ("pto.trowsum ins(%t : TILE) outs(%r : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>)", "the call needs tmp"),
    ],
)
def test_what_cpp_lacks_is_refused_where_it_stands(body: str, why: str) -> None:
    made = """%c = arith.constant 2.0 : f32
      %a = arith.constant 16384 : i64
      %r = pto.alloc_tile addr = %a : !pto.tile_buf<vec, 16x1xf32, blayout=col_major>
      """
    text = KERNEL.replace("BODY", f"{made}{body.replace('TILE', TILE)}\n      {ADD}")
    module = parse_module(text, "k.pto").module
    with pytest.raises(DiagnosticError) as refused:
        cpp_text(module, target("a5"))
    (found,) = refused.value.diagnostics
    assert found.rule == "CPP-WRITE"
    assert why in found.message
    assert text.splitlines()[found.location.line - 1].strip().startswith(body.split("TILE")[0][:12])


def test_no_target_that_has_a_device() -> None:
    with pytest.raises(DiagnosticError, match="a device"):
        cpp_text(parse_module(KERNEL.replace("BODY", ADD), "k.pto").module, target("cpu"))


def test_a_python_kernel_and_the_command(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from ptokit.cli.main import app

    file = tmp_path / "kernels.py"
    file.write_text(
        "import ptokit as pto\n@pto.kernel(target='a5')\ndef twice(x: pto.Ptr[pto.f32]):\n"
        "    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)\n    v = pto.GlobalTensor(x, (16, 64))\n"
        "    pto.TLOAD(t, v)\n    pto.TADDS(t, t, 1.0)\n    pto.TSTORE(v, t)\n"
    )
    out = tmp_path / "twice.cpp"
    done = CliRunner().invoke(app, ["convert", f"{file}:twice", "--to", "cpp", "-o", str(out)])
    assert done.exit_code == 0, done.output
    kernel = ptokit.read(f"{file}:twice").origin.kernel  # type: ignore[union-attr]
    assert out.read_text() == kernel.to_cpp()
    assert "TADDS(t, t, 1.0f);" in kernel.to_cpp()


def compared(folder: Path, first: int, count: int) -> None:
    """Random functions of scalars: lifted, written again, and compiled by another compiler, which checks each step."""
    (folder / "given.cpp").write_text(HEAD + source(first, count))
    lifted = ptokit.cpp(folder / "given.cpp", target="a2a3")
    kernels = {}
    for k in range(count):
        try:
            kernels[k] = lifted[f"k{k}"]
            _ = kernels[k].module
        except DiagnosticError as error:  # clang has made one address of two local arrays
            if error.diagnostics[0].rule != "CPP-POINTER":
                raise
            del kernels[k]
    assert len(kernels) > count // 2
    for k, kernel in kernels.items():
        text = kernel.to_cpp()
        (folder / f"{k}.cpp").write_text(
            LIBRARY + text[text.index(HEAD) + len(HEAD) : text.index('extern "C" void launch')]
        )
    library = folder / "written.so"
    flags = ["-std=c++20", "-w", "-O1", "-ffp-contract=off", "-fsanitize=undefined", "-fno-sanitize-recover"]
    files = [str(folder / f"{k}.cpp") for k in kernels]
    subprocess.run([str(HOST), *flags, "-static-libubsan", "-shared", "-fPIC", *files, "-o", str(library)], check=True)
    native = ctypes.CDLL(str(library))
    for k, kernel in kernels.items():
        rng = np.random.default_rng(first + k)
        given = rng.integers(-(2**31), 2**31, 16, dtype=np.int64).astype(np.int32)
        numbers = [int(rng.integers(-100, 100)), int(rng.integers(-(2**31), 2**31)), int(rng.integers(0, 2**31))]
        wide = int(rng.integers(-(2**62), 2**62))
        want, found = np.zeros(256, np.int64), np.zeros(256, np.int64)
        kernel(want, given, *numbers, wide)
        arrays: list[Any] = [ctypes.c_void_p(a.ctypes.data) for a in (found, given)]
        native[f"k{k}"](*arrays, *map(ctypes.c_int32, numbers), ctypes.c_int64(wide))
        assert found.tolist() == want.tolist(), f"seed {first + k}"


@pytest.mark.usefixtures("compiler")
@pytest.mark.skipif(HOST is None, reason="the answers come from g++")
def test_scalars_have_no_undefined_behaviour(tmp_path: Path) -> None:
    compared(tmp_path, 0, 2)


@pytest.mark.campaign
@pytest.mark.usefixtures("compiler")
@pytest.mark.skipif(HOST is None, reason="the answers come from g++")
@pytest.mark.parametrize("first", range(2000, 2200, 20))
def test_many_programs_of_scalars(tmp_path: Path, first: int) -> None:
    compared(tmp_path, first, 20)


def again(path: str, folder: Path, args: list[Any], blocks: int) -> tuple[list[Any], list[Any]]:
    """What a program, and the program that its C++ is, leave in their arguments."""
    from ptokit.run import compile_program

    source_of = ptokit.read(path)
    used = source_of.target or target("a2a3")
    module = ptokit.read(path, target=used).module
    file = folder / "kernel.cpp"
    text = cpp_text(module, used)
    file.write_text(text)
    define = ("__PTO_AUTO__",) if "Auto mode" in text else ()
    kernels = ptokit.cpp(file, target=used.name, define=define)
    results = []
    for program in (compile_program(module, used), kernels[next(iter(kernels))].program):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        program.launch(given, blocks)
        results.append(given)
    return results[0], results[1]


CASES: dict[str, tuple[list[Any], int]] = {
    "pto/softmax.pto": ([np.ones((50, 512), np.float32), np.zeros((50, 512), np.float32), 50], 2),
    "pto/split_k.pto": (
        [
            np.ones((32, 256), np.float16),
            np.ones((256, 64), np.float16),
            *(np.ones((32, 64), np.float32), np.zeros((32, 64), np.float32), 256, 64),
        ],
        1,
    ),
    "pto/gemm.pto": (
        [
            np.ones((128, 128), np.float16),
            np.ones((128, 128), np.float16),
            np.zeros((128, 128), np.float32),
            *[128] * 3,
        ],
        1,
    ),
}


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    "name",
    ["pto/softmax.pto", *(pytest.param(f"pto/{name}.pto", marks=pytest.mark.campaign) for name in ("gemm", "split_k"))],
)
def test_examples_are_read_back(name: str, tmp_path: Path) -> None:
    args, blocks = CASES[name]
    rng = np.random.default_rng(7)
    args = [rng.random(a.shape).astype(a.dtype) if isinstance(a, np.ndarray) and a.any() else a for a in args]
    want, found = again(str(EXAMPLES / name), tmp_path, args, blocks)
    for a, b in zip(want, found):
        assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes()


@pytest.mark.campaign
@pytest.mark.usefixtures("compiler")
def test_all_examples_are_read_back(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    tool = Path(__file__).parents[2] / "tools" / "cpp_out.py"
    subprocess.run([sys.executable, str(tool), "--json", str(results)], check=True)
    found = [json.loads(line) for line in results.read_text().splitlines()]
    assert sum(row["lifted"] == "equal" for row in found) >= 15
    assert {row["lifted"] for row in found} <= {"equal", "refused", "no run"}


@pytest.mark.usefixtures("compiler")
def test_the_example_lacks_a_wait() -> None:
    kernels = ptokit.cpp(EXAMPLES / "cpp" / "softmax" / "softmax_kernel.cpp", target="a2a3")
    x, y = np.random.default_rng(1).random((75, 256), dtype=np.float32), np.zeros((75, 256), np.float32)
    kernels["softmax<256>"][4](y, x, 75)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=1e-5)
    report = kernels["softmax<256>"].sanitize(y, x, 75, blocks=4)
    lines = (EXAMPLES / "cpp" / "softmax" / "softmax_kernel.cpp").read_text().splitlines()
    (place,) = [d.location for d in report.diagnostics if d.rule == "FLAG-UNMATCHED"]
    assert "set_flag(PIPE_V, PIPE_MTE3" in lines[place.line - 1]
    assert "is missing" in lines[place.line]


def test_an_option_is_an_enumerator() -> None:
    module = parse_module(KERNEL.replace("BODY", ADD), "k.pto").module
    op = next(op for op in module.functions[0].body.walk() if op.name == "pto.tstore")  # type: ignore[union-attr]
    call = chosen(TABLE["TSTORE"], op)
    assert not isinstance(call, str)
    assert call.options == ()
    assert option(TABLE["TSTORE"], op, forms(TABLE["TSTORE"])[0].options[3]) == "AtomicType::AtomicNone"
