"""Whatever an editor sends: every request has its answer, and none is an internal error."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .files import VALUES, Files

URIS = ["file:///a.pto", "file:///b.pto", "file:///c.py"]
ODD_URIS = ["", "x", "file:///nowhere/k.pto", "file:///%00.pto", "file:///tmp", "http://x/y.pto", "file:///\ud800.pto"]
SHOWN = ["hover", "definition", "documentHighlight", "signatureHelp", "prepareRename", "completion"]
REQUESTS = [*SHOWN, "references", "documentSymbol", "semanticTokens/full", "foldingRange", "formatting", "rename"]
REQUESTS += ["codeAction"]


class Session:
    """Messages of one session. ``asked``: the ids of its requests."""

    def __init__(self, folder: Path, seed: int, count: int) -> None:
        self.files = Files(folder, seed)
        self.rng, self.asked, self.sent = self.files.rng, list[Any](), b""
        start = {"processId": None, "rootUri": None, "capabilities": {}}
        self.request("initialize", self.damaged(start) if self.rng.random() < 0.1 else start)
        for _ in range(count):
            self.message()
        self.request("shutdown", None)
        self.send(method="exit")

    def send(self, **content: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **content}).encode()
        self.sent += b"Content-Length: %d\r\n\r\n" % len(body) + body

    def request(self, method: str, params: Any) -> None:
        self.asked.append(len(self.asked) + 1 if self.rng.random() < 0.9 else f"x{len(self.asked)}")
        self.send(id=self.asked[-1], method=method, params=params)

    def damaged(self, params: Any) -> Any:
        """The parameters with one value of another kind, or without it."""
        params = json.loads(json.dumps(params))
        at, key = {"": params}, ""
        while isinstance(at[key], (dict, list)) and at[key] and (key == "" or self.rng.random() < 0.7):
            at = at[key]
            key = self.rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
        if key == "":
            return self.rng.choice(VALUES)
        if isinstance(at, dict) and self.rng.random() < 0.3:
            del at[key]
        else:
            at[key] = self.rng.choice(VALUES)
        return params

    def position(self) -> dict[str, int]:
        rng, far = self.rng, [0, 1 << 31, 10**6, (1 << 32) - 1]
        return {
            "line": rng.choice([rng.randrange(40), rng.choice(far)]),
            "character": rng.choice([rng.randrange(60), 0]),
        }

    def message(self) -> None:
        """A request or a notification, most of them as they should be."""
        rng = self.rng
        document: dict[str, Any] = {"uri": rng.choice(URIS if rng.random() < 0.9 else ODD_URIS)}
        kind = rng.choice(["open", "change", "change", "save", "close", *["ask"] * 15])
        params: dict[str, Any] = {"textDocument": document}
        text = self.files.text().encode(errors="replace").decode()
        if kind == "open":
            document |= {"languageId": "pto", "version": 1, "text": text}
        elif kind == "change":
            document["version"] = rng.randrange(9)
            params["contentChanges"] = [{"text": text}]
            if rng.random() < 0.2:
                params["contentChanges"][0]["range"] = {"start": self.position(), "end": self.position()}
        elif kind == "ask":
            method = rng.choice(REQUESTS)
            params |= {"position": self.position(), "context": {"includeDeclaration": True, "diagnostics": []}}
            params |= {
                "range": {"start": self.position(), "end": self.position()},
                "newName": rng.choice("%x @k 1 -".split()),
            }
            params |= {"options": {"tabSize": 2, "insertSpaces": True}}
        if rng.random() < 0.15:
            params = self.damaged(params)
        if kind != "ask":
            self.send(method=f"textDocument/did{kind.capitalize()}", params=params)
        elif rng.random() < 0.03:
            label = {"label": rng.choice(["pto.tadd", "pto.x", "", "\ud800"])}
            self.request("completionItem/resolve", self.damaged(label) if rng.random() < 0.3 else label)
        else:
            self.request(f"textDocument/{method}" if rng.random() < 0.97 else rng.choice(["", "x", "$/x"]), params)


def play(folder: Path, first: int, sessions: int, count: int) -> None:
    for seed in range(first, first + sessions):
        session = Session(folder, seed, count)
        server = [sys.executable, "-m", "ptokit", "lsp", "-t", random.Random(seed).choice(["a5", "a2a3", "cpu"])]
        ran = subprocess.run(server, input=session.sent, capture_output=True, timeout=300)
        bodies = re.split(rb"Content-Length: \d+\r\n(?:Content-Type: [^\r]*\r\n)?\r\n", ran.stdout)[1:]
        answers = [message for message in map(json.loads, bodies) if "method" not in message]
        wrong = [a for a in answers if a.get("error", {}).get("code") == -32603]
        assert not wrong, (seed, wrong, ran.stderr[-2000:])
        assert b"Traceback" not in ran.stderr, (seed, ran.stderr[-2000:])
        assert sorted(str(a["id"]) for a in answers) == sorted(map(str, session.asked)), (seed, ran.stderr[-2000:])
        (shutdown,) = [a for a in answers if a["id"] == session.asked[-1]]
        assert ran.returncode == ("error" in shutdown), seed  # of a session that has not begun


def test_random_messages(tmp_path: Path) -> None:
    play(tmp_path, 0, 1, 120)


@pytest.mark.campaign
def test_many_random_messages(tmp_path: Path) -> None:
    play(tmp_path, 100, 50, 200)
