"""Files of C++ in folders, campaigns and editors."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from lsprotocol import types as lsp
from typer.testing import CliRunner

import ptokit
from ptokit.campaign.case import Action, Status
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import of_paths, read_spec
from ptokit.campaign.work import work
from ptokit.cli.main import app
from ptokit.cpp.compiler import find_compiler
from ptokit.diagnostics import DiagnosticError

from ..campaign.here import Here, outcome
from ..lsp.test_session import Editor, session

pytestmark = pytest.mark.usefixtures("compiler")
KERNEL = """#include <pto/pto-inst.hpp>
using namespace pto;
extern "C" __global__ AICORE void add_one(__gm__ float* x) {{
    Tile<TileType::Vec, float, 16, 64> t;
    TASSIGN(t, {address});
    GlobalTensor<float, Shape<1, 1, 1, 16, 64>, Stride<1024, 1024, 1024, 64, 1>> v(x);
    TLOAD(t, v);
    pipe_barrier(PIPE_ALL);
    TADDS(t, t, 1.0f);
    pipe_barrier(PIPE_ALL);
    TSTORE(v, t);
}}
"""
GOOD, BAD = KERNEL.format(address="0x0"), KERNEL.format(address="0x4")


def test_a_folder_and_a_campaign(tmp_path: Path) -> None:
    (tmp_path / "add.cpp").write_text(GOOD)
    (tmp_path / "helpers.cpp").write_text("int helper() { return 1; }\n")
    done = CliRunner().invoke(app, ["check", str(tmp_path), "-t", "a5"])
    assert done.exit_code == 0, done.output
    assert "add.cpp: no findings" in done.output
    assert "helpers" not in done.output
    (tmp_path / "wrong.cpp").write_text(BAD)
    results = tmp_path / "results.sqlite"
    run_campaign(of_paths([str(tmp_path)], [Action.CHECK, Action.RUN], ["a5"]), results, executor=Here())
    told = {(r.id, r.result and r.result.status) for r in outcome(results).rows}
    assert {status for name, status in told if "add.cpp:add_one" in name} == {Status.PASSED}
    assert {status for name, status in told if "wrong.cpp:add_one" in name} == {Status.REFUSED}


@pytest.mark.parametrize(("line", "status"), [('default_target = "a5"\n', Status.PASSED), ("", Status.REFUSED)])
def test_a_campaign_has_to_know_the_target(tmp_path: Path, line: str, status: Status) -> None:
    """C++ states none: that of the campaign counts, and without one the case says so."""
    (tmp_path / "add.cpp").write_text(GOOD)
    (tmp_path / "c.toml").write_text(f'programs = ["add.cpp"]\ndo = ["check"]\n{line}')
    (case,) = read_spec(tmp_path / "c.toml").cases()
    found = work(case)
    assert found.status is status
    assert status is Status.PASSED or "--default-target a5 says what is meant" in found.message


IN_MEMORY = """#include <pto/pto-inst.hpp>
#include "core.h"
using namespace pto;
struct Strip { uint64_t place, bytes; };
extern "C" __aicore__ void scale(__gm__ int64_t* words) {
    using View = GlobalTensor<half, Shape<1, 1, 1, 16, 64>, Stride<1024, 1024, 1024, 64, 1>>;
    auto from = reinterpret_cast<__gm__ Strip*>(words[0]);
    auto to = reinterpret_cast<__gm__ Strip*>(words[1]);
    Tile<TileType::Vec, half, 16, 64> t;
    TASSIGN(t, 0x0);
    View x(reinterpret_cast<__gm__ half*>(from->place)), y(reinterpret_cast<__gm__ half*>(to->place));
    TLOAD(t, x);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMULS(t, t, half(words[2]));
    finish();
    if (from->bytes == to->bytes) TSTORE(y, t);
}
"""
OF_CORE = """static inline void finish() {
#if defined(__DAV_VEC__)
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
#elif defined(__DAV_CUBE__)
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
#else
#error "which core?"
#endif
}
"""


def test_a_function_that_gets_its_arguments_in_memory(tmp_path: Path) -> None:
    """No __global__, a header that refuses to be compiled for no core, and addresses in memory."""
    (tmp_path / "scale.cpp").write_text(IN_MEMORY)
    (tmp_path / "core.h").write_text(OF_CORE)
    file = str(tmp_path / "scale.cpp")
    done = CliRunner().invoke(app, ["check", file, "-t", "a2a3", "--entry", "scale"])
    assert done.exit_code == 0, done.output
    assert "no kernel in this file" in CliRunner().invoke(app, ["check", file, "-t", "a2a3"]).output
    scale = ptokit.cpp(file, target="a2a3", core="vector")["scale"]
    x = np.arange(1024).reshape(16, 64).astype(np.float16)
    y, z = np.zeros_like(x), np.zeros_like(x)
    strip = [x, x.nbytes]
    scale([strip, (y, y.nbytes), 3])
    assert (y == 3 * x).all()
    scale[1]([[x, 0], [z, x.nbytes], 3])
    assert not z.any()
    assert scale.sanitize([strip, strip, np.int64(2)]).clean
    with pytest.raises(DiagnosticError, match="a word of memory is a whole number, an array or a list, not float"):
        scale([strip, strip, 0.5])
    with pytest.raises(DiagnosticError, match="contiguous"):
        scale([[x.T, 0], strip, 1])


def test_a_pointer_to_bytes_takes_bytes(tmp_path: Path) -> None:
    (tmp_path / "add.cpp").write_text(
        GOOD.replace("float* x", "uint8_t* bytes").replace("v(x)", "v(reinterpret_cast<__gm__ float*>(bytes))")
    )
    add = ptokit.cpp(str(tmp_path / "add.cpp"), target="a5")["add_one"]
    x = np.zeros(1024, np.float32)
    add(x)
    add(x.view(np.uint8))
    assert (x == 2).all()
    with pytest.raises(DiagnosticError, match="must have element type f32, not u8"):
        add(x.view(np.uint8)[1:-3])


@pytest.mark.campaign
def test_an_editor_gets_findings_once_a_file_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "add.cpp"
    file.write_text(BAD)

    async def body(it: Editor) -> None:
        it.published = it.inboxes[file.as_uri()] = it.inboxes.pop(it.uri)
        it.uri, it.document = file.as_uri(), lsp.TextDocumentIdentifier(file.as_uri())
        found = await it.open(BAD)
        assert [d.code for d in found] == ["ADDR-ALIGN"]
        file.write_text(GOOD)
        await it.change(GOOD)
        it.client.text_document_did_save(lsp.DidSaveTextDocumentParams(it.document))
        assert await it.findings() == []
        assert await it.hover(0, 0) == ""

    session(body, options={"target": "a5"})


def test_every_clang_of_the_machine_makes_the_same(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Clang 15 and later, and the one in ziglang: kernels have the same results whichever reads them."""
    zig = find_spec("ziglang")
    names = ["clang++", *(f"clang++-{n}" for n in range(15, 31))]
    names += [] if zig is None or zig.origin is None else [f"{Path(zig.origin).parent / 'zig'} c++"]
    made: dict[str, bytes] = {}
    x = np.random.default_rng(8).standard_normal((4, 8, 64)).astype(np.float32)
    for name in names:
        if shutil.which(name.split()[0]) is None:
            continue
        monkeypatch.setenv("PTOKIT_CXX", name)
        try:
            identity = find_compiler().identity
        except DiagnosticError:
            continue  # too old
        if identity not in made:
            results = [np.zeros_like(x) for _ in range(3)]
            for kernel, y in zip(("ring", "lambdas", "table"), results):
                ptokit.cpp(kernels / "features.cpp", target="a5")[kernel](x, y, 4)
            made[identity] = b"".join(y.tobytes() for y in results)
    if len(made) < 2:
        pytest.skip("this machine has one clang")
    assert len(set(made.values())) == 1, list(made)
