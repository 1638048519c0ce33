"""What cannot be lifted, or compiled: one finding at its line, which says what to write instead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ptokit
from ptokit.cpp.compiler import find_compiler
from ptokit.cpp.rules import findings
from ptokit.diagnostics import Diagnostic, DiagnosticError

NAMES = ["chosen", "recursion", "declared", "assembly", "option", "operands", "address"]
RULES = dict(
    zip(NAMES, "CPP-POINTER CPP-CALL CPP-CALL CPP-ASM CPP-OPTION CPP-OPERANDS CPP-OPERANDS".split(), strict=True)
)


def line_of(path: Path, comment: str) -> int:
    lines = path.read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


def refused(text: str, tmp_path: Path, **options: str) -> list[Diagnostic]:
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    return list(ptokit.check(path, target="a2a3", **options).diagnostics)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("name", NAMES)
def test_refused_at_its_line(kernels: Path, name: str) -> None:
    path = kernels / "refused.cpp"
    (found,) = ptokit.check(f"{path}:{name}", target="a2a3").diagnostics
    assert found.rule == RULES[name]
    assert (found.location.file, found.location.line) == (str(path), line_of(path, name))


@pytest.mark.usefixtures("compiler")
def test_all_kernels_of_a_file_are_reported(kernels: Path) -> None:
    report = ptokit.check(kernels / "refused.cpp", target="a2a3")
    assert len(report.errors) == len(NAMES)


@pytest.mark.usefixtures("compiler")
def test_calls_that_led_there_are_named(tmp_path: Path) -> None:
    text = """#include <pto/pto-inst.hpp>
using namespace pto;
template <class T> AICORE void inner(T& t) { TADD(t, t); }
template <class T> AICORE void outer(T& t) { inner(t); }
__global__ AICORE void kernel(__gm__ float* x) {
    Tile<TileType::Vec, float, 8, 64> t;
    TASSIGN(t, 0);
    outer(t);
}
"""
    (found,) = refused(text, tmp_path)
    assert found.location.line == 3
    assert [note.location.line for note in found.remarks] == [4, 8]
    told = ["called from here, in outer<Tile<…> >", "called from here, in kernel"]
    assert [note.message for note in found.remarks] == told


@pytest.mark.usefixtures("compiler")
def test_unknown_instruction_is_guessed(tmp_path: Path) -> None:
    text = "#include <pto/pto-inst.hpp>\n__global__ AICORE void k(__gm__ float* x) { pto::TADDD(x); }\n"
    found = refused(text, tmp_path)[0]
    assert (found.rule, found.location.line) == ("CPP-COMPILE", 2)
    assert "TADD" in f"{found.message} {found.hint}"


@pytest.mark.usefixtures("compiler")
def test_missing_headers_are_named_together(tmp_path: Path) -> None:
    text = '#include <pto/pto-inst.hpp>\n#include "kernel_tiling.h"\n#include "tiling/tiling.h"\n'
    (found,) = refused(text, tmp_path)
    assert (found.rule, found.location.line) == ("CPP-INCLUDE", 2)
    assert "kernel_tiling.h" in found.message
    assert "tiling/tiling.h" in found.message


@pytest.mark.usefixtures("compiler")
def test_file_without_a_kernel(tmp_path: Path) -> None:
    (found,) = refused("int f() { return 1; }\n", tmp_path)
    assert found.rule == "CPP-KERNEL"


@pytest.mark.usefixtures("compiler")
def test_kernel_that_is_not_there(kernels: Path) -> None:
    (found,) = ptokit.check(f"{kernels / 'features.cpp'}:rinh", target="a5").diagnostics
    assert found.rule == "CPP-KERNEL"
    assert "ring" in str(found.hint)


@pytest.mark.usefixtures("compiler")
def test_compiling_takes_no_longer_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CXX_SECONDS", "1")
    endless = "constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) s += i % 7; return s; }\n"
    text = endless + "static_assert(f(1L << 40) > 0);\n"
    path = tmp_path / "kernel.cpp"
    path.write_text("#pragma clang diagnostic push\n" + text)
    (found,) = ptokit.check(path, target="a2a3").diagnostics
    assert found.rule in ("CPP-LIMIT", "CPP-COMPILE")


def test_without_a_compiler_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTOKIT_CXX", "/bin/false")
    (found,) = refused("int f();\n", tmp_path)
    assert found.rule == "CPP-COMPILER"
    with pytest.raises(DiagnosticError, match="CPP-COMPILER"):
        find_compiler()


@pytest.mark.usefixtures("compiler")
def test_what_is_kept_is_not_used_when_a_header_changes(tmp_path: Path) -> None:
    (tmp_path / "size.h").write_text("constexpr int SIZE = 64;\n")
    text = """#include <pto/pto-inst.hpp>
