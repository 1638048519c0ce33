"""The check of attributes that an instruction cannot be without."""

from __future__ import annotations

from ptokit.diagnostics import rule

from ..site import Site


@rule(
    "ATTR-1",
    'pto.pset_b32 "PAT_ALL" : !pto.mask<b32>',
    "pto.pset_b32 : !pto.mask<b32>",
    source="the attributes that VPTOOps.td and VMIOps.td declare",
)
def REQUIRED(o: Site) -> str | None:
    """Attributes that say what is computed, and have no default, are given: patterns, comparisons, counts of groups."""
    missing = [attr.name for attr in o.instr.attrs if attr.required and o.attrs.get(attr.name) is None]
    return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing" if missing else None
