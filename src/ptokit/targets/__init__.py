"""Target profiles. There is no default target: the user names one (design principle 6)."""

from .base import A2A3, A5, A5_TEMPLATES, CPU, Target
from .like_a5 import A6, KIRIN9030

TARGETS: dict[str, Target] = {t.name: t for t in (CPU, A2A3, A5, A6, KIRIN9030)}
_ALIASES = {"a2": "a2a3", "a3": "a2a3"}


TARGET_NAMES = (*TARGETS, *_ALIASES)
"""What `target` takes, in lower case."""


def target(name: str | Target) -> Target:
    """The target with this name (one of `TARGETS`; ``a2`` and ``a3`` mean ``a2a3``). Raises `KeyError`."""
    if isinstance(name, Target):
        return name
    key = name.lower()
    return TARGETS[_ALIASES.get(key, key)]


__all__ = ["A2A3", "A5", "A5_TEMPLATES", "A6", "CPU", "KIRIN9030", "TARGETS", "TARGET_NAMES", "Target", "target"]