#include "size.h"
using namespace pto;
__global__ AICORE void kernel(__gm__ float* x) {
    Tile<TileType::Vec, float, 8, SIZE> t;
    TASSIGN(t, 0);
    TADDS(t, t, 1.0f);
}
"""
    assert refused(text, tmp_path) == []
    (tmp_path / "size.h").write_text("constexpr int SIZE = 60;\n")
    (found,) = refused(text, tmp_path)
    assert "60" in found.message


@pytest.mark.usefixtures("compiler")
def test_what_is_declared_only_is_refused_where_it_is_used(tmp_path: Path) -> None:
    text = (
        "#include <pto/pto-inst.hpp>\n"
        "__global__ AICORE void k(__gm__ float* x) {\n"
        "    copy_matrix_cc_to_gm(x, nullptr, 0, 1, 1, 0, 0);\n"
        "}\n__global__ AICORE void other(__gm__ float* x) { pipe_barrier(PIPE_ALL); }\n"
    )
    (found,) = refused(text, tmp_path)
    assert (found.rule, found.location.line) == ("CPP-CALL", 3)
    assert "copy_matrix_cc_to_gm" in found.message


MISTAKES = {
    # a mistake in this kernel, by what is written instead of what: the line, and what the hint says
    "no header": ("#include <pto/pto-inst.hpp>\n", "\n", 2, "#include <pto/pto-inst.hpp>"),
    "no namespace": ("using namespace pto;", "", 4, "using namespace pto;"),
    "too few arguments": ("float, 16, 64>;", "float, 16>;", 4, None),
    "a method": ("float(n)", "a.GetValidRows()", 8, "GetValidRow"),
    "other letters": ("TEXPANDS(", "TExpands(", 8, "TEXPANDS"),
    "an event": ("TSTORE", "set_flag(PIPE_V, PIPE_S, EVENT_ID9);\n  TSTORE", 10, "EVENT_ID7"),
    "another library": ("float(n)", "float(GetBlockIdx())", 8, "get_block_idx"),
    "an enumerator": ("CAST_RINT", "RINT", 9, "CAST_RINT"),
    "heap": ("TSTORE", "y[0] = *new float[n];\n  TSTORE", 10, "array of a known size"),
    "printing": ("TSTORE", 'cce::printf("%d", n);\n  TSTORE', 10, "TPRINT"),
    "mathematics": ("float(n)", "std::sqrt(float(n))", 8, "TSQRT"),
}
RIGHT = """#include <pto/pto-inst.hpp>
using namespace pto;
__global__ AICORE void k(__gm__ float* y, __gm__ float* x, int n) {
  using T = Tile<TileType::Vec, float, 16, 64>;
  T a, b;
  TASSIGN(a, 0x0);
  TASSIGN(b, 0x2000);
  TEXPANDS(a, float(n));
  TCVT(b, a, RoundMode::CAST_RINT);
  TSTORE(GlobalTensor<float, Shape<1, 1, 1, 16, 64>, Stride<1, 1, 1, 64, 1>>(y), b);
}
"""


@pytest.mark.usefixtures("compiler")
def test_a_mistake_is_one_finding_with_what_to_write(tmp_path: Path) -> None:
    for name, (old, new, line, hint) in MISTAKES.items():
        text = (
            "#include <cmath>\n" + RIGHT.replace(old, new, 1) if name == "mathematics" else RIGHT.replace(old, new, 1)
        )
        found = refused(text, tmp_path)
        assert len(found) == 1, (name, found)
        assert found[0].location.line == line + (name == "mathematics"), (name, found)
        assert (hint is None) or hint in found[0].message + (found[0].hint or ""), (name, found)


@pytest.mark.usefixtures("compiler")
def test_a_variable_that_is_read_before_it_is_set_is_a_warning(tmp_path: Path) -> None:
    """Also from the cache, once for both kinds of cores; it is zero."""
    text = (
        "#include <pto/pto-inst.hpp>\n__global__ AICORE void k(__gm__ int32_t* x, int32_t n) {\n"
        "int32_t sum, other, set = 1;\nif (n > 3)\nother = 2;\nx[7] = other + set;\n"
        "for (int k = 0; k < n; k++)\nsum += x[k];\nx[0] = sum;\n}\n"
    )
    for version in (text.replace("int32_t sum", "#ifdef __DAV_VEC__\n#endif\nint32_t sum"), text):
        for _ in range(2):
            found = refused(version, tmp_path)
            seen = {(d.message, version.splitlines()[d.location.line - 1]) for d in found}
            assert {(d.rule, d.severity.name) for d in found} == {("CPP-UNSET", "WARNING")}
            assert len(found) == 2
            assert ("sum is read before it is set", "sum += x[k];") in seen
            assert ("other is read before it is set", "if (n > 3)") in seen
    kernel = ptokit.cpp(tmp_path / "kernel.cpp", target="a2a3")["k"]
    assert len(kernel.check()) == 2
    x = np.arange(8, dtype=np.int32)
    kernel(x, 3)
    assert (x[0], x[7]) == (3, 1)


@pytest.mark.usefixtures("compiler")
def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    (found,) = ptokit.check(tmp_path / "kernel.cpp", target="a5").diagnostics
    assert (found.rule, found.message) == ("TEXT-FILE", "cannot read the file: No such file or directory")


@pytest.mark.usefixtures("compiler")
def test_a_pointer_that_is_null_or_a_variable_is_not_taken_for_the_variable(tmp_path: Path) -> None:
    text = """#include <pto/pto-inst.hpp>
