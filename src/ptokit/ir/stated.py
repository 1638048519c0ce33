"""What a module says about its target (assembly 2.1)."""

from __future__ import annotations

from ptokit.targets import A2A3, Target, target

from .core import Module

ARCH = "pto.target_arch"


def stated_target(module: Module) -> Target | None:
    """The target of the module's ``pto.target_arch``, a2a3 if that is no target's name; None if it states none."""
    name = module.attrs.get(ARCH)
    try:
        return target(str(name)) if name is not None else None
    except KeyError:
        return A2A3
