"""The protocol: what `index` and `hover` know, told to an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams, JsonRpcServerNotInitialized
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification
from pygls.workspace import TextDocument

from ptokit.asm.convert import format_text
from ptokit.diagnostics import Diagnostic, Severity
from ptokit.diagnostics.finding import Lines, proposed
from ptokit.diagnostics.finding import lines_of as source_lines
from ptokit.isa.table import BY_TEXT
from ptokit.targets import Target
from ptokit.targets import target as target_named

from .changes import SIGNATURE_TRIGGERS as SIGNATURE_TRIGGERS
from .changes import (
    SYNCHRONISE,
    TRIGGERS,
    Answer,
    Mended,
    RenameError,
    check,
    complete,
    new_name,
    proposals,
    renamable,
    sanitize,
    signature,
    synchronise,
    synchronising,
    whole_text,
)
from .hover import KINDS, MODIFIERS, coloured, folds, hover, instruction_page
from .index import EditorPositions, Index, build, is_compiled, is_cpp, is_python, kernels

SANITIZE = "ptokit.sanitize"
"""The command that runs a kernel under observation: the text's URI, and the name of the kernel."""

_PAUSE = 0.15  # seconds without a key before the text is checked
_SEVERITIES = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
_NO_TARGET = (
    "only the text is checked: the module states no pto.target_arch, and the server was started without --target"
)


class _Protocol(LanguageServerProtocol):
    """The protocol, in which a message with malformed parameters, or before the first one, is refused in a line."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        method = data.get("method")
        wanted = self.get_message_type(method) if "jsonrpc" in data and isinstance(method, str) else None
        if wanted is None:
            return super().structure_message(data)
        if self._workspace is None and method not in (lsp.INITIALIZE, lsp.EXIT):
            return self._refused(data, "early", JsonRpcServerNotInitialized(f"{method} comes before {lsp.INITIALIZE}"))
        try:
            return self._converter.structure(data, wanted)
        except Exception:  # of many kinds: whatever a value of another type leads to
            refusal = JsonRpcInvalidParams(f"the parameters of {method} are malformed")
            return self._refused(data, "malformed", refusal)

    def _refused(self, data: dict[str, Any], how: str, why: JsonRpcException) -> JsonRPCNotification:
        """Answer a request with an error; a message to which nobody listens."""
        if "id" in data:
            self._send_response(data["id"], None, why.to_response_error())
        return JsonRPCNotification(jsonrpc=self.VERSION, method=f"{how} {data['method']}", params={})


class Server(LanguageServer):
    """One editor's session. ``target`` is that of files that state none."""

    def __init__(self, target: Target | None = None) -> None:
        # Whole texts: the library's own way to apply partial changes has more line ends than the protocol.
        super().__init__(
            "ptokit",
            version("ptokit"),
            text_document_sync_kind=lsp.TextDocumentSyncKind.Full,
            protocol_cls=_Protocol,
        )
        self.target = target
        self.indices: dict[str, tuple[str, Index]] = {}
        self.pending: dict[str, asyncio.TimerHandle] = {}
        self.checking: dict[str, asyncio.Task[None]] = {}  # Python files
        self.seen: dict[tuple[str, str], tuple[str, Answer]] = {}  # by text and command, with the text as it was
        self.asked_to_end = False

    def document(self, uri: str) -> TextDocument:
        """A text that is open, or on disk. Raises `JsonRpcInvalidParams`."""
        document = self.workspace.get_text_document(uri)
        try:
            _ = document.source
        except (OSError, ValueError) as error:
            raise JsonRpcInvalidParams(f"there is no such text: {error}") from None
        return document

    def index(self, uri: str) -> tuple[Index, EditorPositions]:
        """The text as it is now, read anew only if it has changed; of one in Python or C++ there is nothing to say."""
        document = self.document(uri)
        held = self.indices.get(uri)
        if held is None or held[0] != document.source:
            text = "" if is_compiled(uri) else document.source
            held = self.indices[uri] = (document.source, build(text, uri, self.target))
        return held[1], EditorPositions(document)

    def at(
        self, document: lsp.TextDocumentIdentifier, position: lsp.Position
    ) -> tuple[Index, EditorPositions, int | None]:
        """The text, and the token where the editor asks about it."""
        index, places = self.index(document.uri)
        return index, places, index.token_at(*places.ours(position))

    def found(self, uri: str) -> list[Mended]:
        """What is known of a text as it is now: findings of checking it, and of kernels that were run."""
        source = self.document(uri).source
        answers = [answer for (of, _), (was, answer) in self.seen.items() if of == uri and was == source]
        checked = (
            [] if is_compiled(uri) else [(d, proposed(d, self._lines(uri))) for d in self.index(uri)[0].diagnostics]
        )
        return list(dict.fromkeys([*checked, *(each for answer in answers for each in answer.found)]))

    def _lines(self, uri: str) -> Lines:
        lines = source_lines(self.document(uri).source)
        return lambda file: lines if file == uri else ()

    def publish(self, uri: str) -> None:
        """Send the findings of a text; of a file in Python or C++ once it has been checked."""
        self.cancel(uri)
        try:
            source = self.document(uri).source
        except JsonRpcInvalidParams:  # there is nobody to tell
            return
        if not is_compiled(uri):
            self.send(uri)
        elif ("__global__" if is_cpp(uri) else "ptokit") in source and not (is_cpp(uri) and self.target is None):
            self.checking[uri] = asyncio.get_running_loop().create_task(self._check(uri, source))

    async def _check(self, uri: str, source: str) -> None:
        """Check the kernels in a file of Python or C++, as it is on disk, and send the findings."""
        answer = await check(uri, self.target.name if self.target is not None and is_cpp(uri) else "")
        if answer is not None:
            self.seen = {key: value for key, value in self.seen.items() if key[0] != uri or value[0] == source}
            self.seen[uri, "check"] = source, answer
            self.send(uri)

    def send(self, uri: str) -> None:
        """Send the findings that are known."""
        places = EditorPositions(self.document(uri))
        shown = [_finding(d, uri, places) for d, _ in self.found(uri)]
        if not is_compiled(uri):
            index = self.index(uri)[0]
            if index.target is None and not index.diagnostics.errors and index.module.functions:
                top = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1))
                shown.append(lsp.Diagnostic(top, _NO_TARGET, lsp.DiagnosticSeverity.Information, source="ptokit"))
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown))

    async def sanitize(self, uri: str, kernel: str) -> None:
        """Run a kernel under observation, send what is found with the other findings, and say what was run."""
        source = self.document(uri).source
        text = None if is_compiled(uri) else source
        answer = await sanitize(uri, text, kernel, self.target.name if self.target is not None else "")
        self.seen[uri, f"sanitize {kernel}"] = source, answer
        self.send(uri)
        found = len(answer.found)
        result = "" if answer.failed else f": {found} finding{'s' * (found != 1)}" if found else ": no findings"
        kind = lsp.MessageType.Warning if answer.failed or found else lsp.MessageType.Info
        self.window_show_message(lsp.ShowMessageParams(kind, f"ptokit sanitize, {answer.said}{result}"))

    async def synchronise(self, uri: str, kernel: str) -> None:
        """Insert the flags that a kernel lacks, if they are proved, and say what was done."""
        source = self.document(uri).source
        text, said = await synchronise(source, kernel, self.target.name if self.target is not None else "")
        if text is not None and self.document(uri).source == source:
            change = whole_text(EditorPositions(self.document(uri)), uri, text)
            await self.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(change, "ptokit sync"))
        kind = lsp.MessageType.Warning if text is None else lsp.MessageType.Info
        self.window_show_message(lsp.ShowMessageParams(kind, f"ptokit sync: {said}"))

    def publish_soon(self, uri: str) -> None:
        """Send the findings once the user stops typing; of a file in Python or C++ they come when it is saved."""
        self.cancel(uri)
        if is_compiled(uri):
            return
        self.pending[uri] = asyncio.get_running_loop().call_later(_PAUSE, self.publish, uri)

    def cancel(self, uri: str) -> None:
        """Forget a publication that is due."""
        for due in (self.pending.pop(uri, None), self.checking.pop(uri, None)):
            if due is not None:
                due.cancel()