__global__ AICORE void kernel(__gm__ int32_t* x, int32_t n) {
    int32_t a[4];
    for (int i = 0; i < 4; i++) a[i] = x[i + 4];
    int32_t* p = nullptr;
    for (int i = 0; i < n; i++) {
        x[i] = p != nullptr ? p[i] : -5;
        if (x[8] == i) p = a;
    }
}
"""
    (found,) = refused(text, tmp_path)
    assert (found.rule, found.location.line) == ("CPP-POINTER", 7)


@pytest.mark.usefixtures("compiler")
def test_two_arguments_may_be_one_array(tmp_path: Path) -> None:
    text = """#include <pto/pto-inst.hpp>
__global__ AICORE void kernel(__gm__ int32_t* x, __gm__ int32_t* y) {
    if (x == y) x[0] = 1;
}
"""
    (found,) = refused(text, tmp_path)
    assert (found.rule, found.location.line) == ("CPP-POINTER", 3)
    assert found.message == "x and y are compared, which may be one array"


@pytest.mark.usefixtures("compiler")
def test_what_c_plus_plus_lacks_is_not_told_in_python(tmp_path: Path) -> None:
    """No call in Python is the advice, and notes of warnings that are not shown belong to none of what is."""
    text = """#include <pto/pto-inst.hpp>
#include <pto/comm/pto_comm_inst.hpp>
__global__ AICORE void kernel(__gm__ float* x) {
    using namespace pto;
    using Row = GlobalTensor<float, Shape<1, 1, 1, 1, 64>, Stride<1, 1, 1, 64, 1>>;
    Row a(x), b(x);
    comm::TPUT(a, b);
}
"""
    (found,) = refused(text, tmp_path)
    assert (found.rule, found.hint) == ("CPP-OPERANDS", None)
    assert found.message == "comm.tput(dst, src, ping, [pong]) lacks ping"
    said = (
        "/k.cpp:1:1: error: expected ';'\n/k.cpp:1:1: note: of the error\n"
        "/k.cpp:2:2: warning: unused\n/k.cpp:2:2: note: of the warning"
    )
    (made,) = findings(said, "/k.cpp", "k.cpp")
    assert [note.message for note in made.remarks] == ["of the error"]
