"""The cyclic garbage collector while the command starts."""

from __future__ import annotations

import gc
from typing import Any

_OBJECTS = 150_000
"""More containers than the modules of a command have (about 95 000), all of them there to stay."""


def spare_start() -> None:
    """Put the first collection off until there are more objects than modules have; from then on all is as usual.

    Going through the modules again and again while they are loaded would take a fifth of a small run.
    """
    usual = gc.get_threshold()

    def collecting(phase: str, info: dict[str, Any]) -> None:
        gc.callbacks.remove(collecting)
        gc.set_threshold(*usual)

    gc.callbacks.append(collecting)
    gc.set_threshold(_OBJECTS, *usual[1:])
