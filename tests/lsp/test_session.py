"""The language server as an editor meets it: a process, spoken to over its pipes."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import BaseLanguageClient
from pygls.workspace import TextDocument

from ptokit.lsp.index import EditorPositions, build
from ptokit.lsp.server import Server

URI = "file:///kernel.pto"
TEXT = """\
module attributes {pto.target_arch = "a5"} {
  func.func @double(%x: !pto.ptr<f32>) {
    %c0 = arith.constant 0 : i64
    %t = pto.alloc_tile addr = %c0 : !pto.tile_buf<vec, 16x64xf32>
    // a comment with wide characters: 𝛼𝛽
    pto.tadd ins(%t, %t : !pto.tile_buf<vec, 16x64xf32>, !pto.tile_buf<vec, 16x64xf32>)
      outs(%t : !pto.tile_buf<vec, 16x64xf32>)
    return
  }
}
"""
FORMATTED = TEXT.replace("xf32>)\n      outs", "xf32>) outs")
BAD = TEXT.replace("16x64xf32>, !pto", "16x64xf16>, !pto")


Inboxes = dict[str, asyncio.Queue[lsp.PublishDiagnosticsParams]]
"""What the server has sent of each text."""


class Editor:
    """A client and one text of its own, open from `open` to the end of the test."""

    def __init__(self, client: BaseLanguageClient, inboxes: Inboxes, uri: str) -> None:
        self.client = client
        self.uri, self.inboxes = uri, inboxes
        self.published = inboxes[uri] = asyncio.Queue()
        self.document = lsp.TextDocumentIdentifier(uri)

    async def open(self, text: str) -> list[lsp.Diagnostic]:
        """Open the text; what the server finds in it."""
        item = lsp.TextDocumentItem(self.uri, "pto", 1, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.findings()

    async def close(self) -> list[lsp.Diagnostic]:
        """Close the text; what is left of the findings."""
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(self.document))
        return await self.findings()

    async def change(self, text: str, version: int = 2) -> None:
        """Replace the text."""
        whole = lsp.TextDocumentContentChangeWholeDocument(text)
        document = lsp.VersionedTextDocumentIdentifier(version, self.uri)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [whole]))

    async def findings(self) -> list[lsp.Diagnostic]:
        """The next findings that the server sends."""
        return list((await asyncio.wait_for(self.published.get(), 30)).diagnostics)

    async def completion(self, line: int, character: int) -> list[str]:
        """What may stand at a place."""
        params = lsp.CompletionParams(self.document, lsp.Position(line, character))
        listed = await self.client.text_document_completion_async(params)
        assert isinstance(listed, lsp.CompletionList)
        return [item.label for item in listed.items]

    async def formatted(self) -> list[str] | None:
        """The texts of the edits that lay out the text."""
        params = lsp.DocumentFormattingParams(self.document, lsp.FormattingOptions(2, True))
        edits = await self.client.text_document_formatting_async(params)
        return None if edits is None else [edit.new_text for edit in edits]

    async def hover(self, line: int, character: int) -> str:
        """What the server shows at a place."""
        params = lsp.HoverParams(self.document, lsp.Position(line, character))
        found = await self.client.text_document_hover_async(params)
        assert found is None or isinstance(found.contents, lsp.MarkupContent)
        return "" if found is None else found.contents.value


Body = Callable[[Editor], Coroutine[Any, Any, None]]
Shared = Callable[[Body], None]


@asynccontextmanager
async def connected(*arguments: str, options: object = None) -> AsyncIterator[Callable[[], Editor]]:
    """A server process; a function that makes editors of further texts with it."""
    client = BaseLanguageClient("test", "1")
    inboxes: Inboxes = {}
    numbers = count()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def publish(params: lsp.PublishDiagnosticsParams) -> None:
        inboxes[params.uri].put_nowait(params)

    await client.start_io(sys.executable, "-m", "ptokit", "lsp", *arguments)
    try:
        await client.initialize_async(lsp.InitializeParams(lsp.ClientCapabilities(), initialization_options=options))
        client.initialized(lsp.InitializedParams())
        yield lambda: Editor(client, inboxes, f"file:///kernel{next(numbers)}.pto")
    finally:
        await asyncio.wait_for(client.shutdown_async(None), 30)
        client.exit(None)
        await asyncio.wait_for(client.stop(), 30)


def session(body: Body, *arguments: str, options: object = None) -> None:
    """Run `body` with a server of its own."""

    async def run() -> None:
        async with connected(*arguments, options=options) as editor:
            await asyncio.wait_for(body(editor()), 60)

    asyncio.run(run())


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    """Runs bodies with one server that was started without options, each with a text of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def done(work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(90)

    connection = connected()
    try:
        editor = done(connection.__aenter__())
        try:
            yield lambda body: done(asyncio.wait_for(body(editor()), 60))
        finally:
            done(connection.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_session(shared: Shared) -> None:
    """Findings come and go with the text; hover, definition, references, outline, completion and format answer."""

    async def body(it: Editor) -> None:
        assert await it.open(TEXT) == []
        await it.change(BAD)
        found = await it.findings()
        assert [d.code for d in found] == ["TY-9"]
        assert found[0].severity is lsp.DiagnosticSeverity.Error
        assert found[0].range == lsp.Range(lsp.Position(5, 17), lsp.Position(5, 19))
        assert found[0].related_information is not None
        assert found[0].related_information[0].location.range.start == lsp.Position(3, 4)
        await it.change(TEXT, 3)
        assert await it.findings() == []

        assert "pipe: V" in await it.hover(5, 9)
        assert "UB bytes 0x0..0xfff" in await it.hover(5, 18)
        assert await it.hover(4, 8) == ""

        at = lsp.Position(5, 18)
        place = await it.client.text_document_definition_async(lsp.DefinitionParams(it.document, at))
        assert place == lsp.Location(it.uri, lsp.Range(lsp.Position(3, 4), lsp.Position(3, 6)))
        nowhere = lsp.DefinitionParams(it.document, lsp.Position(4, 8))
        assert await it.client.text_document_definition_async(nowhere) is None
        params = lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=False), it.document, at)
        uses = await it.client.text_document_references_async(params)
        assert uses is not None
        assert [(u.range.start.line, u.range.start.character) for u in uses] == [(5, 17), (5, 21), (6, 11)]

        symbols = await it.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(it.document))
        assert symbols is not None
        assert [s.name for s in symbols] == ["double"]
        assert {"pto.tload", "pto.tadd", "pto.tmatmul"} <= set(await it.completion(5, 8))
        assert await it.completion(5, 19) == ["%x", "%c0", "%t"]
        assert await it.completion(5, 4) == []

        assert await it.formatted() == [FORMATTED]
        await it.change("module {", 4)
        assert await it.formatted() is None
        assert await it.close() == []

    shared(body)


