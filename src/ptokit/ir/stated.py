"""What a module says about its target (assembly 2.1)."""

from __future__ import annotations

from ptokit.targets import A2A3, Target, target

from .core import Module

ARCH = "pto.target_arch"


def target_named(arch: object) -> Target:
    """The target whose rules a text with this ``pto.target_arch`` has: a2a3 for no target's name, and for none."""
    try:
        return target(str(arch))
    except KeyError:
        return A2A3


def stated_target(module: Module) -> Target | None:
    """`target_named` of what the module states; None if it states nothing."""
    parts = (f.part.attrs.get(ARCH) for f in module.functions if f.part is not None)
    arch = module.attrs.get(ARCH) or next(filter(None, parts), None)
    return None if arch is None else target_named(arch)
