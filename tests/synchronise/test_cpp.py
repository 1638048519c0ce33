"""Flags in C++ source: in the loops and branches of its text, which stays as it is; and where none can be written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ptokit
from ptokit.api.synchronise import Synchronised, synchronise
from ptokit.cpp.compiler import find_compiler
from ptokit.diagnostics import DiagnosticError
from ptokit.sanitize.findings.texts import CppStatement, CppText
from tests.each import each

pytest.importorskip("z3")

try:
    find_compiler()
except DiagnosticError:
    pytest.skip("there is no clang", allow_module_level=True)

HEAD = """#include <pto/pto-inst.hpp>
using namespace pto;
using Strip = Tile<TileType::Vec, float, 16, 64>;
using Rows = GlobalTensor<float, Shape<1, 1, 1, 16, 64>, Stride<1, 1, 1, 64, 1>>;

// Called twice.
AICORE inline void load(Strip& t, __gm__ float* x) {
    Rows rows(x);
    TLOAD(t, rows);
    TADDS(t, t, 1.0f);  // and one
}
"""
LOOP = """
__global__ AICORE void strips(__gm__ float* y, __gm__ float* x, int n) {
    Strip t;
    TASSIGN(t, 0);
    // all of them
    for (int i = 0; i < n; i++) {
        load(t, x + i * 1024);
        Rows out(y + i * 1024);
        TSTORE(out,
               t);  // back
    }
    load(t, x);
}
"""


def at(folder: Path, text: str, **options: object) -> Synchronised:
    file = folder / "kernel.cpp"
    file.write_text(text)
    return synchronise(str(file), target="a2a3", **options)  # type: ignore[arg-type]


def added(made: Synchronised) -> list[str]:
    """What is new, and before which line of the text, without its blanks; nothing else has changed."""
    assert made.text.count("\n") == made.old.count("\n") + sum((e.text or "").count("\n") + 1 for e in made.edits)
    old = made.old.splitlines()
    return [f"{(e.text or '').strip()} < {old[e.line - 1].strip()}" for e in made.edits]


STRAIGHT = """
__global__ AICORE void strips(__gm__ float* y, __gm__ float* x) {
    Strip t;
    TASSIGN(t, 0);
    load(t, x);
    Rows out(y);
    TSTORE(out,
           t);  // back
    pipe_barrier(PIPE_V);
    load(t, x + 1024);
}
"""
INSIDE = [
    "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); < TADDS(t, t, 1.0f);  // and one",
    "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); < TADDS(t, t, 1.0f);  // and one",
]


def test_flags_go_into_the_text_and_into_functions_that_are_called_twice(tmp_path: Path) -> None:
    made = at(tmp_path, HEAD + STRAIGHT)
    assert (made.proved, made.minimal, made.barriers) == (True, True, ())
    assert added(made) == [
        *INSIDE,
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); < Rows out(y);",
        "wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); < TSTORE(out,",
        "set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < pipe_barrier(PIPE_V);",
        "wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < load(t, x + 1024);",
    ]
    assert list(tmp_path.iterdir()) == [tmp_path / "kernel.cpp"]


@pytest.mark.campaign
def test_a_barrier_that_is_superfluous_is_taken_out(tmp_path: Path) -> None:
    made = at(tmp_path, HEAD + STRAIGHT)
    less = at(tmp_path, made.text, minimise=True)
    assert (less.proved, [s.what for s in less.superfluous or ()]) == (True, ["the barrier of PIPE_V"])
    assert less.text == made.text.replace("    pipe_barrier(PIPE_V);\n", "")


@pytest.mark.campaign
def test_loops_carry_flags_and_those_of_two_slots_rotate(tmp_path: Path) -> None:
    made = at(tmp_path, HEAD + LOOP)
    assert (made.proved, made.minimal, made.barriers) == (True, True, ())
    assert added(made) == [
        *INSIDE,
        "set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < for (int i = 0; i < n; i++) {",
        "wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < load(t, x + i * 1024);",
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); < Rows out(y + i * 1024);",
        "wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0); < TSTORE(out,",
        "set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < }",
        "wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0); < load(t, x);",
    ]
    two = LOOP.replace("Strip t;", "Strip s[2];").replace(
        "TASSIGN(t, 0);", "TASSIGN(s[0], 0);\n    TASSIGN(s[1], 4096);"
    )
    two = two.replace("int i = 0; i < n; i++", "int i = 3; i < n; i += 2")
    two = two.replace("(t, x + ", "(s[(i - 3) / 2 % 2], x + ").replace(" t);", " s[(i - 3) / 2 % 2]);")
    made = at(tmp_path, HEAD + two.replace("load(t, x);", "load(s[0], x);"))
    assert made.proved
    assert [f.ids for f in made.flags] == [1, 2, 2]
    assert "event_t sync0 = (event_t)((i - 3) / 2 % 2);" in made.text
    assert "set_flag(PIPE_V, PIPE_MTE3, sync0);" in made.text


TWO = """
__global__ AICORE void two(__gm__ float* x) {
    Strip a, b;
    TASSIGN(a, 0);
    TASSIGN(b, 4096);
    Rows rows(x), more(x + 1024);
    TLOAD(a, rows);
    TLOAD(b, more);
    TADDS(a, a, 1.0f);
    TADDS(b, b, 1.0f);
}
"""


def test_a_pipe_does_not_wait_for_the_second_load_to_work_on_the_first(tmp_path: Path) -> None:
    made = at(tmp_path, HEAD + TWO, goal="overlap")
    assert (made.proved, made.minimal, made.untimed) == (True, True, "")
    assert added(made) == [
        "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); < TLOAD(b, more);",
        "set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1); < TADDS(a, a, 1.0f);",
        "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0); < TADDS(a, a, 1.0f);",
        "wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1); < TADDS(b, b, 1.0f);",
    ]
    assert made.predicted is not None
    assert made.predicted.cycles < made.predicted.count < made.predicted.barriers


def cycles(text: str, folder: Path, arguments: list[str]) -> float:
    """Of a text as it is."""
    (folder / "again.cpp").write_text(text)
    return ptokit.time(str(folder / "again.cpp"), arguments, target="a2a3").work


@pytest.mark.campaign
def test_what_a_launch_takes_is_predicted_for_the_text_as_it_is_written(tmp_path: Path) -> None:
    """Loops, functions that are called twice, ids in rotation, and both kinds of cores."""
    slots = LOOP.replace("Strip t;", "Strip s[2];").replace("    load(t, x);\n}", "}").replace("i < n", "i < 6")
    slots = slots.replace("TASSIGN(t, 0);", "TASSIGN(s[0], 0);\n    TASSIGN(s[1], 4096);")
    slots = slots.replace("(t, x + i * 1024)", "(s[i % 2], x)").replace(
        "               t);", "               s[i % 2]);"
    )
    for text in (LOOP, slots, CLUSTER):
        few, fast = (at(tmp_path, HEAD + text, goal=goal) for goal in ("count", "overlap"))
        assert fast.proved
        assert fast.predicted is not None, fast.untimed
        arguments = re.findall(r"-a (\S+)", fast.predicted.launch)
        assert fast.predicted.cycles == pytest.approx(cycles(fast.text, tmp_path, arguments))
        assert fast.predicted.count == pytest.approx(cycles(few.text, tmp_path, arguments))
        assert fast.predicted.cycles <= fast.predicted.count < fast.predicted.barriers


CLUSTER = """
__global__ AICORE void mix(__gm__ half* a, __gm__ float* y, __gm__ float* x, int n) {
    Tile<TileType::Mat, half, 64, 64, BLayout::ColMajor, 64, 64, SLayout::RowMajor> l1;
    TileLeft<half, 64, 64> left;
    TASSIGN(l1, 0);
    TASSIGN(left, 0);
    Strip t;
    TASSIGN(t, 0);
    for (int i = 0; i < n; ++i) {
#ifdef __DAV_CUBE__
        GlobalTensor<half, Shape<1, 1, 1, 64, 64>, Stride<1, 1, 1, 64, 1>> in(a + i * 4096);
        TLOAD(l1, in);
        TMOV(left, l1);
#else
        Rows in(x), out(y);
        TLOAD(t, in);
        TSTORE(out, t);
#endif
    }
}
"""


@pytest.mark.campaign
def test_where_both_kinds_of_cores_have_a_loop_each_gets_its_own_flags(tmp_path: Path) -> None:
    made = at(tmp_path, HEAD + CLUSTER)
    assert made.proved
    before = [e.text for e in made.edits if made.old.splitlines()[e.line - 1].strip().startswith("for")]
    assert before == [
        "#ifdef __DAV_CUBE__\n    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);\n#endif",
        "#ifdef __DAV_VEC__\n    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);\n#endif",
    ]


REFUSED = {
    "shares": ("{ load(t, x); Rows out(y); TSTORE(out, t); }", "shares its line"),
    "single": ("load(t, x); Rows out(y);\n    if (n > 3)\n        TSTORE(out, t);", "shares its line"),
    "macro": ("BOTH(t, x, y)", "shares its line"),
}
MORE = """
#define BOTH(t, x, y) do { load(t, x); Rows out(y); TSTORE(out, t); } while (0);
"""
KERNEL = """
__global__ AICORE void {name}(__gm__ float* y, __gm__ float* x, int n) {{
    Strip t;
    TASSIGN(t, 0);
    {body}
}}
"""


@each("name", REFUSED)
def test_where_no_line_can_be_inserted_it_says_so(name: str, tmp_path: Path) -> None:
    text = HEAD + MORE + "".join(KERNEL.format(name=each, body=body) for each, (body, _) in REFUSED.items())
    with pytest.raises(DiagnosticError, match=f"{REFUSED[name][1]}.*SYNC-PLACE"):
        at(tmp_path, text, entry=name)


def shown(statements: list[CppStatement], text: str) -> list[object]:
    """The kind and first word of statements, with what is in them; ``!`` for those that no line can go beside."""
    lines = text.splitlines()
    return [
        (
            f"{'' if s.alone else '!'}{s.kind} {lines[s.start[0] - 1][s.start[1] - 1 :].split()[0]}",
            *(shown(p, text) for p in s.parts),
        )
        for s in statements
    ]


def test_statements_of_cpp_begin_and_end_where_they_do() -> None:
    text = """#define X { ;