def test_hasty_typing_and_broken_text(shared: Shared) -> None:
    """Several keys in a row are checked once, and nothing that is typed ends the session."""

    async def body(it: Editor) -> None:
        await it.open(TEXT)
        for version in range(2, 8):
            await it.change(BAD, version)
        await it.change(TEXT, 8)
        assert await it.findings() == []
        assert it.published.empty()
        for version, text in enumerate(["%", "module {", "\0", "pto.tadd ins(", "}" * 300, '"', "!a = !a\n", ""], 9):
            await it.change(text, version)
            await it.findings()
            await it.hover(0, 0)
            await it.hover(99, 99)

    shared(body)


NO_TARGET = TEXT.replace(' attributes {pto.target_arch = "a5"}', "").replace("16x64xf32", "512x128xf32")


@pytest.mark.parametrize(
    ("arguments", "options", "rules"),
    [
        (("--target", "a2a3"), None, ["UB-CAPACITY"]),
        (("--target", "a2a3"), {"target": "a5"}, ["UB-USER"]),
    ],
)
def test_files_that_state_no_target(arguments: tuple[str, ...], options: object, rules: list[str]) -> None:
    """They are checked for the target of the session; the editor's option wins over that of the command line."""

    async def body(it: Editor) -> None:
        assert [d.code for d in await it.open(NO_TARGET)] == rules

    session(body, *arguments, options=options)


def test_files_without_any_target(shared: Shared) -> None:
    """Only their text is checked, and the editor is told."""

    async def body(it: Editor) -> None:
        (found,) = await it.open(NO_TARGET)
        assert (found.code, found.severity) == (None, lsp.DiagnosticSeverity.Information)
        assert "pto.target_arch" in found.message

    shared(body)


def test_positions_count_as_the_editor_counts() -> None:
    """The protocol counts UTF-16 units: two for each of the wide characters in front."""
    text = 'module attributes {note = "\U0001d6fc\U0001d6fd"} {} @\n'
    places = EditorPositions(TextDocument(URI, text))
    (found,) = build(text, URI).diagnostics
    column = text.index("@")
    assert (found.location.line, found.location.column) == (1, column + 1)
    assert places.range(found.location).start == lsp.Position(0, column + 2)
    assert places.ours(lsp.Position(0, column + 2)) == (1, column + 1)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_where_the_protocol_says(end: str) -> None:
    """Not at form feeds and the like, which other ways to split a text take for line ends."""
    text = f"// a\f b \x0b \x85 \u2028 c{end}module {{}} @{end}"
    places = EditorPositions(TextDocument(URI, text))
    (found,) = build(text, URI).diagnostics
    assert places.range(found.location) == lsp.Range(lsp.Position(1, 10), lsp.Position(1, 11))
    assert places.ours(lsp.Position(1, 10)) == (2, 11)
    assert "".join(places.lines) == text


def test_partial_changes_are_not_asked_for() -> None:
    assert Server().protocol is not None
    assert Server()._text_document_sync_kind is lsp.TextDocumentSyncKind.Full


