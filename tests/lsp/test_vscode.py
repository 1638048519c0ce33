"""The extension for Visual Studio Code: what it contributes, and that what it starts is the server."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient

from ptokit.targets import TARGETS

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SETTINGS = PACKAGE["contributes"]["configuration"]["properties"]
DEFAULTS = {name.removeprefix("ptokit."): setting["default"] for name, setting in SETTINGS.items()}


def activated(**settings: Any) -> dict[str, Any]:
    """What the extension has made once it is activated with these settings."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node")
    script = Path(__file__).with_name("activate.js")
    command = [node, str(script), str(EXTENSION / PACKAGE["main"]), json.dumps({**DEFAULTS, **settings})]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    made: dict[str, Any] = json.loads(ran.stdout)
    return made


def test_it_starts_the_server() -> None:
    made = activated(command=[sys.executable, "-m", "ptokit"], target="a5")
    server, how = made["server"], made["how"]
    assert made["shown"] == []

    async def greet() -> lsp.InitializeResult:
        client = BaseLanguageClient("test", "1")
        await client.start_io(server["command"], *server["args"])
        options = how["initializationOptions"]
        result = await client.initialize_async(
            lsp.InitializeParams(lsp.ClientCapabilities(), initialization_options=options)
        )
        await asyncio.wait_for(client.shutdown_async(None), 30)
        client.exit(None)
        await asyncio.wait_for(client.stop(), 30)
        return result

    result = asyncio.run(greet())
    assert result.server_info is not None
    assert result.server_info.name == "ptokit"
    assert how["initializationOptions"] == {"target": "a5"}


def test_settings_choose_files_and_target() -> None:
    made = activated()
    assert made["server"] == {"command": "ptokit", "args": ["lsp"]}
    assert made["how"]["initializationOptions"] == {}
    assert {entry["language"] for entry in made["how"]["documentSelector"]} == {"pto", "python", "cpp"}
    without = activated(checkPython=False, checkCpp=False)
    assert {entry["language"] for entry in without["how"]["documentSelector"]} == {"pto"}


def test_a_server_that_does_not_start_is_explained() -> None:
    (message,) = activated(fails=True)["shown"]
    assert "pip install '.[lsp]' in a clone of ptokit" in message


def test_the_package_says_what_the_code_does() -> None:
    assert [command["command"] for command in PACKAGE["contributes"]["commands"]] == ["ptokit.restart"]
    assert activated()["commands"][0] == "ptokit.restart"
    assert set(SETTINGS["ptokit.target"]["enum"]) == {"", *TARGETS}
    assert PACKAGE["license"] == "Apache-2.0"
    for file in (PACKAGE["main"], *(g["path"] for g in PACKAGE["contributes"]["grammars"])):
        assert (EXTENSION / file).is_file()