namespace n {
void f(int n) {  // { not this
    for (int i = 0; i < n; i++) {
        a("}", '{', 1'000);
        b(); c();
    }
    if constexpr (n > 3) d();
    else {
        auto l = [&](int k) {
            e(k);
        };
    }
    switch (n) {
    case 1:
    case 2: {
        g();
        break;
    }
    default:
        h();
    }
    do {
        i();
    } while (n);
    __VEC_SCOPE__ {
        j();
    }
}
}
"""
    found = CppText(text)
    function = found.around(5, 9, whole=True)[1][0]
    assert shown(function.parts[0], text) == [
        ("loop for", [("simple a(\"}\",",), ("!simple b();",), ("!simple c();",)]),
        ("choice if", [("!simple d();",)], [("simple auto", [("simple e(k);",)])]),
        ("choice switch", [], [("label case",), ("!label case",), ("!block {", [("simple g();",), ("simple break;",)])],
         [("label default:",), ("simple h();",)]),
        ("loop do", [("simple i();",)]),
        ("scope __VEC_SCOPE__", [("simple j();",)]),
    ]  # fmt: skip
    assert [s.kind for s, _ in found.around(11, 13)] == ["simple"]
    assert [s.kind for s, _ in found.around(17, 9)] == ["choice", "block", "simple"]
    assert CppText("void f() { a();").around(1, 12) == []


SQUARE = """#include <pto/pto-inst.hpp>
using namespace pto;

template <int N>
__global__ AICORE void square(__gm__ float *x, __gm__ float *y, __gm__ float *slot, int n)
{
    using Whole = GlobalTensor<float, Shape<1, 1, 1, N, N>, Stride<N * N, N * N, N * N, N, 1>>;
    using Half = GlobalTensor<float, Shape<1, 1, 1, N / 2, N>, Stride<N * N, N * N, N * N, N, 1>>;
#ifdef __DAV_CUBE__
    Tile<TileType::Mat, float, N, N, BLayout::ColMajor, N, N, SLayout::RowMajor> mat;
    TileLeft<float, N, N> left;
    TileRight<float, N, N> right;
    TileAcc<float, N, N> out;
    TASSIGN(mat, 0x0);
    TASSIGN(left, 0x0);
    TASSIGN(right, 0x0);
    TASSIGN(out, 0x0);
    for (int i = 0; i < n; ++i) {
        Whole from(x + i * N * N), to(slot + (i % 2) * N * N);
        TLOAD(mat, from);
        pipe_barrier(PIPE_ALL);
        TMOV(left, mat);
        TMOV(right, mat);
        pipe_barrier(PIPE_ALL);
        TMATMUL(out, left, right);
        pipe_barrier(PIPE_ALL);
        TSTORE(to, out);
        pipe_barrier(PIPE_ALL);
    }
#else
    Tile<TileType::Vec, float, N / 2, N> rows;
    TASSIGN(rows, 0x0);
    const int half = get_subblockid() * N * N / 2;
    for (int i = 0; i < n; ++i) {
        Half from(slot + half + (i % 2) * N * N), to(y + half + i * N * N);
        TLOAD(rows, from);
        pipe_barrier(PIPE_ALL);
        TSTORE(to, rows);
        pipe_barrier(PIPE_ALL);
    }
#endif
}
template __global__ AICORE void square<32>(__gm__ float *x, __gm__ float *y, __gm__ float *slot, int n);
"""


def test_a_signal_between_the_cores_of_a_cluster(tmp_path: Path) -> None:
    once = re.sub(r"for \(int i = 0.*\{", "{", SQUARE).replace("i * N * N", "0").replace("(i % 2) * N * N", "0")
    made = at(tmp_path, once.replace("pipe_barrier(PIPE_ALL);\n    }", "}"))
    assert made.proved
    assert added(made) == [
        "ffts_cross_core_sync(PIPE_FIX, getFFTSMsg(2, 0)); < }",
        "wait_flag_dev(0); < TLOAD(rows, from);",
    ]


@pytest.mark.campaign
def test_signals_between_the_cores_of_a_cluster(tmp_path: Path) -> None:
    made = at(tmp_path, SQUARE)
    assert made.proved
    set_, wait = "ffts_cross_core_sync(PIPE_{}, getFFTSMsg(2, {}));", "wait_flag_dev({});"
    assert added(made) == [
        f"{wait.format(1)} < TSTORE(to, out);",
        f"{set_.format('FIX', 0)} < pipe_barrier(PIPE_ALL);",
        f"#ifdef __DAV_CUBE__\n    {wait.format(1)}\n    {wait.format(1)}\n#endif < #else",
        "#ifdef __DAV_VEC__\n    {0}\n    {0}\n#endif < for (int i = 0; i < n; ++i) {{".format(set_.format("MTE2", 1)),
        f"{wait.format(0)} < TLOAD(rows, from);",
        f"{set_.format('MTE2', 1)} < pipe_barrier(PIPE_ALL);",
    ]
    (tmp_path / "kernel.cpp").write_text(made.text)
    proof = ptokit.prove(str(tmp_path / "kernel.cpp"), target="a2a3", blocks=1)
    assert proof.proved, str(proof)
    assert "slot of 2048 elements" in proof.needs