def _finding(diagnostic: Diagnostic, uri: str, places: EditorPositions) -> lsp.Diagnostic:
    message = diagnostic.message + (f"\nhint: {diagnostic.hint}" if diagnostic.hint else "")
    related = [
        lsp.DiagnosticRelatedInformation(lsp.Location(uri, places.range(note.location)), note.message)
        for note in diagnostic.remarks
        if note.location.line
    ]
    return lsp.Diagnostic(
        places.range(diagnostic.location),
        message,
        _SEVERITIES[diagnostic.severity],
        code=diagnostic.rule,
        source="ptokit",
        related_information=related or None,
    )


def make_server(target: Target | None = None) -> Server:
    """A server with its handlers."""
    server = Server(target)

    @server.feature(lsp.INITIALIZE)
    def initialize(params: lsp.InitializeParams) -> None:
        options = params.initialization_options
        wanted = options.get("target") if isinstance(options, dict) else getattr(options, "target", None)
        if isinstance(wanted, str):
            try:
                server.target = target_named(wanted)
            except KeyError:
                message = f"ptokit: initialization option target: there is no target {wanted!r}"
                server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Warning, message))

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.publish_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        server.publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.cancel(uri)
        server.indices.pop(uri, None)
        server.seen = {key: value for key, value in server.seen.items() if key[0] != uri}
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    @server.feature(lsp.SHUTDOWN)
    def shutdown(_: None) -> None:
        server.asked_to_end = True

    _reading(server)
    _writing(server)
    return server


