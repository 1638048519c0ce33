"""What a module says about its target."""

from __future__ import annotations

from ptokit.targets import Target, target

from .core import Module


def stated_target(module: Module) -> Target | None:
    """The target of the module's ``pto.target_arch``, or None if it has none that ptokit knows."""
    name = module.attrs.get("pto.target_arch")
    try:
        return target(str(name)) if name is not None else None
    except KeyError:
        return None
