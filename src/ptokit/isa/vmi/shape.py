"""Making vectors and predicates, reductions, rearrangement, and the seam to registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics import arith
from ..table import BySite
from . import sites, values
from .shape_rules import SHAPE
from .values import Array
from .words import GROUP, GROUPS, PMODE, number, operations, text, token


def _repeated(m: Any, value: Any, *, types: Any, **_: Any) -> Array:
    to = types["result"]
    return values.repeated(value, to.lanes, to.dtype)


def _ramp(m: Any, base: Any, *, order: str | None, types: Any, group: int | None = None) -> Array:
    to = types["result"]
    return values.ramp(base, to.lanes, to.dtype, order, group or 1)


def _first(m: Any, active_lanes: Any, *, types: Any) -> Array:
    return values.first(active_lanes, types["result"].lanes)


def _first_of_groups(m: Any, count: Any, *, num_groups: int, group_size: int | None, types: Any) -> Array:
    return values.first(count, types["result"].lanes, num_groups)


def _pattern(m: Any, *, pattern: str, group: int | None, types: Any) -> Array:
    lanes = types["result"].lanes
    each = lanes // (group or 1)
    word = pattern.removeprefix("PAT_")
    number = np.arange(lanes)[None] % each
    if word.startswith("VL"):
        return np.asarray(number < int(word[2:]))
    if word in ("M3", "M4"):
        return np.asarray(number % int(word[1:]) == 0)
    return np.asarray(number < {"ALL": each, "ALLF": 0, "H": each // 2, "Q": each // 4}[word])


def _both(fn: Any) -> Any:
    return lambda m, a, b, **_: fn(a, b)


def _sum(
    m: Any, x: Array, on: Array, *, types: Any, group: int | None = None, num_groups: int | None = None, **_: Any
) -> Array:
    to = types["result"]
    return values.total(x, on, group or num_groups or 1, to.dtype)


def _extreme(fold: Any) -> Any:
    def run(m: Any, x: Array, on: Array, *, group: int | None = None, num_groups: int | None = None, **_: Any) -> Array:
        return values.extreme(x, on, group or num_groups or 1, fold)

    return run


def _reduction(name: str) -> Any:
    return _sum if "add" in name else _extreme(arith.maximum if "max" in name else arith.minimum)


def _histogram(name: str) -> Any:
    return lambda m, acc, x, on, **_: values.histogram(acc, x, on, name == "vchist")


def _interleaved(m: Any, a: Array, b: Array, on: Array, **_: Any) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(a, b)
    both = np.stack((a, b), axis=2).reshape(len(a), -1)
    return both[:, : a.shape[1]], both[:, a.shape[1] :]


def _deinterleaved(m: Any, a: Array, b: Array, on: Array, **_: Any) -> tuple[Array, Array]:
    a, b = np.broadcast_arrays(a, b)
    both = np.concatenate((a, b), axis=1)
    return np.ascontiguousarray(both[:, ::2]), np.ascontiguousarray(both[:, 1::2])


def _same(m: Any, source: Array, **_: Any) -> Array:
    return source


def _tail(m: Any, scalar: Any, *, types: Any) -> tuple[Array, Any]:
    lanes = types["mask"].lanes
    rest = np.maximum(scalar - lanes, 0) if isinstance(scalar, np.ndarray) else max(scalar - lanes, 0)
    return values.first(scalar, lanes), rest


def _before(m: Any, on: Array, *, types: Any) -> Array:
    to = types["result"].dtype
    counts = np.cumsum(on, axis=1) - on
    return counts.astype(to.storage).view(to.value or to.storage)


def _compressed(m: Any, source: Array, on: Array, *, types: Any) -> Array:
    """What lies behind the active lanes is 0."""
    source, on = np.broadcast_arrays(source, on)
    order = np.argsort(~on, axis=1, kind="stable")
    moved = np.take_along_axis(source, order, axis=1)
    return np.where(np.take_along_axis(on, order, axis=1), moved, np.zeros((), source.dtype))


def _chosen(m: Any, source: Array, index: Array, *, types: Any) -> Array:
    places = index.view(f"u{index.dtype.itemsize}").astype(np.int64) % source.shape[1]
    source, places = np.broadcast_arrays(source, places) if len(source) != len(places) else (source, places)
    return np.take_along_axis(source, places, axis=1)


_ORDER = text("order")

# Making ------------------------------------------------------------------------------------------------------------

vmi = operations(SHAPE)

vmi("constant", "Known numbers.", "", "result:v", syntax="generic", run=BySite(sites.constant))
vmi("constant_mask", "A known predicate.", "", "result:m", syntax="generic", run=BySite(sites.constant))
vmi("broadcast", "A number, or the one lane of a vector, in all lanes.", "value:s", "result:v", run=_repeated)
vmi("vbrc", "A number, or a lane for each group, in all lanes.", "value:s", "result:v", GROUP, run=_repeated)
vmi("iota", "Numbers that count from a base.", "base:s", "result:v", _ORDER, run=_ramp)
vmi("group_iota", "Numbers that count from a base in each group.", "base:s", "result:v", _ORDER, GROUP, run=_ramp)
vmi("vci", "Numbers that count from a base, in each group.", "base:s", "result:v", _ORDER, GROUP, run=_ramp)
vmi(
    "create_mask",
    "The first lanes are active, as many as the number says.",
    "active_lanes:index",
    "result:m",
    run=_first,
)
vmi(
    "create_group_mask",
    "The first lanes of each group are active.",
    "active_elems_per_group:index",
    "result:m",
    GROUPS,
    number("group_size"),
    run=_first_of_groups,
)
for _name in ("pset", "pge"):
    vmi(_name, "A predicate after a pattern.", "", "result:m", token("pattern"), GROUP, run=_pattern)
vmi(
    "plt",
    "The first lanes are active, as many as the count says, and what is left.",
    "scalar:i32",
    "mask:m rest:i32",
    run=_tail,
)
for _name in ("mask_and", "mask_or", "mask_xor"):
    vmi(_name, f"Where {_name[5:]} of both holds.", "lhs:m rhs:m", "result:m", run=_both(values.BINARY[_name[5:]]))
vmi("mask_not", "Where it does not hold.", "source:m", "result:m", run=lambda m, x, **_: ~x)

# Reductions --------------------------------------------------------------------------------------------------------

for _name in ("reduce_addi", "reduce_maxf", "reduce_minf", "reduce_maxi", "reduce_mini"):
    vmi(_name, f"The {_name[7:-1]} of the active lanes.", "source:v mask:m", "result:v", run=_reduction(_name))
    vmi(
        f"group_{_name}",
        f"The {_name[7:-1]} of each group.",
        "source:v mask:m",
        "result:v",
        GROUPS,
        run=_reduction(_name),
    )
vmi("reduce_addf", "The sum of the active lanes.", "source:v mask:m", "result:v", run=_sum)
vmi("group_reduce_addf", "The sum of each group.", "source:v mask:m", "result:v", GROUPS, run=_sum)
for _name in ("vcadd", "vcmax", "vcmin"):
    _what = f"The {_name[2:]} of the active lanes, or of each group."
    vmi(_name, _what, "source:v mask:m", "result:v", GROUP, PMODE, run=_reduction(_name))
for _name in ("vdhist", "vchist"):
    vmi(_name, "A histogram, added to one.", "acc:v source:v mask:m", "result:v", run=_histogram(_name))

# Rearrangement -----------------------------------------------------------------------------------------------------

vmi("group_broadcast", "A lane for each group, in all its lanes.", "source:v", "result:v", GROUPS, run=_repeated)
vmi("active_prefix_index", "How many lanes before each are active.", "mask:m", "result:v", run=_before)
vmi("compress", "The active lanes one behind the other.", "source:v mask:m", "result:v", run=_compressed)
vmi("vselr", "Lanes of source by number.", "source:v index:v", "result:v", run=_chosen)
for _name, _run in (("vintlv", _interleaved), ("vdintlv", _deinterleaved)):
    vmi(_name, f"{_name[1:]} of two vectors.", "lhs:v rhs:v mask:m", "low:v high:v", PMODE, run=_run)
vmi("shuffle", "Lanes of source by known numbers.", "source:v", "result:v", syntax="generic", run=BySite(sites.shuffle))
vmi(
    "channel_split",
    "Every n-th lane from each of the first n.",
    "source:v",
    "",
    syntax="generic",
    several=True,
    run=BySite(sites.channel_split),
)
vmi(
    "channel_merge",
    "The lanes of several vectors by turns.",
    "inputs:v*",
    "result:v",
    syntax="generic",
    run=BySite(sites.channel_merge),
)

# The seam to registers ---------------------------------------------------------------------------------------------

vmi("ensure_layout", "The same lanes in another layout.", "source:v", "result:v", run=_same)
vmi("ensure_mask_layout", "The same predicate in another layout.", "source:m", "result:m", run=_same)
vmi(
    "ensure_mask_granularity",
    "The same predicate with another granularity.",
    "source:m",
    "result:m",
    run=_same,
)
vmi("unpack", "The registers of a vector.", "source:b", "", syntax="generic", several=True, run=BySite(sites.unpack))
vmi("pack", "A vector of registers.", "parts:b*", "result:b", syntax="generic", run=BySite(sites.pack))
