"""What a module says about its target (assembly 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptokit.targets import A2A3, A5, A5_TEMPLATES, Target, target

from .core import Module

ARCH = "pto.target_arch"
DEVICE = "pto.device-spec"
KIND = "pto.kernel_kind"
A5_DEVICES = ("Ascend950", "Ascend910_95")
"""What the names of devices with target a5 begin with."""


def target_named(arch: object) -> Target:
    """The target whose rules a text with this ``pto.target_arch`` has: a2a3 for no target's name, and for none."""
    try:
        return target(str(arch))
    except KeyError:
        return A2A3


def stated_target(module: Module) -> Target | None:
    """`target_named` of what the module states; None if it states nothing."""
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    found = filter(None, map(stated_arch, (module.attrs, *parts)))
    arch = next(found, None)
    return None if arch is None else target_named(arch)


def stated_arch(attrs: Mapping[str, Any]) -> str | None:
    """The target that a module's attributes name, or the device that they name is one of."""
    arch = attrs.get(ARCH)
    if arch is None and str(attrs.get(DEVICE, "")).startswith(A5_DEVICES):
        return "a5"
    return None if arch is None else str(arch)


def as_compiled(module: Module, target: Target) -> Target:
    """The target as the assembler compiles a text for it.

    A module of one kind of core, which has `pto.kernel_kind`, is what its backend for a5 takes that has templates in
    the place of the library. In other modules tile operations are calls of the library.
    """
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    of_one_kind = module.text and any(KIND in attrs for attrs in (module.attrs, *parts))
    return A5_TEMPLATES if of_one_kind and target == A5 else target
