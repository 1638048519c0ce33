"""Making vectors and predicates, reductions, rearrangement, and the seam to registers."""

from __future__ import annotations

from .words import GROUP, GROUPS, PMODE, number, text, token, vmi

_ORDER = text("order")

# Making ------------------------------------------------------------------------------------------------------------

vmi("constant", "Known numbers.", "", "result:v", syntax="generic")
vmi("constant_mask", "A known predicate.", "", "result:m", syntax="generic")
vmi("broadcast", "A number, or the one lane of a vector, in all lanes.", "value:s", "result:v")
vmi("vbrc", "A number, or a lane for each group, in all lanes.", "value:s", "result:v", GROUP)
vmi("iota", "Numbers that count from a base.", "base:s", "result:v", _ORDER)
vmi("group_iota", "Numbers that count from a base in each group.", "base:s", "result:v", _ORDER, GROUP)
vmi("vci", "Numbers that count from a base, in each group.", "base:s", "result:v", _ORDER, GROUP)
vmi("create_mask", "The first lanes are active, as many as the number says.", "active_lanes:index", "result:m")
vmi(
    "create_group_mask",
    "The first lanes of each group are active.",
    "active_elems_per_group:index",
    "result:m",
    GROUPS,
    number("group_size"),
)
for _name in ("pset", "pge"):
    vmi(_name, "A predicate after a pattern.", "", "result:m", token("pattern"), GROUP)
vmi("plt", "The first lanes are active, as many as the count says, and what is left.", "scalar:i32", "mask:m rest:i32")
for _name in ("mask_and", "mask_or", "mask_xor"):
    vmi(_name, f"Where {_name[5:]} of both holds.", "lhs:m rhs:m", "result:m")
vmi("mask_not", "Where it does not hold.", "source:m", "result:m")

# Reductions --------------------------------------------------------------------------------------------------------

for _name in ("reduce_addi", "reduce_maxf", "reduce_minf", "reduce_maxi", "reduce_mini"):
    vmi(_name, f"The {_name[7:-1]} of the active lanes.", "source:v mask:m", "result:v")
    vmi(f"group_{_name}", f"The {_name[7:-1]} of each group.", "source:v mask:m", "result:v", GROUPS)
vmi("reduce_addf", "The sum of the active lanes.", "source:v mask:m", "result:v")
vmi("group_reduce_addf", "The sum of each group.", "source:v mask:m", "result:v", GROUPS)
for _name in ("vcadd", "vcmax", "vcmin"):
    _what = f"The {_name[2:]} of the active lanes, or of each group."
    vmi(_name, _what, "source:v mask:m", "result:v", GROUP, PMODE)
for _name in ("vdhist", "vchist"):
    vmi(_name, "A histogram, added to one.", "acc:v source:v mask:m", "result:v")

# Rearrangement -----------------------------------------------------------------------------------------------------

vmi("group_broadcast", "A lane for each group, in all its lanes.", "source:v", "result:v", GROUPS)
vmi("active_prefix_index", "How many lanes before each are active.", "mask:m", "result:v")
vmi("compress", "The active lanes one behind the other.", "source:v mask:m", "result:v")
vmi("vselr", "Lanes of source by number.", "source:v index:v", "result:v")
for _name in ("vintlv", "vdintlv"):
    vmi(_name, f"{_name[1:]} of two vectors.", "lhs:v rhs:v mask:m", "low:v high:v", PMODE)
vmi("shuffle", "Lanes of source by known numbers.", "source:v", "result:v", syntax="generic")
vmi("gather", "Load elements at indices.", "source:p indices:v mask:m passthru:v", "result:v", syntax="generic")
vmi("scatter", "Store elements at indices.", "value:v destination:p indices:v mask:m", "", syntax="generic")
vmi("channel_split", "Every n-th lane from each of the first n.", "source:v", "", syntax="generic", several=True)
vmi("channel_merge", "The lanes of several vectors by turns.", "inputs:v*", "result:v", syntax="generic")

# The seam to registers ---------------------------------------------------------------------------------------------

vmi("ensure_layout", "The same lanes in another layout.", "source:v", "result:v")
vmi("ensure_mask_layout", "The same predicate in another layout.", "source:m", "result:m")
vmi("ensure_mask_granularity", "The same predicate with another granularity.", "source:m", "result:m")
vmi("unpack", "The registers of a vector.", "source:b", "", syntax="generic", several=True)
vmi("pack", "A vector of registers.", "parts:b*", "result:b", syntax="generic")
