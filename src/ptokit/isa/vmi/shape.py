"""Making vectors and predicates, reductions, rearrangement, and the seam to registers."""

from __future__ import annotations

from typing import Any

from ptokit.types.dtypes import f32, i64, u8

from ..meaning.expressions import (
    Before,
    Bit,
    Convert,
    Counted,
    Element,
    Expr,
    Folded,
    Listed,
    Place,
    Scalar,
    Taken,
    apply,
    equal,
    fmod,
    less,
    maximum,
)
from ..meaning.footprint import FOLDED
from ..meaning.moves import interleaved, split
from ..meaning.words import Lane, Write
from ..site import LanesInfo, Site
from ..table import BySite
from . import words
from .shape_rules import SHAPE
from .words import (
    GROUP,
    GROUPS,
    IN_GENERIC_FORM,
    OPEN_RESULTS,
    PMODE,
    groups_of,
    number,
    number_in,
    operations,
    over,
    predicate,
    text,
    token,
    unsigned,
)

_J = Place(i64)


def _constant(o: Site) -> Lane | None:
    """Known numbers; one holds for all lanes. Not every site has them: they belong to the generic form."""
    if "value" not in o.attrs:
        return None
    to, value = o.operands["result"], o.attrs["value"]
    if isinstance(to, LanesInfo):
        return predicate(Listed(tuple(words.numbers(value)), "bool"), lanes=to.lanes)
    of = o.result.dtype
    return over(Listed(tuple(words.numbers(value, of)), of), lanes=o.result.lanes)


def _repeated(o: Site) -> Lane:
    """A number in all lanes, or each lane of a vector in those of its group."""
    name = o.instr.operands[0].name
    return over(number_in(o, name, "result"), lanes=o.result.lanes)