def _reading(server: Server) -> None:
    """Hover, definition, references, outline."""

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def show(params: lsp.HoverParams) -> lsp.Hover | None:
        index, places, token = server.at(params.text_document, params.position)
        text = None if token is None else hover(index, token)
        if token is None or text is None:
            return None
        markup = lsp.MarkupContent(lsp.MarkupKind.Markdown, text)
        return lsp.Hover(markup, places.range(index.location(token)))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        index, places, token = server.at(params.text_document, params.position)
        found = None if token is None else index.definition(token)
        return lsp.Location(params.text_document.uri, places.range(found)) if found is not None else None

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:
        index, places, token = server.at(params.text_document, params.position)
        found = [] if token is None else index.references(token)
        if token is not None and not params.context.include_declaration:
            own = index.definition(token)
            found = [place for place in found if place != own]
        return [lsp.Location(params.text_document.uri, places.range(place)) for place in found]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlight(params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
        index, places, token = server.at(params.text_document, params.position)
        found = [] if token is None else index.references(token)
        return [lsp.DocumentHighlight(places.range(place)) for place in found]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        index, places = server.index(params.text_document.uri)
        out = []
        for function in index.module.functions:
            place = places.range(function.location)
            out.append(lsp.DocumentSymbol(function.name, lsp.SymbolKind.Function, place, place))
        return out

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(KINDS), list(MODIFIERS)))
    def colours(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        return lsp.SemanticTokens(coloured(*server.index(params.text_document.uri)))

    @server.feature(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(params: lsp.FoldingRangeParams) -> list[lsp.FoldingRange]:
        return folds(server.index(params.text_document.uri)[0])

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS, lsp.CodeLensOptions(resolve_provider=False))
    def lenses(params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        index, places = server.index(uri)
        found = kernels(server.document(uri).source) if is_compiled(uri) else index.kernels
        return [
            lsp.CodeLens(places.range(at), lsp.Command(f"Sanitize {name}", SANITIZE, arguments=[uri, name]))
            for name, at in found.items()
        ]

    @server.command(SANITIZE)
    async def sanitize(uri: str, kernel: str) -> None:
        await server.sanitize(uri, kernel)


def _writing(server: Server) -> None:
    """Completion, formatting, new names and proposals."""

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(TRIGGERS, resolve_provider=True))
    def completion(params: lsp.CompletionParams) -> lsp.CompletionList:
        uri = params.text_document.uri
        if is_compiled(uri):
            return lsp.CompletionList(False, [])
        held = server.indices.get(uri)  # of the text before the last keys, perhaps: no time to read it now
        places = EditorPositions(server.document(uri))
        return lsp.CompletionList(False, complete(places, params.position, held and held[1]))

    @server.feature(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, lsp.SignatureHelpOptions(SIGNATURE_TRIGGERS))
    def help(params: lsp.SignatureHelpParams) -> lsp.SignatureHelp | None:
        uri = params.text_document.uri
        return None if is_compiled(uri) else signature(EditorPositions(server.document(uri)), params.position)

    @server.feature(lsp.COMPLETION_ITEM_RESOLVE)
    def resolve(item: lsp.CompletionItem) -> lsp.CompletionItem:
        instr = BY_TEXT.get(item.label.removeprefix("pto."))
        if instr is not None and item.label.startswith("pto."):
            page = instruction_page(instr, server.target)
            item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, page)
        return item

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def format(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        if is_python(params.text_document.uri):
            return None
        document = server.document(params.text_document.uri)
        text = format_text(document.source).text
        if text is None:
            return None
        return [] if text == document.source else [lsp.TextEdit(EditorPositions(document).whole(), text)]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(params: lsp.PrepareRenameParams) -> lsp.Range | None:
        index, places, token = server.at(params.text_document, params.position)
        if token is None:
            return None
        with _refusing():
            renamable(index, token)
        return places.range(index.location(token))

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit | None:
        index, places, token = server.at(params.text_document, params.position)
        if token is None:
            return None
        with _refusing():
            found = renamable(index, token)
            name = new_name(index, token, params.new_name)
        edits = [lsp.TextEdit(places.range(place), name) for place in found]
        return lsp.WorkspaceEdit({params.text_document.uri: edits})

    @server.feature(
        lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, f"source.{SYNCHRONISE}"])
    )
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        found = proposals(server.found(uri), EditorPositions(server.document(uri)), params.range, uri)
        return found if is_compiled(uri) else [*found, *synchronising(*server.index(uri), params)]

    @server.command(SYNCHRONISE)
    async def insert(uri: str, kernel: str) -> None:
        await server.synchronise(uri, kernel)


@contextmanager
def _refusing() -> Iterator[None]:
    """Tell the editor why a name cannot be changed."""
    try:
        yield
    except RenameError as error:
        raise JsonRpcInvalidParams(str(error)) from None