def test_changes_through_the_protocol(shared: Shared) -> None:
    """New names, proposals, highlights and the pages of completions."""

    async def body(it: Editor) -> None:
        await it.open(TEXT)
        at = lsp.Position(5, 18)
        edit = await it.client.text_document_rename_async(lsp.RenameParams(it.document, at, "rows"))
        assert edit is not None
        assert edit.changes is not None
        assert [(e.range.start.line, e.new_text) for e in edit.changes[it.uri]] == [(3, "%rows")] + [
            (5, "%rows")
        ] * 2 + [(6, "%rows")]
        with pytest.raises(JsonRpcException, match="%c0 is a name already"):
            await it.client.text_document_rename_async(lsp.RenameParams(it.document, at, "c0"))
        for place, message in ((lsp.Position(5, 8), "only values"), (lsp.Position(7, 6), "only values")):
            with pytest.raises(JsonRpcException, match=message):
                await it.client.text_document_rename_async(lsp.RenameParams(it.document, place, "x"))
        prepared = await it.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(it.document, at))
        assert prepared == lsp.Range(lsp.Position(5, 17), lsp.Position(5, 19))
        marked = await it.client.text_document_document_highlight_async(lsp.DocumentHighlightParams(it.document, at))
        assert marked is not None
        assert len(marked) == 4

        item = lsp.CompletionItem("pto.tadd")
        page = (await it.client.completion_item_resolve_async(item)).documentation
        assert isinstance(page, lsp.MarkupContent)
        assert "TADD" in page.value

        await it.change(TEXT.replace("pto.tadd", "pto.tdad"))
        (found,) = await it.findings()
        context = lsp.CodeActionContext([found])
        actions = await it.client.text_document_code_action_async(
            lsp.CodeActionParams(it.document, found.range, context)
        )
        assert actions is not None
        action, other = actions
        assert other.title == "Insert the flags that double lacks"
        assert isinstance(action, lsp.CodeAction)
        assert action.edit is not None
        start = found.range.start
        swapped = lsp.Range(
            lsp.Position(start.line, start.character + 5), lsp.Position(start.line, start.character + 7)
        )
        assert action.edit.changes == {it.uri: (lsp.TextEdit(swapped, "ad"),)}

    shared(body)


def test_a_cancelled_request(shared: Shared) -> None:
    async def body(it: Editor) -> None:
        await it.open(TEXT)
        asked = [
            it.client.protocol.send_request_async(
                lsp.TEXT_DOCUMENT_HOVER, lsp.HoverParams(it.document, lsp.Position(5, 9))
            )
            for _ in range(20)
        ]
        tasks = [asyncio.ensure_future(request) for request in asked]
        await asyncio.sleep(0)
        it.client.protocol.notify(lsp.CANCEL_REQUEST, lsp.CancelParams(1))
        for task in tasks[::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert "pipe: V" in await it.hover(5, 9)

    shared(body)


def test_the_process_ends_with_the_status_of_the_protocol() -> None:
    """0 after shutdown and exit, 1 where the editor is gone without them."""

    def message(**content: object) -> bytes:
        text = json.dumps({"jsonrpc": "2.0", **content}).encode()
        return b"Content-Length: %d\r\n\r\n%s" % (len(text), text)

    start = message(id=1, method="initialize", params={"processId": None, "rootUri": None, "capabilities": {}})
    shutdown, leave = message(id=2, method="shutdown"), message(method="exit")
    for sent, status in ((start + shutdown + leave, 0), (start, 1)):
        ran = subprocess.run([sys.executable, "-m", "ptokit", "lsp"], input=sent, capture_output=True, timeout=60)
        assert (ran.returncode, ran.stderr) == (status, b"")


def test_malformed_parameters_and_texts_that_are_nowhere_are_refused() -> None:
    nowhere = {"textDocument": {"uri": "file:///nowhere/k.pto"}, "position": {"line": 0, "character": 0}}
    odd: list[Any] = [None, 5, {}, {"textDocument": 5}, nowhere]
    odd += [{**nowhere, "textDocument": {"uri": uri}} for uri in ("", "file:///%00.pto", "file:///tmp")]
    start = {"processId": None, "rootUri": None, "capabilities": {}}
    asked = [("initialize", start), *(("textDocument/hover", params) for params in odd), ("shutdown", None)]
    sent = b""
    for number, (method, params) in enumerate(asked):
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    ran = subprocess.run([sys.executable, "-m", "ptokit", "lsp"], input=sent, capture_output=True, timeout=60)
    assert b"Traceback" not in ran.stderr
    assert ran.stdout.count(b'"code": -32602') + ran.stdout.count(b'"code":-32602') == len(odd)


def test_requests_before_the_first_one_are_refused() -> None:
    sent = b""
    for number, method in enumerate(("textDocument/hover", "textDocument/didOpen", "shutdown")):
        item = {"uri": URI, "languageId": "pto", "version": 1, "text": TEXT}
        params = {"textDocument": item, "position": {"line": 0, "character": 0}} if number < 2 else None
        content = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number != 1 else {})
        body = json.dumps(content).encode()
        sent += b"Content-Length: %d\r\n\r\n" % len(body) + body
    ran = subprocess.run([sys.executable, "-m", "ptokit", "lsp"], input=sent, capture_output=True, timeout=60)
    assert ran.stdout.count(b"-32002") == 2
    assert ran.stdout.count(b"Content-Length") == 2
    assert b"Traceback" not in ran.stderr