def _ramp(o: Site) -> Lane:
    """base, base + 1, … in each group, or downwards."""
    to, lanes = o.result.dtype, o.result.lanes
    base, by = number_in(o, "base", "result"), to
    if to.is_float and to is not f32:
        base, by = Convert(base, f32), f32  # rounded once
    step = Listed(tuple(j % (lanes // groups_of(o)) for j in range(lanes)), by)
    value = base - step if o.order == "DESC" else base + step
    return over(value if by is to else Convert(value, to), lanes=lanes)


def _first(count: str) -> Any:
    """The first lanes of each group."""

    def meaning(o: Site) -> Lane:
        each = o.result.lanes // groups_of(o)
        return predicate(less(fmod(_J, each), Scalar(count, i64)), lanes=o.result.lanes)

    return meaning


def _pattern(o: Site) -> Lane:
    lanes = o.result.lanes
    each = lanes // groups_of(o)
    word, place = o.pattern.removeprefix("PAT_"), fmod(_J, each)
    if word in ("M3", "M4"):
        return predicate(equal(fmod(place, int(word[1:])), 0), lanes=lanes)
    count = {"ALL": each, "ALLF": 0, "H": each // 2, "Q": each // 4}.get(word)
    return predicate(less(place, int(word[2:]) if count is None else count), lanes=lanes)


def _tail(o: Site) -> Lane:
    lanes, count = o.mask.lanes, Scalar("scalar", i64)
    writes = Write("mask", less(_J, count), packed=True), Write("rest", maximum(count - lanes, 0))
    return Lane(writes, lanes=lanes)


def _reduction(op: str) -> Any:
    """Of the active lanes of each group; sums in the type of the result."""

    def meaning(o: Site) -> Lane:
        source: Expr = Element("source")
        if o.result.dtype is not o.source.dtype:
            source = Convert(source, o.result.dtype)
        return over(Folded(op, source, Bit("mask"), groups_of(o)))

    return meaning


def _pair(made: Any) -> Any:
    """Two vectors of the lanes of two."""

    def meaning(o: Site) -> Lane:
        lanes = o.lhs.lanes
        low, high = made(lanes, lambda name, at: Element(name, at), "lhs", "rhs")
        return Lane((Write("low", low), Write("high", high)), lanes=lanes)

    return meaning


def _shuffled(o: Site) -> Lane | None:
    if "indices" not in o.attrs:
        return None
    places = tuple(int(n) for n in words.numbers(o.attrs["indices"]))
    return over(Taken(Element("source"), Listed(places, i64)))


def _histogram(name: str) -> Any:
    """Samples that occur, or are at most as large, added to those before."""

    def meaning(o: Site) -> Lane:
        samples = Element("source", dtype=u8)
        count = Counted(samples, _J, Bit("mask"), o.acc.dtype, o.source.lanes, name == "vchist")
        return over(Element("acc") + count, lanes=o.acc.lanes)

    return meaning


_SOURCE = over(Element("source"))
_SAME = predicate(Bit("source"))


_ORDER = text("order")

# Making ------------------------------------------------------------------------------------------------------------

vmi = operations(SHAPE)

vmi("constant", "Known numbers.", "", "result:v", form=IN_GENERIC_FORM, meaning=_constant)
vmi("constant_mask", "A known predicate.", "", "result:m", form=IN_GENERIC_FORM, meaning=_constant)
vmi("broadcast", "A number, or the one lane of a vector, in all lanes.", "value:s", "result:v", meaning=_repeated)
vmi("vbrc", "A number, or a lane for each group, in all lanes.", "value:s", "result:v", GROUP, meaning=_repeated)
vmi("iota", "Numbers that count from a base.", "base:s", "result:v", _ORDER, meaning=_ramp)
vmi("group_iota", "Numbers that count from a base in each group.", "base:s", "result:v", _ORDER, GROUP, meaning=_ramp)
vmi("vci", "Numbers that count from a base, in each group.", "base:s", "result:v", _ORDER, GROUP, meaning=_ramp)
vmi(
    "create_mask",
    "The first lanes are active, as many as the number says.",
    "active_lanes:index",
    "result:m",
    meaning=_first("active_lanes"),
)
vmi(
    "create_group_mask",
    "The first lanes of each group are active.",
    "active_elems_per_group:index",
    "result:m",
    GROUPS,
    number("group_size", required=True),
    meaning=_first("active_elems_per_group"),
)
for _name in ("pset", "pge"):
    vmi(_name, "A predicate after a pattern.", "", "result:m", token("pattern"), GROUP, meaning=_pattern)
vmi(
    "plt",
    "The first lanes are active, as many as the count says, and what is left.",
    "scalar:i32",
    "mask:m rest:i32",
    meaning=_tail,
)
for _name in ("mask_and", "mask_or", "mask_xor"):
    vmi(
        _name,
        f"Where {_name[5:]} of both holds.",
        "lhs:m rhs:m",
        "result:m",
        meaning=predicate(apply(_name[5:], Bit("lhs"), Bit("rhs"))),
    )
vmi("mask_not", "Where it does not hold.", "source:m", "result:m", meaning=predicate(~Bit("source")))

# Reductions --------------------------------------------------------------------------------------------------------

_SUMS = (
    "Floats: neighbours are added, then neighbours of the sums, each rounded to the type; an inactive lane is +0. The "
    "assembler's order depends on the registers it chooses, which `reassoc` allows."
)
for _name in ("reduce_addi", "reduce_maxf", "reduce_minf", "reduce_maxi", "reduce_mini", "reduce_addf"):
    _meaning, _what = _reduction(_name[7:10]), FOLDED[_name[7:10]]
    _more = {"meaning": _meaning, "decision": _SUMS * (_name == "reduce_addf")}
    vmi(_name, f"The {_what} of the active lanes.", "source:v mask:m", "result:v", **_more)
    vmi(f"group_{_name}", f"The {_what} of each group.", "source:v mask:m", "result:v", GROUPS, **_more)
for _name in ("vcadd", "vcmax", "vcmin"):
    _what = f"The {FOLDED[_name[2:]]} of the active lanes, or of each group."
    _more = {"meaning": _reduction(_name[2:]), "decision": _SUMS * (_name == "vcadd")}
    vmi(_name, _what, "source:v mask:m", "result:v", GROUP, PMODE, **_more)
for _name in ("vdhist", "vchist"):
    vmi(_name, "A histogram, added to one.", "acc:v source:v mask:m", "result:v", meaning=_histogram(_name))

# Rearrangement -----------------------------------------------------------------------------------------------------

vmi("group_broadcast", "A lane for each group, in all its lanes.", "source:v", "result:v", GROUPS, meaning=_repeated)
vmi(
    "active_prefix_index",
    "How many lanes before each are active.",
    "mask:m",
    "result:v",
    meaning=lambda o: over(Before(Bit("mask"), o.result.dtype)),
)
vmi(
    "compress",
    "The active lanes one after the other.",
    "source:v mask:m",
    "result:v",
    meaning=Lane((Write("result", Element("source"), place=Before(Bit("mask"), i64), where=Bit("mask")),)),
)
vmi(
    "vselr",
    "Lanes of source by number.",
    "source:v index:v",
    "result:v",
    meaning=lambda o: over(Taken(Element("source"), unsigned(o, "index"))),
)
for _name, _meaning in (("vintlv", _pair(interleaved)), ("vdintlv", _pair(split))):
    vmi(_name, f"{_name[1:]} of two vectors.", "lhs:v rhs:v mask:m", "low:v high:v", PMODE, meaning=_meaning)
vmi("shuffle", "Lanes of source by known numbers.", "source:v", "result:v", form=IN_GENERIC_FORM, meaning=_shuffled)
vmi(
    "channel_split",
    "Every n-th lane from each of the first n.",
    "source:v",
    "",
    form=OPEN_RESULTS,
    run=BySite(words.channel_split),
)
vmi(
    "channel_merge",
    "The lanes of several vectors, interleaved.",
    "inputs:v*",
    "result:v",
    form=IN_GENERIC_FORM,
    run=BySite(words.channel_merge),
)

# The seam to registers ---------------------------------------------------------------------------------------------

vmi("ensure_layout", "The same lanes in another layout.", "source:v", "result:v", meaning=_SOURCE)
vmi("ensure_mask_layout", "The same predicate in another layout.", "source:m", "result:m", meaning=_SAME)
vmi(
    "ensure_mask_granularity",
    "The same predicate with another granularity.",
    "source:m",
    "result:m",
    meaning=_SAME,
)
vmi("unpack", "The registers of a vector.", "source:b", "", form=OPEN_RESULTS, run=BySite(words.unpack))
vmi("pack", "A vector of registers.", "parts:r*", "result:b", form=IN_GENERIC_FORM, run=BySite(words.pack))
