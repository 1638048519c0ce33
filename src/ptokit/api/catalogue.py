"""Makes the rule catalogue complete: rules are defined by the modules that check them."""

from __future__ import annotations

import importlib
import pkgutil

import ptokit

_WITHOUT_RULES = ("ptokit.__main__", "ptokit.workers.child", "ptokit.pytest_plugin")


def load_catalogue() -> None:
    """Import every module of the package that can define rules.

    Those are all but the commands, and what needs packages that need not be there: language server and pytest plugin.
    """
    for module in pkgutil.walk_packages(ptokit.__path__, "ptokit."):
        if not module.name.startswith(("ptokit.cli.", "ptokit.lsp.")) and module.name not in _WITHOUT_RULES:
            importlib.import_module(module.name)
    importlib.import_module("ptokit.cli.rules")  # of the command line
