"""Makes the rule catalogue complete: rules are defined by the modules that check them."""

from __future__ import annotations

import importlib
import pkgutil

import ptokit


def load_catalogue() -> None:
    """Import every module of the package that can define rules: all but the commands and the language server."""
    for module in pkgutil.walk_packages(ptokit.__path__, "ptokit."):
        if not module.name.startswith(("ptokit.cli.", "ptokit.lsp.")) and module.name != "ptokit.__main__":
            importlib.import_module(module.name)
    importlib.import_module("ptokit.cli.rules")
