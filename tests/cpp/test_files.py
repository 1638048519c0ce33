"""Files of C++ in folders, campaigns and editors."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from typer.testing import CliRunner

from ptokit.campaign.case import Action, Status
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import of_paths
from ptokit.cli.main import app

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
