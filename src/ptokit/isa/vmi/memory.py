"""Memory and logical vectors."""

from __future__ import annotations

from .words import GROUP, GROUPS, PMODE, text, vmi

_DIST = text("dist_mode", "continuous", "unpack", "dintlv", "brc")

vmi("load", "Load consecutive elements.", "source:p offset:o", "result:v")
vmi("deinterleave_load", "Load even and odd elements.", "source:p offset:o", "low:v high:v")
vmi("group_load", "Load groups that lie apart.", "source:p offset:o row_stride:x", "result:v", GROUPS)
vmi("group_slot_load", "Load an element for each group.", "source:p offset:o group_stride:x", "result:v", GROUPS)
vmi(
    "group_broadcast_load",
    "Load an element for each group, into all its lanes.",
    "source:p offset:o group_stride:x",
    "result:v",
    GROUPS,
)
vmi(
    "stride_load",
    "Load blocks of 32 bytes that lie apart.",
    "source:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
    "result:v",
)
vmi("masked_load", "Load the active lanes; passthru elsewhere.", "source:p offset:o mask:m passthru:v", "result:v")
vmi("expand_load", "Load elements into the active lanes.", "source:p offset:o mask:m passthru:v", "result:v")
vmi("store", "Store consecutive elements.", "value:v destination:p offset:o")
vmi("interleave_store", "Store the lanes of two vectors by turns.", "low:v high:v destination:p offset:o")
vmi("group_store", "Store groups that lie apart.", "value:v destination:p offset:o row_stride:x", "", GROUPS)
vmi("masked_store", "Store the active lanes.", "value:v destination:p offset:o mask:m")
vmi("compress_store", "Store the active lanes one behind the other.", "value:v destination:p offset:o mask:m")
vmi(
    "stride_store",
    "Store blocks of 32 bytes that lie apart.",
    "value:v destination:p offset:o block_stride:i16 repeat_stride:i16 mask:m",
)
vmi(
    "vload",
    "Load one or two vectors: elements, groups or blocks.",
    "source:p offset:o stride:x? block_stride:y? repeat_stride:y?",
    "result:v second:v?",
    _DIST,
    GROUP,
    PMODE,
)
vmi(
    "vstore",
    "Store one or two vectors: elements, groups or blocks.",
    "value:v second:v? destination:p offset:o stride:x? block_stride:y? repeat_stride:y? mask:m?",
    "",
    _DIST,
    GROUP,
    PMODE,
)
vmi("vsstb", "Store blocks that lie apart.", "value:v destination:p offset:o block_stride:y mask:m", "", PMODE)
vmi("vgather", "Load elements at offsets.", "source:p offsets:v mask:m", "result:v", PMODE)
vmi("vgatherb", "Load blocks of 32 bytes at offsets.", "source:p offsets:v mask:m", "result:v", PMODE)
vmi("vscatter", "Store elements at offsets.", "value:v destination:p offsets:v mask:m", "", PMODE)
